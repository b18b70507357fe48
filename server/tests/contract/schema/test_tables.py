"""`tidings tables` on real engines: apply creates the tables, and finds and repairs manual changes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import Result
from contract.schema.conftest import Installation

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.plan import ChangeKind
from tidings.schema.tables.declaration import TABLES, USERS
from tidings.schema.tables.diff import TAG_PREFIX, TAG_TABLE, TableAspect
from tidings.schema.tables.model import CapacityUnits


def failure(result: Result) -> TidingsError:
    assert isinstance(result.exception, TidingsError), result.output
    return result.exception


def test_applied_tables_are_as_declared(applied: Installation) -> None:
    assert applied.plan().drift == ()
    assert {entry.verdict for entry in applied.plan().entries} == {ChangeKind.UNCHANGED}
    result = applied.run("check")
    assert result.exception is None
    assert "ok: 20 tables as declared" in result.output


def test_apply_can_be_repeated(applied: Installation) -> None:
    result = applied.run("apply")
    assert result.exception is None
    assert "ok: 0 of 20" in result.output


def test_plan_changes_nothing(installation: Installation) -> None:
    result = installation.run("plan")
    assert result.exception is None
    assert "20 create" in result.output
    assert installation.plane.observe(TABLES) == {}


def test_check_of_an_empty_engine_lists_every_table(installation: Installation) -> None:
    error = failure(installation.run("check"))
    assert error.code is Code.TABLES_DRIFT
    assert [f"{installation.name(table.name)}: missing" for table in TABLES] == error.details["drift"]


def test_concurrent_applies_both_succeed(installation: Installation) -> None:
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: installation.apply(), range(2)))
    assert installation.plan().drift == ()


def _turn_ttl_off(installation: Installation) -> None:
    installation.client.update_time_to_live(
        TableName=installation.name("sessions"),
        TimeToLiveSpecification={"Enabled": False, "AttributeName": "ttl"},
    )


def _set_another_ttl(installation: Installation) -> None:
    _turn_ttl_off(installation)
    installation.client.update_time_to_live(
        TableName=installation.name("sessions"),
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"},
    )


def _set_ttl_where_none_is_declared(installation: Installation) -> None:
    installation.client.update_time_to_live(
        TableName=installation.name("users"),
        TimeToLiveSpecification={"Enabled": True, "AttributeName": "ttl"},
    )


def _turn_stream_off(installation: Installation) -> None:
    installation.client.update_table(
        TableName=installation.name("messages"), StreamSpecification={"StreamEnabled": False}
    )


def _set_another_view(installation: Installation) -> None:
    _turn_stream_off(installation)
    installation.client.update_table(
        TableName=installation.name("messages"),
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )


def _unprotect(installation: Installation) -> None:
    installation.client.update_table(TableName=installation.name("tenants"), DeletionProtectionEnabled=False)


def _lower_capacity(installation: Installation) -> None:
    installation.client.update_table(
        TableName=installation.name("chats"),
        ProvisionedThroughput={"ReadCapacityUnits": 1, "WriteCapacityUnits": 7},
    )


def _set_on_demand(installation: Installation) -> None:
    installation.client.update_table(TableName=installation.name("sessions"), BillingMode="PAY_PER_REQUEST")


BENT = {
    "TTL off": (_turn_ttl_off, "sessions", TableAspect.TTL),
    "another TTL": (_set_another_ttl, "sessions", TableAspect.TTL),
    "TTL where none is declared": (_set_ttl_where_none_is_declared, "users", TableAspect.TTL),
    "stream off": (_turn_stream_off, "messages", TableAspect.STREAM),
    "another view": (_set_another_view, "messages", TableAspect.STREAM),
    "unprotected": (_unprotect, "tenants", TableAspect.DELETION_PROTECTION),
    "less capacity": (_lower_capacity, "chats", TableAspect.CAPACITY),
    "on demand": (_set_on_demand, "sessions", TableAspect.CAPACITY),
}


@pytest.mark.parametrize(("bend", "table", "aspect"), BENT.values(), ids=BENT)
def test_drift_is_found_and_repaired(
    applied: Installation, bend: Callable[[Installation], None], table: str, aspect: TableAspect
) -> None:
    bend(applied)
    error = failure(applied.run("check"))
    assert error.code is Code.TABLES_DRIFT
    assert f"{applied.name(table)}: {aspect}: " in error.message
    assert applied.run("apply").exception is None
    assert applied.plan().drift == ()


def test_a_missing_index_is_created_and_contains_existing_items(fresh_installation: Installation) -> None:
    installation = fresh_installation
    installation.make(
        "users",
        GlobalSecondaryIndexes=None,
        AttributeDefinitions=[{"AttributeName": "user_id", "AttributeType": "S"}],
    )
    name = installation.name("users")
    installation.client.put_item(
        TableName=name, Item={"user_id": {"S": "acme#u"}, "phone_number": {"S": "acme#+49"}}
    )
    installation.apply((USERS,))
    assert installation.plan((USERS,)).drift == ()
    found = installation.client.query(
        TableName=name,
        IndexName="phone_number-index",
        KeyConditionExpression="phone_number = :p",
        ExpressionAttributeValues={":p": {"S": "acme#+49"}},
    )
    assert found["Items"] == [{"user_id": {"S": "acme#u"}, "phone_number": {"S": "acme#+49"}}]


def test_manually_raised_capacity_is_kept(applied: Installation) -> None:
    applied.client.update_table(
        TableName=applied.name("chats"),
        ProvisionedThroughput={"ReadCapacityUnits": 900, "WriteCapacityUnits": 90},
    )
    assert applied.run("check").exception is None
    assert applied.run("apply").exception is None
    seen = applied.plane.describe(applied.name("chats"))
    assert seen is not None
    assert seen.units == CapacityUnits(900, 90)


def test_a_small_installation_has_everything_on_demand_and_can_go_back(installation: Installation) -> None:
    assert installation.run("apply", capacity="on_demand").exception is None
    assert all(seen.units is None for seen in installation.plane.observe(TABLES).values())
    assert installation.run("check", capacity="on_demand").exception is None
    assert failure(installation.run("check")).code is Code.TABLES_DRIFT
    assert installation.run("apply").exception is None
    assert installation.run("check").exception is None


def test_other_keys_are_refused_and_nothing_is_touched(installation: Installation) -> None:
    other = [{"AttributeName": "id", "KeyType": "HASH"}]
    installation.make(
        "chats", KeySchema=other, AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}]
    )
    before = installation.plane.observe(TABLES)
    error = failure(installation.run("apply"))
    assert error.code is Code.TABLES_DESTRUCTIVE
    assert f"{installation.name('chats')}: its 0 items. The keys of a table cannot change" in error.message
    assert installation.plane.observe(TABLES) == before
    assert "REFUSED" in installation.run("plan").output


def test_an_index_that_is_not_declared_is_refused(installation: Installation) -> None:
    installation.make(
        "chats",
        AttributeDefinitions=[
            {"AttributeName": "chat_id", "AttributeType": "S"},
            {"AttributeName": "created_by", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "created_by-index",
                "KeySchema": [{"AttributeName": "created_by", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
            }
        ],
    )
    error = failure(installation.run("apply"))
    assert error.code is Code.TABLES_DESTRUCTIVE
    assert "created_by-index" in error.message


def test_a_foreign_table_with_the_prefix_is_reported_and_not_changed(applied: Installation) -> None:
    applied.client.create_table(
        TableName=applied.name("statistics"),
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    assert "unknown extra" in applied.run("plan").output
    assert applied.run("check").exception is None
    assert applied.run("apply").exception is None
    assert applied.plane.describe(applied.name("statistics")) is not None


def test_a_table_that_was_ours_is_not_deleted(applied: Installation) -> None:
    """Needs an engine with tags: they show which installation created a table."""
    if TableAspect.TAGS in applied.plane.not_known:
        pytest.skip("this engine has no tags")
    applied.client.create_table(
        TableName=applied.name("rooms"),
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        Tags=[{"Key": TAG_TABLE, "Value": "rooms"}, {"Key": TAG_PREFIX, "Value": applied.prefix}],
    )
    assert failure(applied.run("apply")).code is Code.TABLES_DESTRUCTIVE
    assert failure(applied.run("check")).code is Code.TABLES_DRIFT
    assert applied.plane.describe(applied.name("rooms")) is not None


def test_lost_tags_are_put_back(applied: Installation) -> None:
    if TableAspect.TAGS in applied.plane.not_known:
        pytest.skip("this engine has no tags")
    seen = applied.plane.describe(applied.name("leases"))
    assert seen is not None
    assert seen.tags == {TAG_TABLE: "leases", TAG_PREFIX: applied.prefix}
    applied.client.untag_resource(ResourceArn=seen.arn, TagKeys=[TAG_TABLE])
    assert failure(applied.run("check")).code is Code.TABLES_DRIFT
    assert applied.run("apply").exception is None
    assert applied.plan().drift == ()


GAPS = {
    "local": {TableAspect.PITR, TableAspect.TAGS, TableAspect.TABLE_CLASS},
    "dynoxide": {TableAspect.PITR, TableAspect.INDEX_CAPACITY},
}


@pytest.mark.parametrize("command", ["plan", "apply", "check"])
def test_unsupported_aspects_of_the_engine_are_reported_by_every_command(
    applied: Installation, command: str
) -> None:
    assert applied.plane.not_known == GAPS[applied.kind]
    output = applied.run(command).output
    assert "Not supported by this engine and not compared: " in output
    assert all(str(aspect) in output for aspect in GAPS[applied.kind])


def test_tables_with_a_shared_prefix_do_not_see_each_other(applied: Installation) -> None:
    longer = Installation(
        applied.kind, applied.url, f"{applied.prefix}staging-", applied.plane, applied.client
    )
    assert longer.run("apply").exception is None
    assert longer.run("check").exception is None
    assert applied.run("check").exception is None


def test_an_engine_that_does_not_answer_is_reported_as_unreachable(installation: Installation) -> None:
    error = failure(installation.run("check", endpoint="http://127.0.0.1:9"))
    assert error.code is Code.ENGINE_UNREACHABLE
    assert error.retryable
