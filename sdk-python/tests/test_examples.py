"""The examples and the client of the tutorial work with the scripted server."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest
from fixtures.loops import until
from scripted_inbox import ScriptedInbox
from scripted_server import ScriptedServer, error

ROOT = Path(__file__).parents[2]
PLAIN = ROOT / "docs" / "tutorials" / "plain_client.py"
EXAMPLES = ROOT / "sdk-python" / "examples"
MAX_LINES = 65


async def started(script: Path, *arguments: str) -> asyncio.subprocess.Process:
    environment = {**os.environ, "TIDINGS_TOKEN": "anna"}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        sys.executable, str(script), *arguments, env=environment, stdout=pipe, stderr=pipe
    )


@pytest.mark.parametrize(
    "script",
    [[], ["cut before"], ["answer", "cut after"], ["answer", "close after"], ["answer", "unknown, done"]],
    ids=str,
)
async def test_the_plain_client_sends_its_message_once(script: list[str]) -> None:
    async with ScriptedServer(script) as server:
        server.add("g1")
        process = await started(PLAIN, server.url, "anna", "g1", "hello")
        out, err = await process.communicate()
        assert (process.returncode, out.strip()) == (0, b"2"), err
        assert [entry.get("text") for entry in server.logs["g1"]] == [None, "hello"]
        assert len({(one["client_message_id"], one["after"]) for one in server.tries()}) == 1


async def test_the_plain_client_reports_a_refusal() -> None:
    refusal = (error("credential_invalid"), 4500, "credential_invalid")
    async with ScriptedServer(refuse_connect=[refusal]) as server:
        process = await started(PLAIN, server.url, "anna", "g1", "hello")
        _, err = await process.communicate()
        assert process.returncode == 1
        assert b"closed permanently: 4500" in err


def test_the_plain_client_stays_short() -> None:
    assert len(PLAIN.read_text().splitlines()) <= MAX_LINES


async def test_one_message_is_sent() -> None:
    async with ScriptedServer() as server:
        process = await started(EXAMPLES / "send_one.py", server.url, "g1", "hello")
        out, err = await process.communicate()
        assert (process.returncode, out.strip()) == (0, b"g1.1"), err


async def test_the_bot_repeats_messages_of_others(tmp_path: Path) -> None:
    async with ScriptedServer(is_pushing=True) as server:
        bot = await started(EXAMPLES / "echo_bot.py", server.url, str(tmp_path / "outbox"))
        await until(lambda: server.sockets)
        server.add("g1", text="hello")
        await server.push_entry("g1", 1)
        await until(lambda: len(server.logs["g1"]) == 2)
        assert server.logs["g1"][1]["text"] == "hello"
        bot.terminate()
        await bot.communicate()


async def test_a_bot_with_a_new_outbox_ignores_old_messages_and_answers_missed_ones(tmp_path: Path) -> None:
    async with ScriptedServer(is_pushing=True) as server:
        old = [server.readable(server.add("g1", text=f"old {n}")) for n in range(3)]
        server.before_resumed = [{"entries": {"chat": "g1", "after": 0, "up_to": 3, "entries": old}}]
        outbox = str(tmp_path / "outbox")
        bot = await started(EXAMPLES / "echo_bot.py", server.url, outbox)
        await until(lambda: server.sockets)
        server.add("g1", text="new")
        await server.push_entry("g1", 4)
        await until(lambda: len(server.logs["g1"]) == 5)
        assert server.logs["g1"][4]["text"] == "new"
        await until(lambda: "g1" in Path(outbox).read_text(errors="replace"))
        bot.terminate()
        await bot.communicate()


async def test_the_example_in_the_readme_runs(tmp_path: Path) -> None:
    (block,) = re.findall(
        r"^```python\n(import asyncio.*?)^```$",
        (EXAMPLES.parent / "README.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    async with ScriptedServer(is_pushing=True) as server:
        server.add("g1", text="before")
        client_file = {"gateway": server.url, "users": {"anna": {"token": "anna"}}, "chats": {"direct": "g1"}}
        (tmp_path / ".tidings" / "dev").mkdir(parents=True)
        (tmp_path / ".tidings" / "dev" / "client.json").write_text(json.dumps(client_file))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", block),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"at 2, after 1\n"
        process.terminate()
        await process.communicate()


def test_the_how_to_shows_the_unchanged_example() -> None:
    page = (ROOT / "docs" / "howto" / "show-an-inbox.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert block == (EXAMPLES / "show_inbox.py").read_text()


async def test_an_inbox_is_shown_and_followed() -> None:
    async with ScriptedServer() as server:
        inbox = ScriptedInbox(server)
        first = inbox.put({"title": "first"})
        process = await started(EXAMPLES / "show_inbox.py", server.url)
        await _draws(process, "unread: 1", "* first")
        second = await inbox.gives({"title": "second"})
        await _draws(process, "unread: 2", "* second", "* first")
        await inbox.amends(second, {"title": "another"})
        await _draws(process, "unread: 2", "* another", "* first")
        first["is_read"] = True
        await inbox.tells_counts()
        await _draws(process, "unread: 1", "* another", "  first")
        await inbox.recalls(second)
        await _draws(process, "unread: 0", "  first")
        process.terminate()
        await process.communicate()


async def test_each_state_of_an_inbox_is_printed_once_and_its_count_agrees_with_its_list() -> None:
    async with ScriptedServer() as server:
        inbox = ScriptedInbox(server)
        inbox.put({"title": "first"})
        process = await started(EXAMPLES / "show_inbox.py", server.url)
        drawn = await _draws(process, "unread: 1", "* first")
        inbox.put({"title": "broadcast"})  # the device is notified later, but the counts include it
        await inbox.gives({"title": "second"})
        drawn += await _draws(process, "unread: 3", "* second", "* broadcast", "* first")
        for _ in range(3):
            await inbox.tells_counts()
        for n in range(20):
            inbox.put({"title": f"more {n}"})
        await inbox.tells_counts()
        many = [f"* more {n}" for n in reversed(range(20))]
        drawn += await _draws(process, "unread: 23, 20 of them in this list", *many)
        assert sum(line.startswith("unread") for line in drawn) == 3, drawn
        process.terminate()
        await process.communicate()


async def _draws(process: asyncio.subprocess.Process, *lines: str) -> list[str]:
    """Wait until the last printed lines are `lines`. Return all lines that were printed meanwhile."""
    assert process.stdout is not None
    drawn: list[str] = []
    async with asyncio.timeout(30):
        while drawn[-len(lines) :] != list(lines):
            drawn.append((await process.stdout.readline()).decode().rstrip("\n"))
    return drawn
