"""Tables that were restored to different times: rows ahead of their log, and rows behind it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from contract.gateway.test_order import large, small
from fixtures.chat_list_env import ChatListEnv
from fixtures.engines import Namespace
from fixtures.gateway_env import WITHIN_S, GatewayEnv, gateway_env_on
from fixtures.loops import until
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv, by

from tidings.app.wiring.chats import build_epoch_reconciler, build_watermark_store
from tidings.delivery.model import ChatRow, DeliveryStatus, LogPosition
from tidings.delivery.rules import is_member
from tidings.delivery.store import DynamoWatermarkStore
from tidings.ephemeral.receipts import ReceiptSnapshotReader
from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.redis.options import RedisOptions
from tidings.schema.tables.control_plane import connect_control_plane
from tidings.schema.tables.declaration import CHAT_MEMBERSHIPS, MESSAGES
from tidings.schema.tables.items.chats import chat_key, user_key


@asynccontextmanager
async def at_post(tables: Tables, valkey: str, space: Namespace, home: Path) -> AsyncIterator[GatewayEnv]:
    options = replace(RedisOptions.from_url(valkey), key_prefix=space.key_prefix)
    async with (
        open_client(tables.url, REGION, tables.prefix) as client,
        gateway_env_on(UseCaseEnv(client, space.tenant, home / "tidings.key"), options) as gateways,
    ):
        yield gateways


def lose_entries(tables: Tables, chat: ChatKey, *sequences: int) -> None:
    """Delete entries, as if the log was restored to an earlier time than the rows."""
    for sequence in sequences:
        key = {"chat_id": {"S": chat_key(chat)}, "sequence": {"N": str(sequence)}}
        connect_control_plane(tables.url, REGION).delete_item(
            TableName=tables.prefix + MESSAGES.name, Key=key
        )


@contextmanager
def membership_put_back(tables: Tables, chat: ChatKey, user: UserId) -> Iterator[None]:
    """Restore the membership at the end of the block: it is restored together with the log."""
    engine, name = connect_control_plane(tables.url, REGION), tables.prefix + CHAT_MEMBERSHIPS.name
    key = {"chat_id": {"S": chat_key(chat)}, "user_id": {"S": user_key(chat.tenant, user)}}
    before = engine.get_item(TableName=name, Key=key, ConsistentRead=True)["Item"]
    yield
    engine.put_item(TableName=name, Item=before)


async def believed(gateways: GatewayEnv, chat: ChatKey, user: UserId) -> ChatRow:
    """Return the stored row, of any epoch."""
    rows = build_watermark_store(gateways.use_cases.client, gateways.use_cases.clock)
    return (await rows.rows_now(chat, [user]))[user]


async def restored(gateways: GatewayEnv, chat: ChatKey) -> None:
    """Bring the installation to the state after `tidings restore finish`: new epoch, new processes, empty Redis."""
    gateways.use_cases.epoch += 1_000
    gateways.use_cases.open_process()
    redis = gateways.routes._redis
    await redis.write("DEL", redis.keys.key(chat.tenant, chat.chat, "handled"))
    gateways.open_worker()


@pytest.mark.parametrize("size", ["small", "large"])
async def test_a_row_ahead_of_its_log_neither_locks_out_its_user_nor_hides_new_entries(
    size: str, tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat = await (small(gateways) if size == "small" else large(gateways))
        here = await gateways.gateway()
        sent = [await gateways.say(chat, ANNA, f"before {n}") for n in range(4)]
        await here.node._deps.watermarks.read(chat, BEN, sent[-1])
        lose_entries(tables_local, chat, *sent[2:])
        await restored(gateways, chat)
        here = await gateways.gateway()
        ben = await here.live(BEN)
        assert ben.sequences(chat)[-1] == sent[1], "what the log has, and no more"
        rows = await here.node._deps.rows.rows(gateways.use_cases.tenant, BEN)
        (row,) = [each for each in rows if each.chat == chat.chat]
        assert row.read is not None
        assert row.read.sequence == sent[1], "nobody has read what nobody has written yet"
        new = [await gateways.say(chat, ANNA, f"after {n}") for n in range(3)]
        assert new[0] == sent[2], "in the place of what was lost"
        await until(lambda: ben.sequences(chat)[-1:] == new[-1:], WITHIN_S)
        assert ben.sequences(chat)[-4:] == [sent[1], *new]
        again = await here.live(BEN, "tablet")
        await until(lambda: again.sequences(chat)[-1:] == new[-1:], WITHIN_S)


async def test_the_worker_reconciles_a_row_that_was_not_read_since_the_restore(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """The row was not read between the restore and the next message."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat = await small(gateways)
        here = await gateways.gateway()
        sent = [await gateways.say(chat, ANNA, f"before {n}") for n in range(4)]
        await here.node._deps.watermarks.read(chat, BEN, sent[-1])
        lose_entries(tables_local, chat, *sent[1:])
        await restored(gateways, chat)
        new = [await gateways.say(chat, ANNA, f"after {n}") for n in range(2)]
        rows = await here.node._deps.rows.rows(gateways.use_cases.tenant, BEN)
        (row,) = [each for each in rows if each.chat == chat.chat]
        assert row.known.head is not None
        assert row.known.head.sequence == new[-1] == sent[2]
        assert row.read is not None
        assert row.read.sequence == sent[0]
        assert row.known.epoch == gateways.use_cases.epoch


