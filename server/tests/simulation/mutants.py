"""Rules of the use cases, each broken on purpose: how many seeds until the simulation says so."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from simulation.device import Device
from simulation.redis import Redis

from tidings.delivery.audience import KeptAudience
from tidings.delivery.memory import Brought
from tidings.delivery.reaching import Reaching
from tidings.delivery.side_by_side import few_at_once
from tidings.delivery.store.truth import DynamoTruth
from tidings.delivery.worker import Worker
from tidings.gateway.leases import Leases
from tidings.gateway.resume.run import Resuming
from tidings.gateway.routed import Routed
from tidings.gateway.seat import Offer, Place, Seat
from tidings.messages.history import History
from tidings.messages.ports import COMMITTED
from tidings.messages.store import DynamoLog
from tidings.messages.view import View
from tidings.relay.audit import Audit
from tidings.routing.ports import RoutesAwayError, Standing

type Patched = tuple[tuple[type, str, Callable[..., Any]], ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`instead`: what the code does then; `patched`: where."""

    name: str
    rule: str
    instead: str
    where: type
    method: str
    replaced: Callable[..., Any]
    also: Patched = ()
    """What is broken with it: a second half of the rule, or another rule that stands for it."""

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with ExitStack() as stack:
            for patched in ((self.where, self.method, self.replaced), *self.also):
                stack.enter_context(patch.object(*patched))
            yield


_put, _tried, _mark = DynamoLog._put, Device._tried, Worker._mark
_rows, _register, _write = Resuming._rows, Resuming._register, DynamoTruth._write
_hear = Routed._hear


async def _ack_first(self: DynamoLog, chat: Any, entry: Any) -> Any:
    later = asyncio.create_task(_put(self, chat, entry))
    later.add_done_callback(lambda task: task.exception())
    return COMMITTED


async def _raise_after(self: Device, operation: Any) -> bool:
    if "after" in operation.body:
        body = {**operation.body, "after": self.positions[operation.body["chat"]]}
        operation = replace(operation, body=body)
    return await _tried(self, operation)


async def _mark_first(self: Worker, written: Sequence[Any]) -> Any:
    await few_at_once((_mark(self, each) for each in written), 8)
    return (await self._reached([plan for each in written for plan in each.plans])).failed


async def _as_they_are(self: Resuming, seat: Seat, positions: object, rows: list[Any]) -> list[Any]:
    del self, seat, positions
    return rows


async def _keep_and_go(self: Reaching, kept: Sequence[Any], late: Any) -> None:
    await self._put(kept, late)


_EARLY: dict[Any, Any] = {}


async def _rows_first(self: Resuming, seat: Any) -> Any:
    _EARLY[seat] = await _rows(self, seat)
    return await _register(self, seat)


async def _rows_as_read(self: Resuming, seat: Any) -> Any:
    del self
    return _EARLY.pop(seat)


def _no_gap(self: Place, first: int, last: int) -> Offer:
    del first
    if last <= self.position:
        return Offer.OLD
    if self.is_reading:
        self.hear(last)
        return Offer.HELD
    self.position = last
    return Offer.NEXT


async def _no_fill(self: Worker, *_: Any) -> bool:
    del self
    return True


async def _no_condition(self: DynamoTruth, pattern: Any, key: Any, writing: Any) -> Any:
    spelled = writing.spelled._replace(condition=None)
    return await _write(self, pattern, key, writing._replace(spelled=spelled))


def _deaf_to_standing(self: Routed, heard: Any) -> None:
    if not isinstance(heard, Standing):
        _hear(self, heard)


def _not_noted(self: Seat, chat: Any, first: int, last: int) -> Offer:
    return self._place(chat, first).offered(first, last) if self.is_live else Offer.HELD


def _any_standing(self: View[Any], user: Any, standing: Any, asked_after: int) -> bool:
    del asked_after
    self.standings[user] = standing
    return True


def _follow_blindly(self: KeptAudience, chat: Any, run: Any) -> None:
    if (kept := self._kept.get(chat)) is not None:
        kept.as_of = max(kept.as_of, run[-1].sequence)


def _remove_any(self: Redis, device: Any, gateway: Any, epoch: int) -> bool:
    del gateway, epoch
    return self.routes.get(device[:2], {}).pop(device.device, None) is not None


def _nothing(*_: Any, **__: Any) -> None:
    """Left out."""


async def _nothing_async(*_: Any, **__: Any) -> None:
    """Left out."""


async def _never(*_: Any, **__: Any) -> bool:
    return False


async def _replay_for_ever(self: Resuming, seat: Any) -> None:
    """As it was before a seed found it."""
    while behind := seat.behind():
        for chat in behind:
            await self._parts.ranges.catch_up(seat, chat, seat.places[chat])
    seat.is_live = True


