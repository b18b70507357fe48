"""Delayed, held and repeated requests: the test controls the order of events."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, dynamodb, put
from faults.proxy import Between, Delay, DropAnswer, DynamoProxy, Hold, Match, Point, Repeat, Times
from faults.raw_client import RawClient, request
from faults.scripted_engine import OK, ScriptedEngine

PUTS = Match(operations={"PutItem"})


def test_a_held_request_is_applied_when_it_is_released_and_not_before(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with ThreadPoolExecutor() as pool, proxy.fault(Hold(Point.REQUEST), on=PUTS) as fault:
        sending = pool.submit(put, client, table, "a")
        (held,) = fault.wait_held()
        assert table.keys() == set()
        assert (held.call.applied, held.body["Item"]["pk"]) == (False, {"S": "a"})
        held.release()
        sending.result(timeout=10)
        assert table.keys() == {"a"}
        assert fault.held == ()


def test_a_held_answer_belongs_to_an_applied_request(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with ThreadPoolExecutor() as pool, proxy.fault(Hold(Point.ANSWER), on=PUTS) as fault:
        sending = pool.submit(put, client, table, "a")
        (held,) = fault.wait_held()
        assert table.keys() == {"a"}
        assert held.call.applied is True
        assert not sending.done()
        held.release()
        sending.result(timeout=10)


def test_an_abandoned_put_is_applied_when_it_is_released(proxy: DynamoProxy, table: Table) -> None:
    hasty = dynamodb(proxy.url, read_timeout=0.2)
    with proxy.fault(Hold(), on=PUTS, dose=Times(1)) as fault:
        with pytest.raises(ReadTimeoutError):
            put(hasty, table, "a", "late")
        put(hasty, table, "a", "soon")
        assert table.value("a") == "soon"
        (held,) = fault.held
        held.settle()
        assert held.call.applied is True
        assert table.value("a") == "late"


def test_held_requests_are_released_one_by_one_in_any_order(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with ThreadPoolExecutor() as pool, proxy.fault(Hold(), on=PUTS) as fault:
        for value in ("first", "second", "third"):
            pool.submit(put, client, table, "a", value)
        by_value = {held.body["Item"]["value"]["S"]: held for held in fault.wait_held(3)}
        for value in ("third", "first", "second"):
            by_value[value].settle()
            assert table.value("a") == value


def test_a_dropped_request_is_never_applied_and_its_client_is_reset(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with ThreadPoolExecutor() as pool, proxy.fault(Hold(), on=PUTS) as fault:
        sending = pool.submit(put, client, table, "a")
        fault.wait_held()[0].drop()
        with pytest.raises(ConnectionClosedError):
            sending.result(timeout=10)
    assert table.keys() == set()
    assert proxy.calls[0].applied is False


def test_removing_a_hold_releases_everything(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with ThreadPoolExecutor() as pool:
        fault = proxy.fault(Hold(), on=PUTS)
        sending = [pool.submit(put, client, table, pk) for pk in "abc"]
        fault.wait_held(3)
        fault.remove()
        for each in sending:
            each.result(timeout=10)
    assert table.keys() == {"a", "b", "c"}


def test_a_copy_is_applied_on_release_although_its_client_disconnected(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Repeat(), on=PUTS, dose=Times(1)) as fault:
        put(client, table, "a", "first")
        (copy,) = fault.held
        client.close()
        put(table.engine, table, "a", "second")
        copy.settle()
        assert table.value("a") == "first"
    assert [(call.is_copy, call.applied) for call in proxy.calls] == [(False, True), (True, True)]


def test_a_copy_of_a_conditional_put_is_refused_by_the_engine(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    with proxy.fault(Repeat(), on=PUTS, dose=Times(1)) as fault:
        item = {"pk": {"S": "a"}}
        client.put_item(TableName=table.name, Item=item, ConditionExpression="attribute_not_exists(pk)")
        fault.held[0].settle()
    assert [(call.applied, call.status) for call in proxy.calls] == [(True, 200), (False, 400)]


def test_a_copy_is_the_same_bytes(scripted: ScriptedEngine) -> None:
    raw = request(body={"TableName": "some", "Item": {"pk": {"S": "ä"}}})
    with DynamoProxy(scripted.url) as proxy:
        with RawClient(proxy.port) as client, proxy.fault(Repeat()) as fault:
            client.send(raw)
            assert client.read(len(OK)) == OK
            assert scripted.received == [raw]
            client.close()
            fault.held[0].settle()
        assert scripted.received == [raw, raw]


def test_the_answer_of_the_first_try_is_lost_and_its_copy_comes_late(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    """Two faults on one request: the one that was installed first is closer to the client."""
    with (
        proxy.fault(DropAnswer(), on=PUTS, dose=Times(1)),
        proxy.fault(Repeat(), on=PUTS, dose=Times(1)) as repeat,
    ):
        with pytest.raises(ConnectionClosedError):
            put(client, table, "a", "one")
        put(client, table, "a", "two")
        repeat.held[0].settle()
    assert table.value("a") == "one"


@pytest.mark.parametrize(
    "fault", [Delay(before_s=0.3), Delay(after_s=0.3), Delay(before_s=Between(0.3, 0.4, seed=1))]
)
def test_a_delayed_call_takes_at_least_its_delay(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table, fault: Delay
) -> None:
    put(client, table, "warm")
    with proxy.fault(fault, on=PUTS, dose=Times(1)):
        started = time.monotonic()
        put(client, table, "a")
        assert time.monotonic() - started >= 0.3
    assert table.keys() == {"a", "warm"}


@pytest.mark.parametrize(("fault", "applied"), [(Delay(before_s=3600), False), (Delay(after_s=3600), True)])
def test_a_delay_applies_before_or_after_the_engine(
    scripted: ScriptedEngine, fault: Delay, *, applied: bool
) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        installed = proxy.fault(fault)
        client.send(request())
        proxy.wait_until(lambda: installed.hits == 1 and proxy.calls[0].applied is applied)
        assert client.is_silent()
        assert (len(scripted.received) == 1) is applied


def test_an_async_test_can_wait_for_requests_of_its_own_loop(scripted: ScriptedEngine) -> None:
    async def scenario(proxy: DynamoProxy) -> bytes:
        with proxy.fault(Hold()) as fault:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            sending = asyncio.create_task(reader.readexactly(len(OK)))
            asyncio.get_running_loop().call_later(0.05, writer.write, request())
            (held,) = await fault.until_held()
            held.release()
            answer = await sending
            await proxy.until(lambda: held.call.is_done)
        writer.close()
        await writer.wait_closed()
        return answer

    with DynamoProxy(scripted.url) as proxy:
        assert asyncio.run(scenario(proxy)) == OK


def test_stopping_the_proxy_ends_what_is_held(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy, RawClient(proxy.port) as client:
        fault = proxy.fault(Hold())
        client.send(request())
        fault.wait_held()
        stopping = threading.Thread(target=proxy.stop)
        stopping.start()
        stopping.join(timeout=10)
        assert not stopping.is_alive()
        assert client.read_to_end()[0] == b""
    assert scripted.received == []
