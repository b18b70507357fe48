"""Derive the delivery status of messages in watched chats, by the server's rule. Without I/O.

The inputs are `receipts` pushes and entries of the log: joins, leaves and messages. Watermarks only move forward. There
are no receipts in large chats, so the status there stays SENT. The server does not send membership intervals that ended
before the chat was watched: a member who rejoined counts from the last join.
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
    """The delivery status of one message: the lowest status of all recipients who are still members.

    `has_receipts` is False if no watermarks are known: in a large chat, or one that is not watched.
    """

    status: DeliveryStatus = DeliveryStatus.SENT
    delivered_to: tuple[str, ...] = ()
    read_by: tuple[str, ...] = ()
    has_receipts: bool = True


@dataclass(slots=True)
class _Interval:
    """A membership interval, from the join entry to the leave entry.

    `until` is `inf` if the member has left, and the leave entry has not arrived yet.
    """

    since: int
    until: float | None = None


@dataclass(slots=True)
class _Member:
    delivered: int = 0
    read: int = 0
    intervals: list[_Interval] = field(default_factory=list)

    @property
    def is_member(self) -> bool:
        return bool(self.intervals) and self.intervals[-1].until is None

    def was_given(self, sequence: int) -> bool:
        return any(s.since <= sequence and (s.until is None or sequence <= s.until) for s in self.intervals)

    def on_join(self, since: int) -> bool:
        if self.is_member and self.intervals[-1].since >= since:
            return False
        if self.is_member:
            self.intervals[-1].until = since
        self.intervals.append(_Interval(since))
        return True

    def on_leave(self, at: float) -> bool:
        if (
            not self.intervals
            or at < self.intervals[-1].since
            or at >= (self.intervals[-1].until or inf) != inf
        ):
            return False
        was_member, self.intervals[-1].until = self.is_member, at
        return was_member

    def got(self, delivered: int, read: int) -> bool:
        """Advance the watermarks. A read message is also delivered. Return whether one changed."""
        before = self.delivered, self.read
        self.read = max(self.read, read)
        self.delivered = max(self.delivered, delivered, self.read)
        return before != (self.delivered, self.read)


@final
class ChatReceipts:
    """The receipts of one chat. Methods that apply a change return whether the state changed."""

    def __init__(self) -> None:
        self._members: dict[str, _Member] = {}
        self._is_counted = False

    @property
    def members(self) -> tuple[str, ...]:
        """The current members, as far as known."""
        return tuple(sorted(user for user, member in self._members.items() if member.is_member))

    def apply_receipts(self, receipts: Receipts) -> bool:
        if receipts.is_snapshot:
            return self._replace(receipts.members)
        return _apply_all(self._got(each) for each in receipts.members)

    def saw(self, entry: Entry) -> bool:
        """Apply an entry of the log. Ignored before the first snapshot."""
        if not self._is_counted:
            return False
        match entry.kind:
            case "join" | "create":
                return _apply_all(self._of(user).on_join(entry.sequence) for user in entry.users)
            case "leave":
                leaving = entry.users or (entry.by,)
                return _apply_all(self._of(user).on_leave(entry.sequence) for user in leaving)
            case "message":
                return self._of(entry.by).got(entry.sequence, entry.sequence)
        return False

    def status(self, sequence: int, sender: str) -> MessageStatus:
        if not self._is_counted:
            return MessageStatus(has_receipts=False)
        given = {u: m for u, m in self._members.items() if u != sender and m.was_given(sequence)}
        return MessageStatus(
            status=_lowest_status(sequence, [member for member in given.values() if member.is_member]),
            delivered_to=_names(given, lambda member: member.delivered >= sequence),
            read_by=_names(given, lambda member: member.read >= sequence),
        )

    def _replace(self, snapshot: Sequence[MemberWatermarks]) -> bool:
        """Apply a snapshot. Absent users are not members. Watermarks do not move back: a snapshot may be late."""
        current = {each.user for each in snapshot}
        left = _apply_all(
            member.on_leave(inf) for user, member in self._members.items() if user not in current
        )
        changed = _apply_all(self._got(each, is_member=True) for each in snapshot)
        had_receipts, self._is_counted = self._is_counted, True
        return changed or left or not had_receipts

    def _got(self, watermarks: MemberWatermarks, *, is_member: bool = False) -> bool:
        member = self._of(watermarks.user)
        joined = (is_member or watermarks.since is not None) and member.on_join(watermarks.since or 0)
        return member.got(watermarks.delivered or 0, watermarks.read or 0) or joined

    def _of(self, user: str) -> _Member:
        return self._members.setdefault(user, _Member())


def _apply_all(changes: Iterable[bool]) -> bool:
    """Apply all changes; return whether one had an effect. (`any` would stop at the first.)"""
    return True in list(changes)


def _lowest_status(sequence: int, members: Sequence[_Member]) -> DeliveryStatus:
    if not members or min(member.delivered for member in members) < sequence:
        return DeliveryStatus.SENT
    return (
        DeliveryStatus.DELIVERED if min(member.read for member in members) < sequence else DeliveryStatus.READ
    )


def _names(given: dict[str, _Member], holds: Callable[[_Member], bool]) -> tuple[str, ...]:
    return tuple(sorted(user for user, member in given.items() if holds(member)))


@final
class ReceiptTracker:
    """The receipts of all watched chats."""

    def __init__(self) -> None:
        self._chats: dict[str, ChatReceipts] = {}

    def of(self, chat: str) -> ChatReceipts:
        return self._chats.setdefault(chat, ChatReceipts())

    def clear(self, chat: str | None = None) -> None:
        """Delete the receipts of one chat, or of all: after a restore, sequences belong to other entries."""
        if chat is None:
            self._chats.clear()
        else:
            self._chats.pop(chat, None)
