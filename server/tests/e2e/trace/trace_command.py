"""`tidings trace` as an operator runs it: a process with the settings of the installation."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from fixtures.fork_server import TIDINGS
from fixtures.installation_processes import InstallationProcesses

_COMMAND = [*TIDINGS, "trace"]
LONG_S = 150.0


class TraceOutput(NamedTuple):
    exit_code: int
    text: str
    stderr: str

    @property
    def trace(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def outcome(self) -> str:
        found: str = self.trace["outcome"]
        return found

    def of(self, user: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self.trace["recipients"] if each["user"] == user)
        return found


async def ask(installation: InstallationProcesses, *words: str, **changes: str) -> TraceOutput:
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        *words,
        cwd=installation.directory,
        env=installation.environment(**changes),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return TraceOutput(process.returncode or 0, out.decode(), err.decode())


async def trace(
    installation: InstallationProcesses, chat: str, sequence: int, *words: str, **changes: str
) -> TraceOutput:
    traced = await ask(
        installation, f"{installation.space.tenant}#{chat}.{sequence}", "--json", *words, **changes
    )
    assert traced.text, traced.stderr
    return traced


async def until_traced(
    installation: InstallationProcesses,
    chat: str,
    sequence: int,
    holds: Callable[[TraceOutput], bool],
    *words: str,
) -> TraceOutput:
    """Trace until the condition is true: processing follows the commit."""
    ends_at = asyncio.get_running_loop().time() + LONG_S
    while True:
        traced = await trace(installation, chat, sequence, *words)
        if holds(traced):
            return traced
        assert asyncio.get_running_loop().time() < ends_at, traced.text


def state_of(user: str, state: str) -> Callable[[TraceOutput], bool]:
    return lambda traced: traced.of(user)["state"] == state