async def _join_blindly(self: Routed, job: Any) -> None:
    """As it was before a seed found it."""
    seat, chat, _ = job
    if chat in seat.rooms:
        return
    if not await self.rooms.enter(seat, chat):
        seat.unheard[chat] = None
    await self._compare(seat.chat(chat), [seat])


async def _late_alone(self: Worker, done: Any) -> None:
    """As it was before a seed found it."""
    behind = self._memory.of(done.chat).before(done.first)
    if behind < done.first - 1:
        await self._from_log(done.chat, behind, done.first - 1)
        done = done._replace(first=behind + 1)
    with suppress(RoutesAwayError):
        self._memory.of(done.chat).finished(await self._stores.marks.mark(done.chat, done.first, done.last))


def _as_written(self: Brought, first: int, *, is_known: bool) -> int:
    """As it was before a seed found it."""
    del is_known
    return min(self.written or first - 1, first - 1)


EQUIVALENT = {
    "any-standing": "equivalent: no process passes the appends of others to a log view, so the view does not advance while "
    "a row is read",
    "no-second-look": "equivalent: the worker that missed the route has already written the chat row, and the gateway reads "
    "it. The second look-up only avoids an offline event for a user who has connected meanwhile",
}
"""Not to be caught, and why. In the models both fall: `filling.KEPT`, `small.NO_SECOND_LOOKUP`."""

type Broken = tuple[str, str, str, type, str, Callable[..., Awaitable[Any] | Any]]

_BROKEN: tuple[Broken, ...] = (
    ("ack-first", "An ack means committed", "acknowledges before the put", DynamoLog, "_put", _ack_first),
    ("after-raised", "`after` is the same in every attempt", "each attempt sends its current position", Device, "_tried",
     _raise_after),
    ("no-duplicate-check", "Duplicates are searched before the put", "the log view finds no key", View, "find",
     _nothing),
    ("any-standing", "A member status is cached only if no membership entry has passed since it was requested", "it is always cached", View,
     "learn_standing", _any_standing),
    ("mark-first", "The delivery checkpoint is written after the pushes", "before them", Worker, "_finish", _mark_first),
    ("no-fill", "Earlier unprocessed entries are processed first", "the gap is skipped", Worker, "_fill", _no_fill),
    ("no-second-look", "Routes are looked up again after the offline-queue put", "they are not", Reaching, "_keep",
     _keep_and_go),
    ("row-unconditional", "Chat rows only move forward", "written without a condition", DynamoTruth, "_write",
     _no_condition),
    ("kept-audience", "An entry that changes members invalidates the cached audience", "it stays cached", KeptAudience,
     "follow", _follow_blindly),
    ("no-gap", "A push ahead of the next sequence makes the gateway read the missing range", "it is sent as it is", Place, "offered",
     _no_gap),
    ("not-noted", "Pushes during a resume are recorded", "they are dropped", Seat, "offered", _not_noted),
    ("gone-ignored", "A missing route is registered again, and its device resumes", "nothing is done", Leases,
     "_renew", _nothing_async),
    ("deaf-to-standing", "After a lost channel, all devices resume", "none does", Routed, "_hear",
     _deaf_to_standing),
    ("remove-any", "A stale route is deleted only if its epoch matches", "it is always deleted", Redis, "remove",
     _remove_any),
    ("no-relay", "The relay republishes unprocessed entries", "it does not", Audit, "_try_again", _nothing_async),
    ("marks-not-begun", "The relay recreates a lost delivery checkpoint below unprocessed entries", "it does not", Audit,
     "_begin_marks", _nothing_async),
    ("stays-once", "Membership intervals are read again after the log", "only before it", History, "_has_gone",
     _never),
    ("joins-blindly", "A removed member does not subscribe to a chat that became large", "they do, if the push arrives late",
     Routed, "_join", _join_blindly),
    ("late-after", "Deferred entries are pushed before later ones", "after them", Brought, "begins", _as_written),
    ("late-alone", "Deferred entries are pushed together with later ones", "separately", Worker, "_mark", _late_alone),
    ("replay-for-ever", "A resume ends when its device disconnects", "its replay continues", Resuming, "_replay",
     _replay_for_ever),
)  # fmt: skip

MUTANTS = {name: Mutant(name, *rest) for name, *rest in _BROKEN}  # type: ignore[arg-type]
MUTANTS["rows-first"] = Mutant(
    "rows-first",
    "A route is registered before the chat rows are read",
    "read, then registered",
    Resuming,
    "_register",
    _rows_first,
    also=((Resuming, "_rows", _rows_as_read),),
)
MUTANTS["listens-again"] = Mutant(
    "listens-again",
    "A removed member of a large chat who has read the leave in the log does not subscribe again",
    "they do",
    Routed,
    "_left_before",
    _nothing,
    also=((Resuming, "_without_left", _as_they_are),),
)
