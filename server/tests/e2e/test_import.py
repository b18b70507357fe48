"""`tidings import` into a running installation: killed, continued, repeated, and read with the SDK."""

import asyncio
import json
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from contract.imports.test_import import chat_lines, group_key, header, message
from contract.media.test_worker import jpeg
from e2e.delivery.connected_device import ConnectedClient
from fixtures.fork_server import TIDINGS, run_tidings
from fixtures.installation_processes import InstallationProcess, InstallationProcesses
from fixtures.loops import until
from fixtures.media_env import make_bucket
from fixtures.use_cases import ANNA, BEN

from tidings.chats.model import direct_chat_key
from tidings.kernel.ids import TenantId
from tidings_sdk import Client, State

MESSAGES = 4_000
KILLED_AT = 1_000
LONG_S = 150.0
LAST = MESSAGES + 3
"""The sequence of the last imported entry: the creation, the messages, one with a word and one with a photo."""


class ImportCommands:
    """Commands of an operator of an installation."""

    def __init__(self, installation: InstallationProcesses, settings: dict[str, str]) -> None:
        self._installation = installation
        self._environment = installation.environment() | settings
        self.tenant = installation.space.tenant

    async def start(self, *words: str, out: int = PIPE) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *TIDINGS, *words, stdout=out, stderr=out, cwd=self._installation.directory, env=self._environment
        )

    async def run(self, *words: str) -> str:
        return await asyncio.to_thread(
            run_tidings,
            *words,
            cwd=self._installation.directory,
            environment=self._environment,
            timeout_s=LONG_S,
        )

    async def kill_during(self, *words: str) -> None:
        """Start an import, and kill it when a part of its first chat is written."""
        process = await self.start(*words, out=DEVNULL)
        async with self._installation.use_cases() as use_cases, asyncio.timeout(LONG_S):
            chat = group_key(use_cases, "C1")
            while (newest := await use_cases.log.newest(chat)) is None or newest.sequence < KILLED_AT:
                assert process.returncode is None
        process.kill()
        assert await process.wait() == -signal.SIGKILL


def write_import(folder: Path) -> str:
    """Write a file with a group, a direct chat and a photo, and return its path."""
    (folder / "photos").mkdir()
    (folder / "photos" / "beach.jpg").write_bytes(jpeg())
    photo = message("C1", MESSAGES + 2, text="", attachments=[{"path": "photos/beach.jpg"}])
    lines = [
        *header(),
        *chat_lines("C1", MESSAGES),
        message("C1", MESSAGES + 1, text="the lighthouse", reactions=[{"emoji": "👍", "users": ["ben"]}]),
        photo,
        *chat_lines("D1", 2, kind="direct"),
    ]
    path = folder / "old.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@asynccontextmanager
async def connected(
    installation: InstallationProcesses, gateway: InstallationProcess, api: InstallationProcess, user: str
) -> AsyncIterator[Client]:
    url, rest = f"ws://127.0.0.1:{gateway.socket_port}/v1/socket", f"http://127.0.0.1:{api.socket_port}"
    async with Client(url, installation.token(user), api=rest, proxy=None) as client:
        await until(lambda: client.state is State.LIVE, LONG_S)
        yield client


@pytest.mark.long
@pytest.mark.deadline(600.0)
async def test_a_killed_import_is_continued_and_users_list_read_search_and_answer(
    installation: InstallationProcesses, s3: str, tmp_path: Path
) -> None:
    settings = await asyncio.to_thread(make_bucket, s3, installation.space)
    settings |= {"TIDINGS_SEARCH_ENGINE": "tantivy", "TIDINGS_ACCOUNTS_TENANT_REFRESH_S": "0.1"}
    given = {name.removeprefix("TIDINGS_"): value for name, value in settings.items()}
    gateway, api, *_ = installation.ready(
        "gateway", "api", "delivery", "relay", "notifications", "search", "media", **given
    )
    commands, path = ImportCommands(installation, settings), write_import(tmp_path)
    await commands.run("search", "enable", commands.tenant)
    command = ("import", "run", path, "--tenant", commands.tenant)
    async with ConnectedClient(installation, gateway.socket_port, "ben") as present:
        await present.live()
        await commands.kill_during(*command)
        done = await commands.run(*command)
        assert "chats: 2 imported, 0 were imported before, 0 skipped" in done
        assert f"entries: {LAST + 3} written" not in done, "it began again"
        again = await commands.run(*command)
        assert "users: 0 created, 3 existed" in again
        assert "entries: 0 written; attachments: 0 stored" in again
        assert present.entries == {}, "imported entries were delivered"
    job = (await commands.run("search", "rebuild", commands.tenant)).strip()
    await commands.run("job", "watch", commands.tenant, job)
    async with (
        connected(installation, gateway, api, "anna") as anna,
        connected(installation, gateway, api, "ben") as ben,
    ):
        chat = await _check_lists(installation, ben)
        await _check_history(ben, chat, tmp_path)
        sent = await anna.chat(chat).send("a live message")
        assert sent.sequence == LAST + 1
        await until(lambda: _unread(ben, chat) == 1, LONG_S)
        found = await ben.search.find("lighthouse")
        assert [(each.chat, each.message.sequence) for each in found.results] == [(chat, LAST - 1)]


async def _check_lists(installation: InstallationProcesses, ben: Client) -> str:
    """Check the chat list, and return the group."""
    tenant = TenantId(installation.space.tenant)
    async with installation.use_cases() as use_cases:
        chat = group_key(use_cases, "C1").chat
    rows = {row.chat: row for row in ben.chats()}
    assert rows.keys() == {chat, direct_chat_key(tenant, ANNA, BEN).chat}
    assert [row.unread for row in rows.values()] == [0, 0]
    group = rows[chat]
    assert (group.name, group.head, group.last, group.preview) == ("General", LAST, LAST, "📎 beach.jpg")
    return chat


async def _check_history(ben: Client, chat: str, folder: Path) -> None:
    sequences: list[int] = []
    while not sequences or sequences[-1] > 1:
        page = await ben.chat(chat).history(before=sequences[-1] if sequences else None, limit=200)
        sequences += [entry.sequence for entry in page.entries]
    assert sequences == list(range(LAST, 0, -1))
    [photo] = (await ben.chat(chat).history(before=LAST + 1, limit=1)).entries
    link = await ben.attachments.download(chat, LAST, photo.attachments[0], folder / "copy.jpg")
    assert (link.name, link.width, link.height) == ("beach.jpg", 64, 48)
    assert b"secret-place" not in (folder / "copy.jpg").read_bytes()


def _unread(client: Client, chat: str) -> int | None:
    row = client.chat(chat).row
    return None if row is None else row.unread
