"""Capacity of tables and partitions: the proxy limits it as AWS does, and the API answers with a retry hint."""

import json
from pathlib import Path

import pytest
from fixtures.engines import Namespace
from fixtures.rest_app import RestApp
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, UseCaseEnv, by
from types_boto3_dynamodb import DynamoDBClient

from faults.clients import Table, put, put_all
from faults.proxy import CapacityLimit, DynamoProxy, Match, TableCapacity, Throttle
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, TenantId
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.items.chats import chat_key

KB = 1024


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_table_serves_300_seconds_of_unused_units_and_then_its_rate(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    clock = Clock()
    limit = CapacityLimit({table.name: TableCapacity("pk", read=1, write=1)}, clock)
    proxy.fault(limit)
    for number in range(3):
        put(client, table, f"p{number}", "x" * (100 * KB - 100))
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        put(client, table, "refused")
    with pytest.raises(client.exceptions.TransactionCanceledException):
        put_all(client, table, "also refused")
    assert sum(limit.refused.values()) == 2
    clock.now_s += 2
    put(client, table, "later")
    put(client, table, "last")
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        put(client, table, "refused")
    assert table.keys() == {"p0", "p1", "p2", "later", "last"}
    client.get_item(TableName=table.name, Key={"pk": {"S": "p0"}})


def test_a_partition_serves_1000_write_units_a_second_whatever_the_table_may(
    proxy: DynamoProxy, client: DynamoDBClient, table: Table
) -> None:
    clock = Clock()
    limit = CapacityLimit({table.name: TableCapacity("pk")}, clock)
    proxy.fault(limit)
    for _ in range(4):
        put(client, table, "hot", "x" * (300 * KB))
    with pytest.raises(client.exceptions.ProvisionedThroughputExceededException):
        put(client, table, "hot")
    put(client, table, "cold")
    clock.now_s += 1
    put(client, table, "hot")
    assert [target.partition for target in limit.refused] == ["{'S': 'hot'}"]
    assert limit.used[table.name, "write", "{'S': 'hot'}"] == 5 * 301, "the last write replaces a large item"
    assert limit.used[table.name, "write", "{'S': 'cold'}"] == 1


async def test_a_throttled_partition_gives_a_retry_hint_and_spares_other_chats_and_tenants(
    tables: Tables, space: Namespace, tmp_path: Path
) -> None:
    with DynamoProxy(tables.url) as proxy:
        async with open_client(proxy.url, REGION, tables.prefix) as client:
            use_cases = UseCaseEnv(client, space.tenant, tmp_path / "tidings.key")
            api, stranger = RestApp(use_cases), TenantId(f"{space.tenant}-2")
            hot = await use_cases.manage.direct(use_cases.tenant, ANNA, BEN)
            group = await use_cases.manage.group(use_cases.tenant, by(ANNA), "cold", [BEN])
            other = await use_cases.manage.direct(stranger, ANNA, BEN)
            with proxy.fault(Throttle(), on=_writes_of(hot)):
                refused = await api.user(ANNA)("POST", f"/v1/chats/{hot.chat}/messages", _message("a"))
                await api.user(ANNA).ok("POST", f"/v1/chats/{group.chat}/messages", _message("b"))
                await api.user(ANNA, stranger).ok("POST", f"/v1/chats/{other.chat}/messages", _message("c"))
                await api.user(ANNA).ok("GET", f"/v1/chats/{hot.chat}/messages")
            assert (refused.status_code, refused.json()["code"]) == (503, Code.OVERLOADED)
            assert refused.json()["retryable"]
            assert 1 <= int(refused.headers["retry-after"]) <= 2
            await api.user(ANNA).ok("POST", f"/v1/chats/{hot.chat}/messages", _message("a"))


def _message(key: str) -> dict[str, str]:
    return {"text": "hi", "client_message_id": key}


def _writes_of(chat: ChatKey) -> Match:
    partition = json.dumps(chat_key(chat))
    operations = {"PutItem", "TransactWriteItems"}
    return Match(operations=operations, where=lambda body: partition in json.dumps(body))
