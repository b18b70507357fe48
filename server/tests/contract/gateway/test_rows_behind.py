"""Rows that were restored to an earlier time than their log and the head of their group."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from contract.gateway.test_order import small
from contract.gateway.test_restored import at_post, believed, restored
from fixtures.chat_list_env import ChatListEnv
from fixtures.engines import Namespace
from fixtures.gateway_env import WITHIN_S
from fixtures.loops import until
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, CLEO, by

from tidings.app.wiring.chats import build_chat_row_reader, build_chat_row_writer, build_watermark_store
from tidings.delivery.model import LogPosition
from tidings.delivery.rules import is_member, row_update_for
from tidings.delivery.store.items import row_key
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.operations import AccessPattern
from tidings.schema.tables.control_plane import connect_control_plane
from tidings.schema.tables.declaration import DELIVERY_STATE
from tidings.schema.tables.items.chats import chat_key, user_key
from tidings.schema.tables.patterns.delivery import SETTLE_ROW


def lose_row(tables: Tables, chat: ChatKey, user: UserId) -> None:
    """Delete a row, as if the rows were restored to an earlier time than the log."""
    key = {"user_id": {"S": user_key(chat.tenant, user)}, "chat_id": {"S": chat_key(chat)}}
    connect_control_plane(tables.url, REGION).delete_item(
        TableName=tables.prefix + DELIVERY_STATE.name, Key=key
    )


def stored_row(tables: Tables, chat: ChatKey, user: UserId) -> dict[str, Any] | None:
    """Return the item of a row; None if the user has none."""
    key = {"user_id": {"S": user_key(chat.tenant, user)}, "chat_id": {"S": chat_key(chat)}}
    name = tables.prefix + DELIVERY_STATE.name
    engine = connect_control_plane(tables.url, REGION)
    return engine.get_item(TableName=name, Key=key, ConsistentRead=True).get("Item")


def put_row_back(tables: Tables, chat: ChatKey, user: UserId, row: dict[str, Any] | None) -> None:
    """Restore a row to an earlier time than the log and the head."""
    lose_row(tables, chat, user)
    if row is not None:
        name = tables.prefix + DELIVERY_STATE.name
        connect_control_plane(tables.url, REGION).put_item(TableName=name, Item=row)


async def test_a_row_behind_its_log_is_completed_with_the_next_message(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat = await small(gateways)
        sent = [await gateways.say(chat, ANNA, f"before {n}") for n in range(3)]
        lose_row(tables_local, chat, BEN)
        await restored(gateways, chat)
        new = await gateways.say(chat, ANNA, "after")
        ben = await (await gateways.gateway()).live(BEN)
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)
        assert ben.sequences(chat)[-4:] == [*sent, new]


@pytest.mark.parametrize("was", ["a former member", "unknown"])
async def test_a_member_whose_row_lacks_the_last_join_receives_the_group_again(
    was: str, tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """The head has the join already, so no worker processes it again."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        manage = gateways.use_cases.manage
        chat = await gateways.use_cases.group(CLEO, *([BEN] if was == "a former member" else []))
        await gateways.say(chat, ANNA, "early")
        if was == "a former member":
            await manage.remove(chat, by(ANNA), BEN)
            await gateways.deliver()
        before = stored_row(tables_local, chat, BEN)
        await manage.add(chat, by(ANNA), [BEN])
        seen = await gateways.say(chat, ANNA, "seen")
        put_row_back(tables_local, chat, BEN, before)
        await restored(gateways, chat)
        if was == "unknown":
            await (await gateways.gateway()).live(ANNA)  # reads the head
        ben = await (await gateways.gateway()).live(BEN, epoch=0, positions={})
        row = await believed(gateways, chat, BEN)
        assert (row.known.joined and row.known.joined.sequence, is_member(row.known)) == (seen - 1, True)
        new = await gateways.say(chat, ANNA, "after")
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)
        assert await ChatListEnv(gateways.use_cases).unread(chat, BEN) == 2


