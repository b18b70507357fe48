"""Requests on the wire: consistency of the pattern, the existing item on a failed condition, the token."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import override

import pytest

from faults.dynamo_calls import (
    ABSENT,
    BATCH_GET,
    BATCH_GET_EVENTUAL,
    DELETE,
    GET,
    GET_EVENTUAL,
    ITEM,
    KEY,
    PUT,
    QUERY,
    QUERY_EVENTUAL,
    QUICK,
    REGION,
    TABLE,
    TRANSACT_WRITE,
    UPDATE,
    quick_client,
    run,
)
from faults.hostile_server import HostileServer, hostile_server, refuse, say_and_close
from tidings.kernel.security import Secret
from tidings.platform.dynamo import credentials, errors
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.credentials import AwsKeys
from tidings.platform.dynamo.requests import Check, Delete, Put, Query, Update
from tidings.platform.dynamo.transport import Transport

QUERY_A = Query(condition="pk = :p", values={":p": "a"})

type Use = Callable[[DynamoClient], Awaitable[object]]


async def asked(use: Use) -> HostileServer:
    async with hostile_server() as server, quick_client(server.url) as client:
        await use(client)
        return server


def wire(use: Use) -> dict[str, object]:
    """Return the body of the only request."""
    sent: list[HostileServer] = []

    async def check() -> None:
        sent.append(await asked(use))

    run("asyncio", check())
    (request,) = sent[0].requests
    body: dict[str, object] = request.json
    return body


READS: dict[str, tuple[Use, Use]] = {
    "GetItem": (lambda c: c.get(GET, KEY), lambda c: c.get(GET_EVENTUAL, KEY)),
    "Query": (lambda c: c.query(QUERY, QUERY_A), lambda c: c.query(QUERY_EVENTUAL, QUERY_A)),
}


@pytest.mark.parametrize("operation", READS)
def test_a_strong_pattern_reads_strongly_and_an_eventual_one_does_not(operation: str) -> None:
    strong, eventual = READS[operation]
    assert wire(strong)["ConsistentRead"] is True
    assert "ConsistentRead" not in wire(eventual)


def test_a_batch_reads_as_its_pattern_says() -> None:
    strong = wire(lambda c: c.batch_get(BATCH_GET, [KEY]))
    eventual = wire(lambda c: c.batch_get(BATCH_GET_EVENTUAL, [KEY]))
    key = {"pk": {"S": "a"}, "sk": {"N": "1"}}
    assert strong["RequestItems"] == {f"test-{TABLE}": {"Keys": [key], "ConsistentRead": True}}
    assert eventual["RequestItems"] == {f"test-{TABLE}": {"Keys": [key]}}


CONDITIONAL: dict[str, Use] = {
    "put": lambda c: c.put(PUT, ITEM, condition=ABSENT),
    "update": lambda c: c.update(UPDATE, KEY, "SET a = :a", condition=ABSENT, values={":a": 1}),
    "delete": lambda c: c.delete(DELETE, KEY, condition=ABSENT),
}


@pytest.mark.parametrize("write", CONDITIONAL)
def test_a_condition_always_requests_the_existing_item(write: str) -> None:
    assert wire(CONDITIONAL[write])["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_every_action_of_a_transaction_requests_the_existing_item() -> None:
    actions = [
        Put(table=TABLE, item=ITEM, condition=ABSENT),
        Update(table=TABLE, key=KEY, update="SET a = b", condition=ABSENT),
        Delete(table=TABLE, key=KEY, condition=ABSENT),
        Check(table=TABLE, key=KEY, condition=ABSENT),
        Put(table=TABLE, item=ITEM),
    ]
    body = wire(lambda c: c.transact_write(TRANSACT_WRITE, actions))
    sent = body["TransactItems"]
    assert isinstance(sent, list)
    asked_for = [next(iter(part.values())).get("ReturnValuesOnConditionCheckFailure") for part in sent]
    assert asked_for == ["ALL_OLD"] * 4 + [None]
    assert "ClientRequestToken" not in body


def test_a_write_without_a_condition_requests_no_item() -> None:
    assert wire(lambda c: c.put(PUT, KEY)) == {
        "TableName": f"test-{TABLE}",
        "Item": {"pk": {"S": "a"}, "sk": {"N": "1"}},
    }


@dataclass
class Renewable:
    """Keys that are expired until they are renewed."""

    keys: AwsKeys = field(default_factory=lambda: AwsKeys("old", Secret("s"), Secret("old-token")))
    ask_at: float = float("inf")
    renewals: int = 0

    async def ask(self, now: float) -> None:
        """Never refresh."""

    async def renew(self) -> None:
        self.renewals += 1
        self.keys = AwsKeys("new", Secret("s"), Secret("new-token"))


def test_expired_credentials_are_renewed_and_the_call_is_signed_again() -> None:
    async def check() -> None:
        async with hostile_server(refuse("ExpiredTokenException")) as server:
            source = Renewable()
            channel = Transport(credentials.parse_endpoint(server.url), REGION, source, QUICK)
            client = DynamoClient(channel, "test-")
            written = await client.update(UPDATE, KEY, "ADD n :one", values={":one": 1})
            assert not written.maybe_repeated, "a refusal is an answer"
            first, second = (request.head for request in server.requests)
            assert b"x-amz-security-token: old-token" in first
            assert b"x-amz-security-token: new-token" in second
            assert b"Credential=new/" in second
            assert source.renewals == 1
            client.close()

    run("asyncio", check())


@dataclass
class Stuck(Renewable):
    """A provider that does not answer."""

    ask_at: float = 0.0

    @override
    async def ask(self, now: float) -> None:
        await asyncio.Event().wait()


@dataclass
class Hanging(Renewable):
    """A provider that does not answer when other keys are requested."""

    @override
    async def renew(self) -> None:
        await asyncio.Event().wait()


def test_a_failed_renewal_leaves_the_error_and_its_doubt_unchanged() -> None:
    async def check() -> None:
        async with hostile_server(say_and_close(b""), refuse("ExpiredTokenException")) as server:
            client = DynamoClient(
                Transport(credentials.parse_endpoint(server.url), REGION, Hanging(), QUICK), "test-"
            )
            with pytest.raises(errors.CredentialsExpiredError) as caught:
                await client.put(PUT, ITEM, repeatable=True, timeout_s=0.3)
            assert caught.value.maybe_applied
            client.close()

    run("asyncio", check())


def test_missing_credentials_delay_a_call_no_longer_than_its_deadline() -> None:
    async def check() -> None:
        async with hostile_server() as server:
            client = DynamoClient(
                Transport(credentials.parse_endpoint(server.url), REGION, Stuck(), QUICK), "test-"
            )
            with pytest.raises(errors.NotSentError, match="no credentials in time") as caught:
                await client.put(PUT, ITEM, timeout_s=0.05)
            assert caught.value.transient
            assert not server.requests
            client.close()

    run("asyncio", check())


@pytest.mark.parametrize("timeout_s", [0, -1])
def test_a_call_without_remaining_time_is_not_sent(timeout_s: float) -> None:
    async def check() -> None:
        async with hostile_server() as server, quick_client(server.url) as client:
            await client.put(PUT, ITEM)
            with pytest.raises(errors.NotSentError, match="deadline exceeded before it was sent") as caught:
                await client.put(PUT, ITEM, timeout_s=timeout_s)
            assert caught.value.transient, "the same call may succeed later"
            assert len(server.requests) == 1

    run("asyncio", check())


def test_wrong_credentials_are_not_retried() -> None:
    async def check() -> None:
        async with hostile_server(refuse("UnrecognizedClientException")) as server:
            async with quick_client(server.url) as client:
                with pytest.raises(errors.AccessDeniedError):
                    await client.put(PUT, ITEM)
            assert len(server.requests) == 1

    run("asyncio", check())


def test_the_time_of_a_call_bounds_its_tries_and_no_wait_goes_past_it() -> None:
    patient = replace(
        QUICK, retries=replace(QUICK.retries, max_tries=1000, first_wait_s=30.0, max_wait_s=30.0)
    )
    waits: list[float] = []

    async def no_sleep(wait_s: float) -> None:
        waits.append(wait_s)

    async def check() -> None:
        async with hostile_server() as server:
            server.otherwise = refuse("ThrottlingException")
            channel = Transport(
                credentials.parse_endpoint(server.url), REGION, Renewable(), patient, sleep=no_sleep
            )
            client = DynamoClient(channel, "test-")
            with pytest.raises(errors.ThrottledError):
                await client.put(PUT, ITEM, timeout_s=5.0)
            assert all(wait_s < 5.0 for wait_s in waits)
            client.close()

    run("asyncio", check())


def test_a_client_whose_calls_all_fail_stops_adding_tries() -> None:
    async def check() -> None:
        async with hostile_server() as server:
            server.otherwise = refuse("ThrottlingException")
            async with quick_client(server.url) as client:
                for _ in range(100):
                    with pytest.raises(errors.ThrottledError):
                        await client.put(PUT, ITEM)
            extra = len(server.requests) - 100
            assert extra == QUICK.retries.budget // QUICK.retries.cost

    run("asyncio", check())
