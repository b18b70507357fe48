"""Send commands and Lua scripts to the node of their slot, follow redirections and repeat reads.

A script is a `.lua` file next to the code that uses it. It is atomic on its node and is not rolled back if it fails. The
errors that it returns start with a code of their own, never with one of `errors.REJECTION_CODES`.
"""

import asyncio
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

from tidings.platform.redis.connection import RedisConnection
from tidings.platform.redis.errors import (
    REJECTION_CODES,
    AskRedirectError,
    ClusterDownError,
    MovedRedirectError,
    NoScriptError,
    OutcomeUnknownError,
    RedisError,
    ScriptFailedError,
    ServerError,
    TryAgainError,
    UnreachableError,
)
from tidings.platform.redis.keys import Key, common_slot
from tidings.platform.redis.pipeline import Arg, Reply, pack_command
from tidings.platform.redis.topology import Topology


@dataclass(frozen=True)
class Script:
    name: str
    source: str
    key_count: int
    """Number of keys, all of one slot. Other arguments are passed in ARGV."""
    is_read: bool = False
    """The script only reads, which the server enforces. So an unanswered run may be repeated."""

    @classmethod
    def load(cls, package: str, file: str, *, keys: int, is_read: bool = False) -> "Script":
        return cls(file, files(package).joinpath(file).read_text("utf-8"), keys, is_read)

    @cached_property
    def sha(self) -> str:
        return hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()

    @property
    def by_hash(self) -> str:
        return "EVALSHA_RO" if self.is_read else "EVALSHA"

    @property
    def by_source(self) -> str:
        return "EVAL_RO" if self.is_read else "EVAL"


_ASKING = pack_command("ASKING")
_STALE_TOPOLOGY_CODES = ("READONLY", "CLUSTERDOWN")
_TRIES = 8
_RETRY_S = 0.01


class CommandRouter:
    def __init__(self, nodes: Topology) -> None:
        self._nodes = nodes
        self._loop = asyncio.get_running_loop()

    async def call(self, frame: bytes, slot: int, deadline: float, *, is_read: bool) -> Reply:
        if not self._nodes.is_known:
            await self._wait_for_nodes(deadline)
        try:
            return await self._nodes.link(slot).submit(frame, deadline)
        except RedisError as error:
            return await self._recover(error, frame, slot, deadline, is_read=is_read)

    async def run(self, script: Script, keys: Sequence[Key], args: Sequence[Arg], deadline: float) -> Reply:
        """Run a script by its hash, or by its source if the server does not have it yet."""
        slot = common_slot(keys)
        by_hash = pack_command(script.by_hash, script.sha, len(keys), *keys, *args)
        try:
            return await self.call(by_hash, slot, deadline, is_read=script.is_read)
        except NoScriptError:
            by_source = pack_command(script.by_source, script.source, len(keys), *keys, *args)
        except ServerError as error:
            raise script_error_from(script, error) from error
        try:
            return await self.call(by_source, slot, deadline, is_read=script.is_read)
        except ServerError as error:
            raise script_error_from(script, error) from error

    async def read_each(
        self, script: Script, keys: Sequence[Sequence[Key]], deadline: float
    ) -> list[Reply | RedisError]:
        """Run a script that only reads once for each list of keys. Return the reply or the error of each, in order.

        All commands are written together, and none has a task: with tasks, a look-up of 100 users took most of the CPU
        of a message to a group. A command that fails is repeated by `run`.
        """
        batch = _ReadBatch(self, script, keys, deadline)
        for n in range(len(keys)):
            batch.submit(n)
        return await batch.outcomes()

    def node_of(self, keys: Sequence[Key]) -> RedisConnection:
        return self._nodes.link(common_slot(keys))

    async def _recover(
        self, error: RedisError, frame: bytes, slot: int, deadline: float, *, is_read: bool
    ) -> Reply:
        for attempt in range(_TRIES):
            if not self._is_recoverable(error, is_read=is_read):
                raise error
            try:
                return await self._retry(error, frame, slot, deadline, attempt)
            except RedisError as next_error:
                error = next_error
        if isinstance(error, OutcomeUnknownError):
            raise error
        raise ClusterDownError(f"CLUSTERDOWN sent around {_TRIES} times: {error}")

    def _is_recoverable(self, error: RedisError, *, is_read: bool) -> bool:
        if isinstance(error, OutcomeUnknownError):
            return is_read and not error.is_late
        if isinstance(error, UnreachableError):
            self._nodes.report_unreachable()
        elif isinstance(error, ServerError) and error.code in _STALE_TOPOLOGY_CODES:
            self._nodes.mark_stale()
        return isinstance(error, MovedRedirectError | TryAgainError)

    async def _retry(
        self, error: RedisError, frame: bytes, slot: int, deadline: float, attempt: int
    ) -> Reply:
        if isinstance(error, AskRedirectError):
            return await _ask(self._nodes.at(error.address), frame, deadline)
        if isinstance(error, MovedRedirectError):
            self._nodes.moved(error.slot, error.address)
        if isinstance(error, TryAgainError):
            await asyncio.sleep(_RETRY_S * 2**attempt * random.random())  # noqa: S311 - no secret
        return await self._nodes.link(slot).submit(frame, deadline)

    async def _wait_for_nodes(self, deadline: float) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._nodes.ready()
        except TimeoutError:
            raise UnreachableError("No node of the cluster has answered yet.") from None


