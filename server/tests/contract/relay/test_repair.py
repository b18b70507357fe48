"""`tidings relay repair`: writes missing entries to rows, publishes them to Kafka for devices, and finishes redactions."""

import asyncio

from contract.gateway.test_order import MANY
from contract.gateway.test_restored import lose_entries
from fixtures.fork_server import run_tidings, tidings_environment
from fixtures.relay_processes import RelayProcesses
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, asked, by

from tidings.app.wiring.chats import build_chat_row_reader
from tidings.app.wiring.delivery import RowRepairReader
from tidings.delivery.model import LogPosition
from tidings.installation.store import Installation
from tidings.installation.store import InstallationStore as InstallationRow
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey, initial_epoch
from tidings.messages.store import DynamoEditStore, DynamoLogReader
from tidings.platform.dynamo.open_client import open_client
from tidings.schema.tables.control_plane import connect_control_plane
from tidings.schema.tables.declaration import MESSAGES
from tidings.schema.tables.items.chats import chat_key

EPOCH = 1_000


def repair(env: RelayProcesses, *words: str, answer: str = "") -> str:
    return run_tidings(
        "relay",
        "repair",
        *words,
        cwd=env.directory,
        environment=tidings_environment(env.settings()),
        answer=answer,
    )


async def came_to(env: RelayProcesses, chat: ChatKey) -> tuple[int, int]:
    async with open_client(env.tables.url, REGION, env.tables.prefix) as client:
        books = RowRepairReader(client, initial_epoch)
        head = await books.head(chat)
        return await books.row_progress(chat, head), head


def test_an_unprocessed_chat_is_repaired(env: RelayProcesses) -> None:
    chat = asyncio.run(env.commit("one", "two"))
    assert asyncio.run(came_to(env, chat)) == (0, 3)
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    assert "1 chats checked, 1 are behind, 3 entries" in repair(env, *named, "--dry-run")
    assert (asyncio.run(came_to(env, chat)), env.published(chat)) == ((0, 3), [])
    assert "1 were behind and are repaired" in repair(env, *named)
    assert asyncio.run(came_to(env, chat)) == (3, 3)
    assert env.published(chat) == [1, 2, 3]
    assert "1 chats checked, 0 were behind" in repair(env, *named)


def test_only_missing_entries_are_repaired(env: RelayProcesses) -> None:
    chat = asyncio.run(env.commit("one"))
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(env, *named)
    asyncio.run(env.commit("two", "three"))
    assert f"{chat.tenant}#{chat.chat}: 3 to 4" in repair(env, *named)
    assert env.published(chat) == [1, 2, 3, 4]


def test_all_chats_of_a_user_are_found(env: RelayProcesses) -> None:
    chats = [asyncio.run(env.commit("hi", other=other)) for other in ("ben", "cleo", "dora")]
    out = repair(env, "--tenant", chats[0].tenant, "--user", "anna")
    assert "3 chats checked, 3 were behind" in out
    assert [asyncio.run(came_to(env, chat)) for chat in chats] == [(2, 2)] * 3


def test_an_aborted_run_continues_where_it_ended(env: RelayProcesses) -> None:
    chats = [asyncio.run(env.commit("hi", other=other)) for other in ("ben", "cleo", "dora")]
    lines = [f"{chat.tenant}#{chat.chat}\n" for chat in chats]
    place = env.directory / "walk"
    again = ["--from", "-", "--progress", str(place)]
    assert "2 chats checked" in repair(env, *again, answer="".join(lines[:2]))
    assert place.read_text() == "2"
    assert "1 chats checked" in repair(env, *again, answer="".join(lines))
    assert place.read_text() == "3"


def test_a_former_member_needs_no_repair(env: RelayProcesses) -> None:
    async def leave() -> ChatKey:
        async with env.use_cases() as use_cases:
            chat = await use_cases.group(BEN)
            await use_cases.manage.remove(chat, by(ANNA), BEN)
            await use_cases.send(chat, ANNA, "alone")
            return chat

    chat = asyncio.run(leave())
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(env, *named)
    assert "0 were behind" in repair(env, *named)