async def test_a_row_without_the_users_last_message_or_leave_is_completed(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat = await gateways.use_cases.group(BEN, CLEO)
        await gateways.say(chat, ANNA, "one")
        rows = {user: stored_row(tables_local, chat, user) for user in (BEN, CLEO)}
        said = await gateways.say(chat, BEN, "two")
        await gateways.use_cases.manage.remove(chat, by(ANNA), CLEO)
        await gateways.say(chat, ANNA, "three")
        for user, row in rows.items():
            put_row_back(tables_local, chat, user, row)
        await restored(gateways, chat)
        lists = ChatListEnv(gateways.use_cases)
        ben, cleo = await lists.row(chat, BEN), await lists.row(chat, CLEO)
        assert (ben.known.own, cleo.known.removed) == (LogPosition(said, 2), said + 1)
        assert cleo.known.head == LogPosition(said + 1, 2), "the leave is the last entry of a former member"
        stored = await believed(gateways, chat, BEN)
        assert (stored.known.own, stored.known.epoch) == (ben.known.own, gateways.use_cases.epoch)


async def test_the_head_of_a_direct_row_waits_for_the_next_message(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """The head includes the entries of both users, and the row shows the message at it."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat, lists = await small(gateways), ChatListEnv(gateways.use_cases)
        first = await gateways.say(chat, ANNA, "one")
        before = stored_row(tables_local, chat, BEN)
        await gateways.say(chat, ANNA, "two")
        last = await gateways.say(chat, BEN, "three")
        put_row_back(tables_local, chat, BEN, before)
        await restored(gateways, chat)
        row = await lists.row(chat, BEN)
        assert (row.known.head, row.known.own) == (LogPosition(first, 1), LogPosition(last, 3))
        await gateways.say(chat, ANNA, "four")
        assert (await lists.text(chat, BEN), await lists.unread(chat, BEN)) == ("four", 1)


async def test_a_row_that_has_only_a_watermark_of_this_epoch_is_completed(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """A device acknowledges a message before any process reads the head."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat, lists = await gateways.use_cases.group(BEN), ChatListEnv(gateways.use_cases)
        last = await gateways.say(chat, ANNA, "one")
        lose_row(tables_local, chat, BEN)
        await restored(gateways, chat)
        use_cases = gateways.use_cases
        marks = build_watermark_store(use_cases.client, use_cases.clock, lambda: use_cases.epoch)
        await marks.raise_delivered(chat, BEN, LogPosition(last, 1))
        await lists.shown(chat, ANNA)
        row = await lists.row(chat, BEN)
        assert (is_member(row.known), row.delivered) == (True, LogPosition(last, 1))


async def test_a_row_that_is_completed_late_keeps_a_join_that_a_worker_has_written(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker writes the user's message, then their join, whose event is late. Meanwhile a reader completes the row.

    The position of the row is that of the message at both times, so the reader must compare the join.
    """
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        use_cases, lists = gateways.use_cases, ChatListEnv(gateways.use_cases)
        chat = await use_cases.group(BEN, CLEO)
        await use_cases.manage.remove(chat, by(ANNA), BEN)
        await gateways.deliver()
        lose_row(tables_local, chat, BEN)
        await restored(gateways, chat)
        await use_cases.manage.add(chat, by(ANNA), [BEN])
        sent = (await use_cases.send(chat, BEN, "back", after=3)).sequence
        *_, join, message = lists.committed()
        writer = build_chat_row_writer(use_cases.client, lambda: use_cases.epoch)
        await writer.raise_row(chat, BEN, 1, row_update_for(BEN, [message]))
        update, is_late = DynamoClient.update, [True]

        async def late(client: DynamoClient, pattern: AccessPattern, *args: Any, **options: Any) -> Any:
            if pattern is SETTLE_ROW and is_late and args[0] == row_key(chat, BEN):
                is_late.clear()
                await lists.process(chat, [message])
            return await update(client, pattern, *args, **options)

        monkeypatch.setattr(DynamoClient, "update", late)
        await build_chat_row_reader(use_cases.client, lambda: use_cases.epoch).heads(
            use_cases.tenant, [chat.chat]
        )
        row = await believed(gateways, chat, BEN)
        assert not is_late
        assert row.known.own == LogPosition(sent, 1)
        assert row.known.joined is not None
        assert (row.known.joined.sequence, is_member(row.known)) == (join.sequence, True)


async def test_concurrent_readers_of_a_process_complete_the_rows_once(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """After a failover, the devices of all members of a group read its head at the same time."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        use_cases = gateways.use_cases
        chat = await use_cases.group(BEN, CLEO)
        await gateways.say(chat, ANNA, "one")
        await restored(gateways, chat)
        lists = ChatListEnv(use_cases)
        reads = use_cases.client.ledger.open("chat_list.read_row", "")
        before = reads.calls
        await asyncio.gather(*(lists.store.heads(use_cases.tenant, [chat.chat]) for _ in range(20)))
        assert reads.calls - before == 3, "one for each row"
