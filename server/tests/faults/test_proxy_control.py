"""How a test controls the proxy and what it can read from it: from any thread, for clients in any process."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, put, put_all, streams, writes
from faults.proxy import (
    Chance,
    DynamoProxy,
    Every,
    InternalError,
    Match,
    Throttle,
    Times,
)
from faults.raw_client import RawClient, ask, request
from faults.scripted_engine import OK, ScriptedEngine

TESTS = Path(__file__).parents[1]
SENDER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from faults.raw_client import ask

port, table, process = int(sys.argv[1]), sys.argv[2], sys.argv[3]

def send(name):
    status, _, raw = ask(port, "PutItem", {"TableName": table, "Item": {"pk": {"S": name}}})
    assert status == 200, raw

with ThreadPoolExecutor(8) as pool:
    list(pool.map(send, [f"{process}-{number}" for number in range(40)]))
"""


def test_calls_are_recorded_with_their_tables_faults_and_outcome(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    other = Table(f"{table.name}-other", table.engine)
    other.create()
    put(client, table, "a")
    with proxy.fault(InternalError()), pytest.raises(client.exceptions.InternalServerError):
        put(client, table, "b")
    client.batch_write_item(RequestItems={table.name: writes("c"), other.name: writes("c")})
    put_all(client, other, "d", "e")
    assert [(call.operation, call.tables, call.applied, call.status) for call in proxy.calls] == [
        ("PutItem", (table.name,), True, 200),
        ("PutItem", (table.name,), False, None),
        ("BatchWriteItem", (table.name, other.name), True, 200),
        ("TransactWriteItems", (other.name,), True, 200),
    ]
    assert [call.faults for call in proxy.calls] == [(), (InternalError(),), (), ()]
    assert all(call.is_done for call in proxy.calls)
    assert proxy.counts == {"PutItem": 2, "BatchWriteItem": 1, "TransactWriteItems": 1}
    proxy.forget()
    assert proxy.calls == ()
    assert proxy.counts == {}


def test_calls_to_streams_are_matched_by_the_table_they_read(proxy: DynamoProxy, table: Table) -> None:
    put(table.engine, table, "a")
    reader = streams(proxy.url)
    with proxy.fault(Throttle(), on=Match(operations={"GetRecords"}, tables={table.name}), dose=Times(1)):
        arn = reader.list_streams(TableName=table.name)["Streams"][0]["StreamArn"]
        shard = reader.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        iterator = reader.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        with pytest.raises(reader.exceptions.ClientError, match="ProvisionedThroughputExceeded"):
            reader.get_records(ShardIterator=iterator)
        page = reader.get_records(ShardIterator=iterator)
        reader.get_records(ShardIterator=page["NextShardIterator"])
    assert len(page["Records"]) == 1
    assert {call.tables for call in proxy.calls} == {(table.name,)}


def test_a_fault_is_active_from_its_installation_to_its_removal(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        assert ask(proxy.port, "PutItem", {})[0] == 200
        fault = proxy.fault(Throttle())
        assert ask(proxy.port, "PutItem", {})[0] == 400
        fault.remove()
        fault.remove()
        assert ask(proxy.port, "PutItem", {})[0] == 200
    assert (fault.seen, fault.hits) == (1, 1)


def test_a_frequency_counts_only_matching_requests(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        fault = proxy.fault(Throttle(), on=Match(operations={"PutItem"}), dose=Every(2))
        asked = ["PutItem", "GetItem", "PutItem", "GetItem", "PutItem", "PutItem"]
        statuses = [ask(proxy.port, operation, {})[0] for operation in asked]
    assert statuses == [200, 200, 400, 200, 200, 400]
    assert (fault.seen, fault.hits) == (4, 2)


def test_a_seeded_chance_hits_the_same_requests_again(scripted: ScriptedEngine) -> None:
    def statuses() -> list[int]:
        with DynamoProxy(scripted.url) as proxy, proxy.fault(Throttle(), dose=Chance(0.5, seed=4)):
            return [ask(proxy.port, "PutItem", {})[0] for _ in range(20)]

    first = statuses()
    assert set(first) == {200, 400}
    assert statuses() == first


def test_the_later_of_two_faults_gets_requests_that_the_earlier_one_passes(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        outer = proxy.fault(Throttle(), dose=Times(1))
        inner = proxy.fault(InternalError(), dose=Times(1))
        assert [ask(proxy.port, "PutItem", {})[0] for _ in range(3)] == [400, 500, 200]
    assert (outer.seen, inner.seen) == (3, 2)


def test_a_predicate_that_raises_fails_the_test_and_not_only_the_call(scripted: ScriptedEngine) -> None:
    proxy = DynamoProxy(scripted.url)
    proxy.fault(Throttle(), on=Match(where=lambda body: body["no such key"]))
    with RawClient(proxy.port) as client:
        assert client.ask()[0] == b""
    with pytest.raises(ExceptionGroup) as caught:
        proxy.stop()
    assert caught.group_contains(KeyError, match="no such key")


def test_a_control_call_from_the_proxys_own_thread_is_refused(scripted: ScriptedEngine) -> None:
    proxy = DynamoProxy(scripted.url)
    proxy.fault(Throttle(), on=Match(where=lambda _: bool(proxy.close_idle())))
    with RawClient(proxy.port) as client:
        client.ask()
    with pytest.raises(ExceptionGroup) as caught:
        proxy.stop()
    assert caught.group_contains(RuntimeError, match="own thread")


def test_without_recording_there_are_counts_and_no_calls(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url, record=False) as proxy:
        ask(proxy.port, "PutItem", {})
        assert proxy.counts == {"PutItem": 1}
        with pytest.raises(RuntimeError, match="record=False"):
            assert proxy.calls


def test_a_wait_that_times_out_reports_the_recorded_calls(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        ask(proxy.port, "PutItem", {})
        with pytest.raises(TimeoutError, match="PutItem"):
            proxy.wait_until(lambda: proxy.counts["PutItem"] == 2, timeout_s=0.05)


def test_waiting_threads_do_not_wake_each_other(scripted: ScriptedEngine) -> None:
    looks: list[int] = []

    def never(proxy: DynamoProxy) -> bool:
        looks.append(len(proxy.calls))
        return False

    with DynamoProxy(scripted.url) as proxy, ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(proxy.wait_until, lambda: never(proxy), timeout_s=0.2) for _ in range(2)]
        assert all(isinstance(each.exception(), TimeoutError) for each in waiting)
    assert len(looks) == 4, "each waiter checks at the start and at the end"


def test_faults_come_and_go_from_many_threads_while_requests_pass(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy, ThreadPoolExecutor() as pool:
        over = threading.Event()

        def install() -> int:
            hits = 0
            while not over.is_set():
                with proxy.fault(Throttle(), on=Match(operations={"GetItem"}), dose=Times(1)) as fault:
                    ask(proxy.port, "GetItem", {})
                hits += fault.hits
            return hits

        installing = [pool.submit(install) for _ in range(3)]
        with RawClient(proxy.port) as client:
            for _ in range(300):
                client.send(request())
                assert client.read(len(OK)) == OK
        over.set()
        hits = sum(each.result(timeout=10) for each in installing)
        assert hits == sum(len(call.faults) for call in proxy.calls)
        assert proxy.counts["PutItem"] == 300


def test_32_senders_in_four_processes_all_get_through(proxy: DynamoProxy, table: Table) -> None:
    command = [sys.executable, "-c", SENDER, str(proxy.port), table.name]
    senders = [
        subprocess.Popen([*command, str(number)], cwd=TESTS, env={"PYTHONPATH": str(TESTS)})
        for number in range(4)
    ]
    assert [sender.wait(60) for sender in senders] == [0, 0, 0, 0]
    assert proxy.counts == {"PutItem": 160}
    assert len(table.keys()) == 160


def test_only_this_machine_can_connect(scripted: ScriptedEngine) -> None:
    with DynamoProxy(scripted.url) as proxy:
        assert proxy._server.sockets[0].getsockname()[0] == "127.0.0.1"


def test_an_upstream_that_is_not_plain_http_is_refused() -> None:
    with pytest.raises(ValueError, match="http://host:port"):
        DynamoProxy("https://dynamodb.us-east-1.amazonaws.com")
