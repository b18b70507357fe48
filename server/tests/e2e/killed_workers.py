"""Kill workers at one step after the other, as `kill -9` does."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence

from fixtures.installation_processes import InstallationProcesses, ProcessKind
from fixtures.media_env import make_bucket

SHORT_STEPS = {"FAILPOINTS_SHORT_STEPS": "1"}


async def bucket_settings(installation: InstallationProcesses, s3: str) -> dict[str, str]:
    """Create the bucket of an installation, and return the settings of processes that use it."""
    made = await asyncio.to_thread(make_bucket, s3, installation.space)
    return {name.removeprefix("TIDINGS_"): value for name, value in made.items()}


def clock_ahead(seconds: int) -> dict[str, str]:
    return {"FAILPOINTS_CLOCK_OFFSET_S": str(seconds)}


async def kill_at_each(
    installation: InstallationProcesses,
    kind: ProcessKind,
    steps: Sequence[str],
    settings: Mapping[str, str] = {},
    *,
    ahead_s: int = 0,
    later_s: int = 0,
) -> None:
    """Run a worker for each step, and kill it there. The next one starts afterwards, with a clock that is `later_s` ahead."""
    for number, step in enumerate(steps):
        clock = clock_ahead(ahead_s + number * later_s)
        worker = installation.run(kind, **SHORT_STEPS, **clock, **settings)
        worker.hold(step)
        await worker.reached(step)
        worker.popen.kill()
        assert worker.exit_code() == -signal.SIGKILL


async def kill_when(
    installation: InstallationProcesses,
    kind: ProcessKind,
    is_reached: Callable[[], Awaitable[bool]],
    settings: Mapping[str, str] = {},
    *,
    ahead_s: int = 0,
) -> None:
    """Run a worker until a condition holds, and kill it then."""
    worker = installation.run(kind, **SHORT_STEPS, **clock_ahead(ahead_s), **settings)
    await wait_until(is_reached)
    worker.popen.kill()
    assert worker.exit_code() == -signal.SIGKILL


async def wait_until(is_reached: Callable[[], Awaitable[bool]], within_s: float = 120.0) -> None:
    async with asyncio.timeout(within_s):
        while not await is_reached():  # noqa: ASYNC110 - other processes change it
            await asyncio.sleep(0.2)
