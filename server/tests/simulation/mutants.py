"""Rules of the use cases, each broken on purpose, to measure how many seeds the simulation needs to detect it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from simulation.device import Device
from simulation.redis import Redis

from tidings.bus.ports import Subscribed
from tidings.delivery.audience import CachedAudience
from tidings.delivery.fanout import Fanout
from tidings.delivery.progress import ChatProgress
from tidings.delivery.store.chat_row_writer import DynamoChatRowWriter
from tidings.delivery.worker import DeliveryWorker
from tidings.gateway.connected_device import ChatPosition, ConnectedDevice, PushAction
from tidings.gateway.hub import LeaseRenewer
from tidings.gateway.node import GatewayNode
from tidings.gateway.resume.resume import ResumeService
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.errors import UnavailableError
from tidings.messages.history import History
from tidings.messages.ports import COMMITTED
from tidings.messages.rules import LogView
from tidings.messages.store import DynamoMessageLog
from tidings.relay.audit import Audit
from tidings.schema.tables.patterns.delivery import MARK_QUIET

type Patched = tuple[tuple[type, str, Callable[..., Any]], ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant. `instead` describes its behaviour; `patched` is the replaced attribute."""

    name: str
    rule: str
    instead: str
    where: type
    method: str
    replaced: Callable[..., Any]
    also: Patched = ()
    """Further replacements: a second part of the rule, or another rule that has the same effect."""

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with ExitStack() as stack:
            for patched in ((self.where, self.method, self.replaced), *self.also):
                stack.enter_context(patch.object(*patched))
            yield


_put, _tried, _mark = DynamoMessageLog._put, Device._tried, DeliveryWorker._checkpoint
_rows, _register, _write = ResumeService._rows, ResumeService._register, DynamoChatRowWriter._write
_raise_head, _mark_quiet = DynamoChatRowWriter.raise_head, DynamoChatRowWriter._mark
_hear = GatewayNode._on_bus_event


async def _ack_first(self: DynamoMessageLog, chat: Any, entry: Any) -> Any:
    later = asyncio.create_task(_put(self, chat, entry))
    later.add_done_callback(lambda task: task.exception())
    return COMMITTED


async def _raise_after(self: Device, operation: Any) -> bool:
    if "after" in operation.body:
        body = {**operation.body, "after": self.positions[operation.body["chat"]]}
        operation = replace(operation, body=body)
    return await _tried(self, operation)


async def _mark_first(self: DeliveryWorker, written: Sequence[Any]) -> Any:
    await gather_limited((_mark(self, each) for each in written), 8)
    return (await self._push([plan for each in written for plan in each.plans])).failed


async def _as_they_are(
    self: ResumeService, device: ConnectedDevice, positions: object, rows: list[Any]
) -> list[Any]:
    del self, device, positions
    return rows


async def _keep_and_go(self: Fanout, kept: Sequence[Any], late: Any) -> list[Any]:
    return list(await self._put(kept, late))


_EARLY: dict[Any, Any] = {}


async def _rows_first(self: ResumeService, device: Any) -> Any:
    _EARLY[device] = await _rows(self, device)
    return await _register(self, device)


async def _rows_as_read(self: ResumeService, device: Any) -> Any:
    del self
    return _EARLY.pop(device)


def _no_gap(self: ChatPosition, first: int, last: int) -> PushAction:
    del first
    if last <= self.position:
        return PushAction.DUPLICATE
    if self.is_reading:
        self.on_push(last)
        return PushAction.DEFER
    self.position = last
    return PushAction.SEND


async def _no_fill(self: DeliveryWorker, *_: Any, is_pushed: bool) -> bool:
    del self
    return is_pushed


async def _no_condition(self: DynamoChatRowWriter, pattern: Any, key: Any, writing: Any) -> Any:
    expression = writing.expression._replace(condition=None)
    return await _write(self, pattern, key, writing._replace(expression=expression))


async def _end_quiet(self: DynamoChatRowWriter, chat: Any, first: int, update: Any, **_: bool) -> Any:
    return await _raise_head(self, chat, first, update, ends_quiet=True)


async def _copy_only(self: DynamoChatRowWriter, pattern: Any, *given: Any) -> None:
    if pattern is not MARK_QUIET:
        await _mark_quiet(self, pattern, *given)


def _deaf_to_standing(self: GatewayNode, event: Any) -> None:
    if not isinstance(event, Subscribed):
        _hear(self, event)


def _not_noted(self: ConnectedDevice, chat: Any, first: int, last: int) -> PushAction:
    return self._position(chat, first).offered(first, last) if self.is_live else PushAction.DEFER


def _any_standing(self: LogView[Any], user: Any, status: Any, asked_after: int) -> bool:
    del asked_after
    self.statuses[user] = status
    return True


def _follow_blindly(self: CachedAudience, chat: Any, run: Any) -> None:
    if (kept := self._cache.get(chat)) is not None:
        kept.as_of = max(kept.as_of, run[-1].sequence)


def _remove_any(self: Redis, device: Any, gateway: Any, epoch: int) -> bool:
    del gateway, epoch
    return self.routes.get(device[:2], {}).pop(device.device, None) is not None


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


async def _nothing_async(*_: Any, **__: Any) -> None:
    """Do nothing."""


async def _never(*_: Any, **__: Any) -> bool:
    return False


async def _replay_for_ever(self: ResumeService, device: Any) -> None:
    """The code before a seed found the bug."""
    while behind := device.behind():
        for chat in behind:
            await self._parts.ranges.catch_up(device, chat, device.positions[chat])
    device.is_live = True