def test_a_redaction_that_was_replicated_without_its_message_is_finished(env: RelayProcesses) -> None:
    async def redact() -> tuple[ChatKey, StoredMessage]:
        async with env.use_cases() as use_cases:
            chat = await use_cases.group(BEN)
            sent = await use_cases.send(chat, ANNA, "secret")
            await use_cases.change.react(asked(chat, BEN, sent.sequence), "👍")
            stored = StoredMessage(env.tables, chat, sent.sequence)
            await use_cases.change.redact(asked(chat, ANNA, sent.sequence))
            await use_cases.send(chat, BEN, "stays")
            return chat, stored

    async def left() -> tuple[bool, bool, int]:
        """Return whether the message is redacted, whether it has content, and its number of reactions."""
        async with open_client(env.tables.url, REGION, env.tables.prefix) as client:
            entry = await DynamoLogReader(client).one(chat, stored.sequence)
            reactions = await DynamoEditStore(client).reactions(chat, stored.sequence)
        assert entry is not None
        return entry.redacted_at_ms is not None, entry.content is not None, len(reactions)

    chat, stored = asyncio.run(redact())
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(env, *named)
    stored.put_back()
    assert "0 were behind" in repair(env, *named), "before the first restore there is nothing to examine"
    asyncio.run(restored(env))
    found = f"{chat.tenant}#{chat.chat}: message {stored.sequence} was redacted and still had its text"
    assert found in repair(env, *named, "--dry-run")
    assert asyncio.run(left()) == (False, True, 1)
    assert found in repair(env, *named)
    assert asyncio.run(left()) == (True, False, 0)
    assert "0 were behind" in repair(env, *named)


class StoredMessage:
    """The item of a message as it is now, to put back later."""

    def __init__(self, tables: Tables, chat: ChatKey, sequence: int) -> None:
        self.sequence = sequence
        self._engine = connect_control_plane(tables.url, REGION)
        self._table = tables.prefix + MESSAGES.name
        key = {"chat_id": {"S": chat_key(chat)}, "sequence": {"N": str(sequence)}}
        self._item = self._engine.get_item(TableName=self._table, Key=key, ConsistentRead=True)["Item"]

    def put_back(self) -> None:
        self._engine.put_item(TableName=self._table, Item=self._item)


async def restored(env: RelayProcesses) -> None:
    async with open_client(env.tables.url, REGION, env.tables.prefix) as client:
        assert await InstallationRow(client, SystemClock()).change(None, Installation(epoch=EPOCH))


def test_a_row_ahead_of_its_log_is_corrected(env: RelayProcesses) -> None:
    async def heads() -> list[tuple[int, int]]:
        """Return both rows as stored in the table."""
        async with open_client(env.tables.url, REGION, env.tables.prefix) as client:
            rows = [
                (await build_chat_row_reader(client).rows(chat.tenant, user))[0].known for user in (ANNA, BEN)
            ]
            return [(known.head.sequence if known.head else 0, known.epoch) for known in rows]

    chat = asyncio.run(env.commit("one", "two", "three"))
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(env, *named)
    lose_entries(env.tables, chat, 3, 4)
    asyncio.run(restored(env))
    assert "1 are behind" in repair(env, *named, "--dry-run")
    assert asyncio.run(heads()) == [(4, 0), (4, 0)]
    assert "1 were behind and are repaired" in repair(env, *named)
    assert asyncio.run(heads()) == [(2, EPOCH), (2, EPOCH)]
    assert "0 were behind" in repair(env, *named)


def test_repair_corrects_the_head_of_a_large_chat_and_the_rows_that_its_last_hour_names(
    env: RelayProcesses,
) -> None:
    async def say() -> ChatKey:
        async with env.use_cases() as use_cases:
            chat = await use_cases.group(BEN, *MANY[:60])
            await use_cases.manage.add(chat, by(ANNA), MANY[60:])
            await use_cases.send(chat, ANNA, "stays")
            await use_cases.send(chat, BEN, "is lost", after=3)
            return chat

    async def look() -> None:
        async with open_client(env.tables.url, REGION, env.tables.prefix) as client:
            as_it_stands = build_chat_row_reader(client)
            head = (await as_it_stands.heads(chat.tenant, [chat.chat]))[chat.chat]
            assert (head.head, head.epoch) == (LogPosition(3, 1), EPOCH)
            (row,) = await as_it_stands.rows(chat.tenant, BEN)
            assert (row.known.own, row.known.epoch) == (LogPosition(3, 1), EPOCH)

    chat = asyncio.run(say())
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(env, *named)
    lose_entries(env.tables, chat, 4)
    asyncio.run(restored(env))
    assert "1 were behind and are repaired" in repair(env, *named)
    asyncio.run(look())
