"""`tidings run archive`, killed in the middle of a sweep, and the commands that finish it and read everything back."""

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from contract.imports.test_import import chat_lines, header
from e2e.test_import import ImportCommands
from fixtures.installation_processes import InstallationProcesses
from fixtures.media_env import make_bucket

MESSAGES = 500
LONG_S = 150.0


async def archived_lines(commands: ImportCommands) -> list[dict[str, Any]]:
    out = await commands.run("archive", "read", "--tenant", commands.tenant, "--month", "2020-01")
    return [json.loads(line) for line in out.splitlines()]


async def count_archived(commands: ImportCommands) -> Counter[str]:
    return Counter(line["text"] for line in await archived_lines(commands))


async def history(
    installation: InstallationProcesses, api: httpx.AsyncClient, chat: str
) -> list[dict[str, Any]]:
    """Return all pages, newest first."""
    headers = {"Authorization": f"Bearer {installation.token('ben')}"}
    pages: list[dict[str, Any]] = []
    before: int | None = None
    while not pages or pages[-1]["has_older"]:
        params = {"limit": 200} | ({} if before is None else {"before": before})
        answer = await api.get(f"/v1/chats/{chat}/messages", params=params, headers=headers)
        pages.append(answer.raise_for_status().json())
        before = pages[-1]["covered_range"]["after"] + 1
    return pages


@pytest.mark.long
@pytest.mark.deadline(600.0)
async def test_a_killed_sweep_is_finished_and_everything_is_read_back_once(
    installation: InstallationProcesses, s3: str, tmp_path: Path
) -> None:
    settings = await asyncio.to_thread(make_bucket, s3, installation.space)
    given = {name.removeprefix("TIDINGS_"): value for name, value in settings.items()}
    commands, path = ImportCommands(installation, settings), tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in [*header(), *chat_lines("C1", MESSAGES)]))
    await commands.run("import", "run", str(path), "--tenant", commands.tenant)
    await commands.run("retention", "set", commands.tenant, "--archive-days", "30")
    expected = Counter(f"text {number}" for number in range(1, MESSAGES + 1))

    worker = installation.run("archive", **given)
    worker.hold("archive.content_removed")
    await worker.reached("archive.content_removed", LONG_S)
    worker.popen.kill()
    assert worker.exit_code() == -signal.SIGKILL
    first = await count_archived(commands)
    assert 0 < len(first) < MESSAGES
    assert set(first.values()) == {1}

    out = await commands.run("archive", "sweep", "--tenant", commands.tenant)
    assert f"archived: {MESSAGES - len(first)}\n" in out
    lines = await archived_lines(commands)
    assert Counter(line["text"] for line in lines) == expected
    assert {line["state"] for line in lines} == {"archived"}
    verified = await commands.run("archive", "verify", "--tenant", commands.tenant)
    assert "damaged: 0\n" in verified

    [api] = installation.ready("api", **given)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{api.socket_port}") as client:
        pages = await history(installation, client, lines[0]["chat"])
    messages = [each for page in pages for each in page["entries"] if each["kind"] == "message"]
    assert [each["sequence"] for each in messages] == list(range(MESSAGES + 1, 1, -1))
    assert {(each["state"], "text" in each) for each in messages} == {("archived", False)}
    assert [page["archived_up_to"] for page in pages] == [MESSAGES + 1, MESSAGES - 199, MESSAGES - 399]