async def _join_blindly(self: GatewayNode, job: Any) -> None:
    """The code before a seed found the bug."""
    device, chat, _ = job
    if chat in device.large_chat_channels:
        return
    if not await self.large_chats.enter(device, chat):
        device.unconfirmed_channels[chat] = None
    await self._compare(device.chat(chat), [device])


async def _late_alone(self: DeliveryWorker, done: Any) -> None:
    """The code before a seed found the bug."""
    behind = self._progress.get(done.chat).processed_before(done.first)
    if behind < done.first - 1:
        await self._process_from_log(done.chat, behind, done.first - 1)
        done = done._replace(first=behind + 1)
    with suppress(UnavailableError):
        self._progress.get(done.chat).mark_processed(
            await self._deps.checkpoints.advance(done.chat, done.first, done.last)
        )


def _as_written(self: ChatProgress, first: int, *, checkpoint_known: bool) -> int:
    """The code before a seed found the bug."""
    del checkpoint_known
    return min(self.rows_written or first - 1, first - 1)


EQUIVALENT = {
    "any-standing": "equivalent: no process passes the appends of others to a log view, so the view does not advance while "
    "a row is read",
    "no-second-look": "equivalent: the worker that missed the route has already written the chat row, and the gateway reads "
    "it. The second look-up only avoids an offline event for a user who has connected meanwhile",
}
"""Mutants that the simulation cannot catch, with the reason.

The models catch both: `filling.KEPT`, `small.NO_SECOND_LOOKUP`.
"""

type Broken = tuple[str, str, str, type, str, Callable[..., Awaitable[Any] | Any]]

_BROKEN: tuple[Broken, ...] = (
    ("ack-first", "An ack means committed", "acknowledges before the put", DynamoMessageLog, "_put", _ack_first),
    ("after-raised", "`after` is the same in every attempt", "each attempt sends its current position", Device, "_tried",
     _raise_after),
    ("no-duplicate-check", "Duplicates are searched before the put", "the log view finds no key", LogView, "find",
     _nothing),
    ("any-standing", "A member status is cached only if no membership entry has passed since it was requested", "it is always cached", LogView,
     "learn_status", _any_standing),
    ("mark-first", "The delivery checkpoint is written after the pushes", "before them", DeliveryWorker, "_finish", _mark_first),
    ("no-fill", "Earlier unprocessed entries are processed first", "the gap is skipped", DeliveryWorker, "_fill_gaps", _no_fill),
    ("no-second-look", "Routes are looked up again after the offline-queue put", "they are not", Fanout, "_queue_offline",
     _keep_and_go),
    ("row-unconditional", "Chat rows only move forward", "written without a condition", DynamoChatRowWriter, "_write",
     _no_condition),
    ("quiet-rows-stay", "Rows of members are raised before the head of a quiet group", "only the head is raised",
     DynamoChatRowWriter, "raise_head", _end_quiet),
    ("quiet-unmarked", "A head is marked before its position is copied into a row", "it is not", DynamoChatRowWriter,
     "_mark", _copy_only),
    ("kept-audience", "An entry that changes members invalidates the cached audience", "it stays cached", CachedAudience,
     "follow", _follow_blindly),
    ("no-gap", "A push ahead of the next sequence makes the gateway read the missing range", "it is sent as it is", ChatPosition, "offered",
     _no_gap),
    ("not-noted", "Pushes during a resume are recorded", "they are dropped", ConnectedDevice, "offered", _not_noted),
    ("gone-ignored", "A missing route is registered again, and its device resumes", "nothing is done", LeaseRenewer,
     "_renew", _nothing_async),
    ("deaf-to-standing", "After a lost channel, all devices resume", "none does", GatewayNode, "_on_bus_event",
     _deaf_to_standing),
    ("remove-any", "A stale route is deleted only if its epoch matches", "it is always deleted", Redis, "remove",
     _remove_any),
    ("no-relay", "The relay republishes unprocessed entries", "it does not", Audit, "_republish", _nothing_async),
    ("marks-not-begun", "The relay recreates a lost delivery checkpoint below unprocessed entries", "it does not", Audit,
     "_create_checkpoints", _nothing_async),
    ("stays-once", "Membership intervals are read again after the log", "only before it", History, "_was_removed",
     _never),
    ("joins-blindly", "A removed member does not subscribe to a chat that became large", "they do, if the push arrives late",
     GatewayNode, "_join", _join_blindly),
    ("late-after", "Deferred entries are pushed before later ones", "after them", ChatProgress, "start_after", _as_written),
    ("late-alone", "Deferred entries are pushed together with later ones", "separately", DeliveryWorker, "_checkpoint", _late_alone),
    ("replay-for-ever", "A resume ends when its device disconnects", "its replay continues", ResumeService, "_replay",
     _replay_for_ever),
)  # fmt: skip

MUTANTS = {name: Mutant(name, *rest) for name, *rest in _BROKEN}  # type: ignore[arg-type]
MUTANTS["rows-first"] = Mutant(
    "rows-first",
    "A route is registered before the chat rows are read",
    "read, then registered",
    ResumeService,
    "_register",
    _rows_first,
    also=((ResumeService, "_rows", _rows_as_read),),
)
MUTANTS["listens-again"] = Mutant(
    "listens-again",
    "A removed member of a large chat who has read the leave in the log does not subscribe again",
    "they do",
    GatewayNode,
    "_on_late_leave",
    _nothing,
    also=((ResumeService, "_without_removed", _as_they_are),),
)
