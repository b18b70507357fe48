"""`tidings user export` in a process of its own: it is killed with SIGKILL, and continues when it runs again."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fixtures import dying_export
from fixtures.engines import Namespace
from fixtures.export_env import Archive
from fixtures.loops import AsyncFixture
from fixtures.tables import REGION, Tables
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.kernel.ids import ChatKey

MESSAGES = 5
STEPS = 8
NEVER = 10_000


@pytest.fixture
def settings(tables: Tables, tmp_path: Path) -> dict[str, str]:
    return {
        "TIDINGS_INSTALLATION": "development",
        "TIDINGS_DYNAMO_ENDPOINT": tables.url,
        "TIDINGS_DYNAMO_REGION": REGION,
        "TIDINGS_DYNAMO_TABLE_PREFIX": tables.prefix,
        "TIDINGS_ENCRYPTION_KEY_FILE": str(tmp_path / "tidings.key"),
    }


@pytest.fixture
def chats(use_cases: AsyncFixture[UseCaseEnv]) -> AsyncFixture[list[ChatKey]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[list[ChatKey]]:
        async with use_cases.open() as env:
            made = [await env.group(BEN) for _ in range(2)]
            for chat in made:
                for number in range(MESSAGES):
                    await env.send(chat, ANNA, f"m{number}")
            yield made

    return AsyncFixture(opened)


async def run(at: int, tenant: str, user: str, directory: Path, settings: dict[str, str]) -> tuple[int, str]:
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        dying_export.__file__,
        *(str(at), tenant, user, "--to", "out.zip"),
        cwd=directory,
        env=settings | {"PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await program.communicate()
    return program.returncode or 0, printed.decode()


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.long)])
async def test_a_command_that_is_killed_at_each_step_continues(
    chats: list[ChatKey], settings: dict[str, str], space: Namespace, tmp_path: Path, kills: int
) -> None:
    """Every second process dies between the parts of a step and its cursor, the others after the cursor.

    The export has eight steps. With 20 kills, the last processes die while they write the archive.
    """
    for kill in range(kills):
        code, printed = await run(1 + kill % 2, space.tenant, BEN, tmp_path, settings)
        assert code == -signal.SIGKILL, printed
        assert not (tmp_path / "out.zip").exists()
    code, printed = await run(NEVER, space.tenant, BEN, tmp_path, settings)
    assert code == 0, printed
    archive = Archive(tmp_path / "out.zip")
    lines = [json.loads(line) for line in archive.files["messages.jsonl"].splitlines()]
    for chat in chats:
        sequences = [line["sequence"] for line in lines if line["chat"] == chat.chat]
        assert sequences == list(range(1, MESSAGES + 2))
    assert not (tmp_path / "out.zip.partial").exists()
    assert (tmp_path / "out.zip").stat().st_mode & 0o077 == 0


@pytest.mark.long
async def test_a_command_that_is_killed_in_the_archive_writes_it_again(
    chats: list[ChatKey], settings: dict[str, str], space: Namespace, tmp_path: Path
) -> None:
    code, printed = await run(2 * STEPS + 3, space.tenant, BEN, tmp_path, settings)
    assert code == -signal.SIGKILL, printed
    cursor = json.loads((tmp_path / "out.zip.partial" / "cursor.json").read_bytes())
    assert (cursor["step"], cursor["phase"]) == (STEPS, "collected")
    assert not (tmp_path / "out.zip").exists()
    code, printed = await run(NEVER, space.tenant, BEN, tmp_path, settings)
    assert code == 0, printed
    assert len(Archive(tmp_path / "out.zip").lines("chats.jsonl")) == len(chats)
    again = await run(NEVER, space.tenant, BEN, tmp_path, settings)
    assert "exists" in again[1], "a finished archive is not replaced"


async def test_an_unknown_user_is_an_error(
    chats: list[ChatKey], settings: dict[str, str], space: Namespace, tmp_path: Path
) -> None:
    assert chats
    code, printed = await run(NEVER, space.tenant, "nobody", tmp_path, settings)
    assert code != 0
    assert "nobody" in printed
    assert not (tmp_path / "out.zip").exists()
    assert not (tmp_path / "out.zip.partial").exists()
