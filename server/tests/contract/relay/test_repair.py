"""`tidings relay repair`: writes missing entries to rows, and publishes them to Kafka for devices."""

import asyncio
import os
import subprocess
import sys

from contract.gateway.test_order import MANY
from contract.gateway.test_restored import lose_entries
from fixtures.relay_processes import RelayProcesses
from fixtures.tables import REGION
from fixtures.use_cases import ANNA, BEN, by

from tidings.app.wiring.chats import build_chat_row_reader
from tidings.app.wiring.delivery import RowRepairReader
from tidings.delivery.model import LogPosition
from tidings.installation.store import Installation
from tidings.installation.store import InstallationStore as InstallationRow
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import ChatKey
from tidings.platform.dynamo.open_client import open_client

EPOCH = 1_000
COMMAND = [sys.executable, "-c", "from tidings.cli import main; main()", "relay", "repair"]


def repair(house: RelayProcesses, *words: str, said: str = "") -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}
    done = subprocess.run(
        [*COMMAND, *words],
        cwd=house.directory,
        env=environment | house.settings(),
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def came_to(house: RelayProcesses, chat: ChatKey) -> tuple[int, int]:
    async with open_client(house.tables.url, REGION, house.tables.prefix) as client:
        books = RowRepairReader(client)
        head = await books.head(chat)
        return await books.row_progress(chat, head), head


def test_an_unprocessed_chat_is_repaired(house: RelayProcesses) -> None:
    chat = asyncio.run(house.commit("one", "two"))
    assert asyncio.run(came_to(house, chat)) == (0, 3)
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    assert "1 chats checked, 1 are behind, 3 entries" in repair(house, *named, "--dry-run")
    assert (asyncio.run(came_to(house, chat)), house.published(chat)) == ((0, 3), [])
    assert "1 were behind and are repaired" in repair(house, *named)
    assert asyncio.run(came_to(house, chat)) == (3, 3)
    assert house.published(chat) == [1, 2, 3]
    assert "1 chats checked, 0 were behind" in repair(house, *named)


def test_only_missing_entries_are_repaired(house: RelayProcesses) -> None:
    chat = asyncio.run(house.commit("one"))
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(house, *named)
    asyncio.run(house.commit("two", "three"))
    assert f"{chat.tenant}#{chat.chat}: 3 to 4" in repair(house, *named)
    assert house.published(chat) == [1, 2, 3, 4]


def test_all_chats_of_a_user_are_found(house: RelayProcesses) -> None:
    chats = [asyncio.run(house.commit("hi", other=other)) for other in ("ben", "cleo", "dora")]
    out = repair(house, "--tenant", chats[0].tenant, "--user", "anna")
    assert "3 chats checked, 3 were behind" in out
    assert [asyncio.run(came_to(house, chat)) for chat in chats] == [(2, 2)] * 3


def test_an_aborted_run_continues_where_it_ended(house: RelayProcesses) -> None:
    chats = [asyncio.run(house.commit("hi", other=other)) for other in ("ben", "cleo", "dora")]
    lines = [f"{chat.tenant}#{chat.chat}\n" for chat in chats]
    place = house.directory / "walk"
    again = ["--from", "-", "--progress", str(place)]
    assert "2 chats checked" in repair(house, *again, said="".join(lines[:2]))
    assert place.read_text() == "2"
    assert "1 chats checked" in repair(house, *again, said="".join(lines))
    assert place.read_text() == "3"


def test_a_former_member_needs_no_repair(house: RelayProcesses) -> None:
    async def leave() -> ChatKey:
        async with house.stage() as stage:
            chat = await stage.group(BEN)
            await stage.manage.remove(chat, by(ANNA), BEN)
            await stage.send(chat, ANNA, "alone")
            return chat

    chat = asyncio.run(leave())
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(house, *named)
    assert "0 were behind" in repair(house, *named)


async def restored(house: RelayProcesses) -> None:
    async with open_client(house.tables.url, REGION, house.tables.prefix) as client:
        assert await InstallationRow(client, SystemClock()).change(None, Installation(epoch=EPOCH))


def test_a_row_ahead_of_its_log_is_corrected(house: RelayProcesses) -> None:
    async def heads() -> list[tuple[int, int]]:
        """Return both rows as stored in the table."""
        async with open_client(house.tables.url, REGION, house.tables.prefix) as client:
            rows = [
                (await build_chat_row_reader(client).rows(chat.tenant, user))[0].known for user in (ANNA, BEN)
            ]
            return [(known.head.sequence if known.head else 0, known.epoch) for known in rows]

    chat = asyncio.run(house.commit("one", "two", "three"))
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(house, *named)
    lose_entries(house.tables, chat, 3, 4)
    asyncio.run(restored(house))
    assert "1 are behind" in repair(house, *named, "--dry-run")
    assert asyncio.run(heads()) == [(4, 0), (4, 0)]
    assert "1 were behind and are repaired" in repair(house, *named)
    assert asyncio.run(heads()) == [(2, EPOCH), (2, EPOCH)]
    assert "0 were behind" in repair(house, *named)


def test_repair_corrects_the_head_of_a_large_chat_and_a_read_corrects_a_members_row(
    house: RelayProcesses,
) -> None:
    """Repair reads one head, not thousands of rows. The last entry names anna; ben's row is older."""

    async def say() -> ChatKey:
        async with house.stage() as stage:
            chat = await stage.group(BEN, *MANY[:60])
            await stage.manage.add(chat, by(ANNA), MANY[60:])
            await stage.send(chat, ANNA, "stays")
            await stage.send(chat, BEN, "is lost", after=3)
            return chat

    async def look() -> None:
        async with open_client(house.tables.url, REGION, house.tables.prefix) as client:
            as_it_stands, read = build_chat_row_reader(client), build_chat_row_reader(client, lambda: EPOCH)
            head = (await as_it_stands.heads(chat.tenant, [chat.chat]))[chat.chat]
            assert (head.head, head.epoch) == (LogPosition(3, 1), EPOCH)
            (row,) = await as_it_stands.rows(chat.tenant, BEN)
            assert (row.known.own, row.known.epoch) == (LogPosition(4, 2), 0)
            (row,) = await read.rows(chat.tenant, BEN)
            assert (row.known.own, row.known.epoch) == (LogPosition(3, 1), EPOCH)
            assert await as_it_stands.rows(chat.tenant, BEN) == [row]

    chat = asyncio.run(say())
    named = ["--tenant", chat.tenant, "--chat", chat.chat]
    repair(house, *named)
    lose_entries(house.tables, chat, 4)
    asyncio.run(restored(house))
    assert "1 were behind and are repaired" in repair(house, *named)
    asyncio.run(look())