class _ReadBatch:
    """Runs of one reading script, in flight together."""

    def __init__(
        self, router: CommandRouter, script: Script, keys: Sequence[Sequence[Key]], deadline: float
    ) -> None:
        self._router = router
        self._script = script
        self._keys = keys
        self._deadline = deadline
        self._sent: dict[int, asyncio.Future[Reply]] = {}
        self._again: dict[int, asyncio.Task[Reply]] = {}
        self._of_node: dict[RedisConnection, list[int]] = {}

    def submit(self, n: int) -> None:
        keys = self._keys[n]
        frame = pack_command(self._script.by_hash, self._script.sha, len(keys), *keys)
        try:
            node = self._router.node_of(keys)
            self._sent[n] = node.submit(frame, self._deadline)
        except RedisError as error:
            self._repeat(n, error)
        else:
            self._of_node.setdefault(node, []).append(n)

    async def outcomes(self) -> list[Reply | RedisError]:
        try:
            await self._settle()
        except asyncio.CancelledError:
            for future in (*self._sent.values(), *self._again.values()):
                if not future.cancel():
                    _read_exception(future)
            raise
        return [_outcome(self._again.get(n) or self._sent[n]) for n in range(len(self._keys))]

    async def _settle(self) -> None:
        # A node answers in order: when the last of its commands has an outcome, all have.
        waiting = {self._sent[numbers[-1]]: numbers for numbers in self._of_node.values()}
        while waiting:
            # Race: one node is silent until the deadline, and another answers NOSCRIPT or MOVED. The repeat must not
            # wait for the silent node: it would be late, too.
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for n in [n for last in done for n in waiting.pop(last)]:
                if (error := self._sent[n].exception()) is not None:
                    self._repeat(n, error)
        await asyncio.gather(*self._again.values(), return_exceptions=True)

    def _repeat(self, n: int, error: BaseException) -> None:
        self._again[n] = asyncio.create_task(self._run_again(self._keys[n], error))

    async def _run_again(self, keys: Sequence[Key], error: BaseException) -> Reply:
        if isinstance(error, OutcomeUnknownError) and error.is_late:
            raise error
        return await self._router.run(self._script, keys, (), self._deadline)


async def _ask(link: RedisConnection, frame: bytes, deadline: float) -> Reply:
    # Both are submitted without an await between them, so no other command is sent in between. If ASKING fails, so does
    # the command.
    link.submit(_ASKING, deadline).add_done_callback(_read_exception)
    return await link.submit(frame, deadline)


def _outcome(future: asyncio.Future[Reply]) -> Reply | RedisError:
    """Return the reply or the error of Redis. Raises every other error."""
    try:
        return future.result()
    except RedisError as error:
        return error


def _read_exception(future: asyncio.Future[Reply]) -> None:
    """Read the exception, because asyncio logs those that are never read."""
    if not future.cancelled():
        future.exception()


def script_error_from(script: Script, error: ServerError) -> RedisError:
    """Return the error as it is if the script was refused before it ran, else a `ScriptFailedError`."""
    if error.code in REJECTION_CODES and "user_script" not in str(error):
        return error
    return ScriptFailedError(script.name, str(error))
