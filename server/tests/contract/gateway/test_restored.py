"""Tables that were put back to different moments: rows ahead of their log, and rows behind it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from contract.gateway.test_order import large, small
from fixtures.engines import Space
from fixtures.loops import until
from fixtures.post import WITHIN_S, Post, posted
from fixtures.stage import ANNA, BEN, Stage
from fixtures.tables import REGION, Tables

from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.opening import open_client
from tidings.platform.redis.options import Options
from tidings.tables.control import connect
from tidings.tables.declaration import DELIVERY_STATE, MESSAGES
from tidings.tables.items.chat import chat_key, user_key


@asynccontextmanager
async def at_post(tables: Tables, valkey: str, space: Space, home: Path) -> AsyncIterator[Post]:
    options = replace(Options.from_url(valkey), key_prefix=space.key_prefix)
    async with (
        open_client(tables.url, REGION, tables.prefix) as client,
        posted(Stage(client, space.tenant, home / "tidings.key"), options) as post,
    ):
        yield post


def lose_entries(tables: Tables, chat: ChatKey, *sequences: int) -> None:
    """The log was put back to an earlier moment than the rows."""
    for sequence in sequences:
        key = {"chat_id": {"S": chat_key(chat)}, "sequence": {"N": str(sequence)}}
        connect(tables.url, REGION).delete_item(TableName=tables.prefix + MESSAGES.name, Key=key)


def lose_row(tables: Tables, chat: ChatKey, user: UserId) -> None:
    """The rows were put back to an earlier moment than the log."""
    key = {"user_id": {"S": user_key(chat.tenant, user)}, "chat_id": {"S": chat_key(chat)}}
    connect(tables.url, REGION).delete_item(TableName=tables.prefix + DELIVERY_STATE.name, Key=key)


async def restored(post: Post, chat: ChatKey) -> None:
    """As after `tidings restored`: a new epoch, new processes, an empty Redis."""
    post.stage.epoch += 1_000
    post.stage.open_process()
    redis = post.routes._redis
    await redis.write("DEL", redis.keys.key(chat.tenant, chat.chat, "handled"))
    post.open_worker()


@pytest.mark.parametrize("size", ["small", "large"])
async def test_a_row_ahead_of_its_log_neither_locks_out_nor_swallows_what_is_new(
    size: str, tables_local: Tables, valkey: str, space: Space, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as post:
        chat = await (small(post) if size == "small" else large(post))
        here = await post.gateway()
        said = [await post.say(chat, ANNA, f"before {n}") for n in range(4)]
        await here.routed._world.marking.read(chat, BEN, said[-1])
        lose_entries(tables_local, chat, *said[2:])
        await restored(post, chat)
        here = await post.gateway()
        ben = await here.live(BEN)
        assert ben.sequences(chat)[-1] == said[1], "what the log has, and no more"
        rows = await here.routed._world.rows.rows(post.stage.tenant, BEN)
        (row,) = [each for each in rows if each.chat == chat.chat]
        assert row.read is not None
        assert row.read.sequence == said[1], "nobody has read what nobody has written yet"
        new = [await post.say(chat, ANNA, f"after {n}") for n in range(3)]
        assert new[0] == said[2], "in the place of what was lost"
        await until(lambda: ben.sequences(chat)[-1:] == new[-1:], WITHIN_S)
        assert ben.sequences(chat)[-4:] == [said[1], *new]
        again = await here.live(BEN, "tablet")
        await until(lambda: again.sequences(chat)[-1:] == new[-1:], WITHIN_S)


async def test_a_row_of_before_that_is_raised_first_is_settled_by_the_worker(
    tables_local: Tables, valkey: str, space: Space, tmp_path: Path
) -> None:
    """Nobody looked at it between the restore and the next message."""
    async with at_post(tables_local, valkey, space, tmp_path) as post:
        chat = await small(post)
        here = await post.gateway()
        said = [await post.say(chat, ANNA, f"before {n}") for n in range(4)]
        await here.routed._world.marking.read(chat, BEN, said[-1])
        lose_entries(tables_local, chat, *said[1:])
        await restored(post, chat)
        new = [await post.say(chat, ANNA, f"after {n}") for n in range(2)]
        rows = await here.routed._world.rows.rows(post.stage.tenant, BEN)
        (row,) = [each for each in rows if each.chat == chat.chat]
        assert row.known.head is not None
        assert row.known.head.sequence == new[-1] == said[2]
        assert row.read is not None
        assert row.read.sequence == said[0]
        assert row.known.epoch == post.stage.epoch


async def test_a_row_behind_its_log_is_brought_up_with_the_next_message(
    tables_local: Tables, valkey: str, space: Space, tmp_path: Path
) -> None:
    async with at_post(tables_local, valkey, space, tmp_path) as post:
        chat = await small(post)
        said = [await post.say(chat, ANNA, f"before {n}") for n in range(3)]
        lose_row(tables_local, chat, BEN)
        await restored(post, chat)
        new = await post.say(chat, ANNA, "after")
        ben = await (await post.gateway()).live(BEN)
        await until(lambda: ben.sequences(chat)[-1:] == [new], WITHIN_S)
        assert ben.sequences(chat)[-4:] == [*said, new]
