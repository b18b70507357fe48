"""Calls that only AWS supports, checked against botocore's model of them. tests/contract has the others."""

from collections.abc import Iterator

import pytest
from botocore.stub import Stubber
from unit.schema.tables.observed_tables import as_declared, described

from tidings.kernel.errors import Code, TidingsError
from tidings.schema.tables.control_plane import TableControlPlane, connect_control_plane, is_aws
from tidings.schema.tables.declaration import MESSAGES
from tidings.schema.tables.diff import TableAspect, TableChange

NAME = "tidings-messages"
PITR_ON = TableChange(TableAspect.PITR, "off", "35 days")


@pytest.fixture
def plane() -> TableControlPlane:
    return TableControlPlane(connect_control_plane("http://127.0.0.1:1", "us-east-1"), "tidings-")


@pytest.fixture
def aws(plane: TableControlPlane) -> Iterator[Stubber]:
    with Stubber(plane.client) as stub:
        yield stub
        stub.assert_no_pending_responses()


def test_recovery_is_turned_on_for_35_days(plane: TableControlPlane, aws: Stubber) -> None:
    asked = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 35}
    aws.add_response(
        "update_continuous_backups", {}, {"TableName": NAME, "PointInTimeRecoverySpecification": asked}
    )
    assert plane.change(MESSAGES, as_declared(MESSAGES), PITR_ON)


@pytest.mark.parametrize(
    "code", ["ContinuousBackupsUnavailableException", "ResourceInUseException", "LimitExceededException"]
)
def test_a_change_that_is_not_possible_yet_can_be_retried(
    plane: TableControlPlane, aws: Stubber, code: str
) -> None:
    aws.add_client_error("update_continuous_backups", code)
    assert not plane.change(MESSAGES, as_declared(MESSAGES), PITR_ON)


@pytest.mark.parametrize(
    ("answer", "days"),
    [
        ({"PointInTimeRecoveryStatus": "ENABLED"}, 35),
        ({"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 7}, 7),
        ({"PointInTimeRecoveryStatus": "DISABLED"}, 0),
    ],
)
def test_recovery_and_tags_are_read(
    plane: TableControlPlane, aws: Stubber, answer: dict[str, object], days: int
) -> None:
    aws.add_response("describe_table", {"Table": described(MESSAGES)})
    aws.add_response("describe_time_to_live", {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})
    backups = {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": answer,
    }
    aws.add_response("describe_continuous_backups", {"ContinuousBackupsDescription": backups})
    aws.add_response("list_tags_of_resource", {"Tags": [{"Key": "a", "Value": "b"}]})
    seen = plane.describe(NAME)
    assert seen is not None
    assert (seen.pitr_days, seen.tags, seen.ttl) == (days, {"a": "b"}, None)


def test_a_table_that_is_being_created_is_not_queried_further(plane: TableControlPlane, aws: Stubber) -> None:
    aws.add_response("describe_table", {"Table": described(MESSAGES, TableStatus="CREATING")})
    seen = plane.describe(NAME)
    assert seen is not None
    assert not seen.is_stable


def test_a_ttl_that_cannot_change_yet_is_reported_with_the_retry_time(
    plane: TableControlPlane, aws: Stubber
) -> None:
    aws.add_client_error("update_time_to_live", "ValidationException", "modified multiple times")
    with pytest.raises(TidingsError, match="modified multiple times") as caught:
        plane.change(MESSAGES, as_declared(MESSAGES), TableChange(TableAspect.TTL, "off", "expires_at"))
    assert caught.value.code is Code.TABLES_FAILED
    assert "per hour" in caught.value.hint


def test_an_error_contains_the_message_of_aws(plane: TableControlPlane, aws: Stubber) -> None:
    aws.add_client_error("describe_table", "AccessDeniedException", "no rights to dynamodb:DescribeTable")
    with pytest.raises(TidingsError, match=f"describe {NAME}: AccessDeniedException: no rights") as caught:
        plane.describe(NAME)
    assert caught.value.details == {"aws_code": "AccessDeniedException"}


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("aws", True),
        ("https://dynamodb.eu-west-1.amazonaws.com", True),
        ("https://vpce-1.dynamodb.us-east-1.vpce.amazonaws.com", True),
        ("https://dynamodb.cn-north-1.amazonaws.com.cn", True),
        ("http://127.0.0.1:8000", False),
        ("https://amazonaws.com.example.org", False),
    ],
)
def test_only_aws_gets_aws_credentials(endpoint: str, expected: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_aws(endpoint) is expected