@pytest.mark.parametrize("was", ["in", "out"])
async def test_an_interval_that_the_log_lost_leaves_the_row_with_the_interval_before_it(
    was: str, tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """A row has only the latest join and leave. A row above its user's leave would show later messages."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        manage, chat, was_in = (
            gateways.use_cases.manage,
            await gateways.use_cases.group(BEN, CLEO),
            was == "in",
        )
        left = await gateways.say(chat, ANNA, "together") + 1
        if not was_in:
            await manage.remove(chat, by(ANNA), BEN)
        last = await gateways.say(chat, ANNA, "the last that is kept")
        with membership_put_back(tables_local, chat, BEN):
            if was_in:
                await manage.remove(chat, by(ANNA), BEN)
            await manage.add(chat, by(ANNA), [BEN])
            end = await gateways.say(chat, ANNA, "lost")
        lose_entries(tables_local, chat, *range(last + 1, end + 1))
        await restored(gateways, chat)
        new = await gateways.say(chat, ANNA, "after")
        ben = await (await gateways.gateway()).live(BEN, epoch=0, positions={chat.chat: 0})
        row = await believed(gateways, chat, BEN)
        assert (row.known.joined and row.known.joined.sequence, is_member(row.known)) == (1, was_in)
        assert row.known.head is not None
        assert row.known.head.sequence == (last if was_in else left)
        assert ben.sequences(chat) == list(range(1, (new if was_in else left) + 1))


@pytest.mark.parametrize("had_read", [2, 5])
async def test_a_watermark_raised_on_a_row_of_an_old_epoch_is_kept_and_applied(
    had_read: int, tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        chat, lists = await small(gateways), ChatListEnv(gateways.use_cases)
        sent = [await gateways.say(chat, ANNA, f"before {n}") for n in range(4)]
        assert sent == [2, 3, 4, 5]
        await lists.marking.read(chat, BEN, had_read)
        await lists.marking.delivered(chat, BEN, 5)
        lose_entries(tables_local, chat, 4, 5)
        await restored(gateways, chat)
        new = (await gateways.use_cases.send(chat, ANNA, "after")).sequence
        assert new == 4
        assert await lists.marking.read(chat, BEN, new) == (new, 0)
        await lists.marking.is_delivered_known(chat, BEN, LogPosition(new, 3))
        await gateways.deliver()
        row = await lists.row(chat, BEN)
        assert (row.read, row.delivered) == (LogPosition(new, 3), LogPosition(new, 3))
        assert row.known.epoch == gateways.use_cases.epoch


async def test_delivery_status_receipts_and_traces_ignore_rows_of_another_epoch(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        use_cases, chat, lists = gateways.use_cases, await small(gateways), ChatListEnv(gateways.use_cases)
        sent = [await gateways.say(chat, ANNA, f"before {n}") for n in range(4)]
        await lists.marking.read(chat, BEN, sent[-1])
        lose_entries(tables_local, chat, *sent[2:])
        await restored(gateways, chat)
        new = (await use_cases.send(chat, ANNA, "after")).sequence
        entry = await use_cases.reader.one(chat, new)
        assert entry is not None
        only_read = build_epoch_reconciler(use_cases.client, lambda: use_cases.epoch, is_read_only=True)
        traced = await DynamoWatermarkStore(use_cases.client, use_cases.clock, only_read).rows_and_times(
            chat, [BEN]
        )
        assert traced[BEN][0].read_up_to == sent[1]
        assert (await believed(gateways, chat, BEN)).known.epoch == 0, "a trace writes nothing"
        (status,) = await lists.statuses.of(chat, ANNA, [entry])
        assert (status.status, status.read_by, status.delivered_to) == (DeliveryStatus.SENT, (), ())
        whole = ReceiptSnapshotReader(
            use_cases.rows,
            build_watermark_store(use_cases.client, use_cases.clock, lambda: use_cases.epoch).rows_now,
        )
        got = {each.user: each.read for each in (await whole.read_snapshot(chat)).members}
        assert got[BEN] == sent[1]


async def test_a_head_ahead_of_its_log_shows_the_message_that_follows_the_restore(
    tables_local: Tables, valkey: str, space: Namespace, tmp_path: Path
) -> None:
    """The head shows a message that the log has lost, at the sequence of the new one."""
    async with at_post(tables_local, valkey, space, tmp_path) as gateways:
        use_cases, lists = gateways.use_cases, ChatListEnv(gateways.use_cases)
        chat = await use_cases.group(BEN)
        sent = [await gateways.say(chat, ANNA, f"before {n}") for n in range(4)]
        lose_entries(tables_local, chat, *sent[2:])
        await restored(gateways, chat)
        new = (await use_cases.send(chat, ANNA, "after")).sequence
        assert new == sent[2]
        await lists.process(chat, lists.committed())
        assert (await lists.text(chat, BEN), (await lists.listed(chat, BEN)).head_sequence) == ("after", new)
        head = (await lists.store.heads(chat.tenant, [chat.chat]))[chat.chat]
        assert (head.epoch, head.head) == (use_cases.epoch, LogPosition(new, 3))
