"""SENT, DELIVERED, READ of messages in the chats that are watched, by the server's own rule. Pure.

What is known comes from `receipts` and from the log: who joins, leaves or writes. Watermarks only go forward. Of a large
chat the server tells nothing, and so a tick there stays SENT. Stays that were over before the chat was watched are not
told: who came back since counts from his return.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import final

from tidings_wire.frames.ephemeral import MemberWatermarks, Receipts
from tidings_wire.frames.history import Entry


class DeliveryStatus(StrEnum):
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """Of one message: its tick is that of all it was for and who are still there.

    `has_receipts` False: nobody's watermarks are known here, as in a large chat, or one that is not watched.
    """

    status: DeliveryStatus = DeliveryStatus.SENT
    delivered_to: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    has_receipts: bool = True


@dataclass(slots=True)
class _Stay:
    """From the entry that let him in to the one that took him out; `inf`: out, by an entry that is still to come."""

    since: int
    until: float | None = None


@dataclass(slots=True)
class _Member:
    delivered: int = 0
    read: int = 0
    intervals: list[_Stay] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        return bool(self.intervals) and self.intervals[-1].until is None

    def was_given(self, sequence: int) -> bool:
        return any(s.since <= sequence and (s.until is None or sequence <= s.until) for s in self.intervals)

    def on_join(self, since: int) -> bool:
        if self.is_there and self.intervals[-1].since >= since:
            return False
        if self.is_there:
            self.intervals[-1].until = since
        self.intervals.append(_Stay(since))
        return True

    def on_leave(self, at: float) -> bool:
        if (
            not self.intervals
            or at < self.intervals[-1].since
            or at >= (self.intervals[-1].until or inf) != inf
        ):
            return False
        was_there, self.intervals[-1].until = self.is_there, at
        return was_there

    def got(self, delivered: int, read: int) -> bool:
        """Who has read it has it."""
        before = self.delivered, self.read
        self.read = max(self.read, read)
        self.delivered = max(self.delivered, delivered, self.read)
        return before != (self.delivered, self.read)


@final
class ChatReceipts:
    """Of one chat. Every change says if there was one."""

    def __init__(self) -> None:
        self._members: dict[str, _Member] = {}
        self._is_counted = False

    @property
    def members(self) -> tuple[str, ...]:
        """Who is there now, as far as is known."""
        return tuple(sorted(user for user, member in self._members.items() if member.is_there))

    def apply_receipts(self, receipts: Receipts) -> bool:
        if receipts.is_snapshot:
            return self._replace(receipts.members)
        return _some(self._got(each) for each in receipts.members)

    def saw(self, entry: Entry) -> bool:
        """An entry of the log. Before the first whole list there is nothing to keep up with."""
        if not self._is_counted:
            return False
        match entry.kind:
            case "join" | "create":
                return _some(self._of(user).on_join(entry.sequence) for user in entry.users)
            case "leave":
                gone = entry.users or (entry.by,)
                return _some(self._of(user).on_leave(entry.sequence) for user in gone)
            case "message":
                return self._of(entry.by).got(entry.sequence, entry.sequence)
        return False

    def status(self, sequence: int, sender: str) -> MessageStatus:
        if not self._is_counted:
            return MessageStatus(has_receipts=False)
        given = {u: m for u, m in self._members.items() if u != sender and m.was_given(sequence)}
        return MessageStatus(
            status=_tick(sequence, [member for member in given.values() if member.is_there]),
            delivered_to=_names(given, lambda member: member.delivered >= sequence),
            read_by=_names(given, lambda member: member.read >= sequence),
        )

    def _replace(self, told: Sequence[MemberWatermarks]) -> bool:
        """Who is not among them is not a member now. Marks do not go back: a list may be late."""
        there = {each.user for each in told}
        gone = _some(member.on_leave(inf) for user, member in self._members.items() if user not in there)
        changed = _some(self._got(each, is_there=True) for each in told)
        had_receipts, self._is_counted = self._is_counted, True
        return changed or gone or not had_receipts

    def _got(self, told: MemberWatermarks, *, is_there: bool = False) -> bool:
        member = self._of(told.user)
        came = (is_there or told.since is not None) and member.on_join(told.since or 0)
        return member.got(told.delivered or 0, told.read or 0) or came

    def _of(self, user: str) -> _Member:
        return self._members.setdefault(user, _Member())


def _some(changes: Iterable[bool]) -> bool:
    """All of them are made; was one a change?"""
    return True in list(changes)


def _tick(sequence: int, staying: Sequence[_Member]) -> DeliveryStatus:
    if not staying or min(member.delivered for member in staying) < sequence:
        return DeliveryStatus.SENT
    return (
        DeliveryStatus.DELIVERED if min(member.read for member in staying) < sequence else DeliveryStatus.READ
    )


def _names(given: dict[str, _Member], holds: Callable[[_Member], bool]) -> tuple[str, ...]:
    return tuple(sorted(user for user, member in given.items() if holds(member)))


@final
class ReceiptTracker:
    """Of all chats that are watched."""

    def __init__(self) -> None:
        self._chats: dict[str, ChatReceipts] = {}

    def of(self, chat: str) -> ChatReceipts:
        return self._chats.setdefault(chat, ChatReceipts())

    def clear(self, chat: str | None = None) -> None:
        """One chat, or all: sequences of another epoch mean other entries."""
        if chat is None:
            self._chats.clear()
        else:
            self._chats.pop(chat, None)
