"""Raise a user's watermarks, and derive delivery statuses from them.

`read` belongs to the user, `delivered` to their device that is furthest. Both only move forward.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidings.chats.model import Membership, require_membership
from tidings.chats.ports import ChatStore
from tidings.delivery import rules
from tidings.delivery.chat_list import with_heads
from tidings.delivery.model import (
    ChatRow,
    DeliveryStatus,
    LogPosition,
    MemberProgress,
    MessageStatus,
    WatermarkAdvanced,
    WatermarkUpdate,
)
from tidings.delivery.ports import AudienceReader, ChatRowReader, OnRead, OnWatermarkAdvanced, WatermarkStore
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry, may_see
from tidings.messages.ports import LogReader


class WatermarkResult(NamedTuple):
    """The watermark after the call, possibly further than requested, and the unread count."""

    sequence: int
    unread: int


class WatermarkService:
    """`on_advanced` is called after the write of every advance, `on_read` before a read is answered."""

    def __init__(
        self,
        watermarks: WatermarkStore,
        rows: ChatRowReader,
        chats: ChatStore,
        log: LogReader,
        on_advanced: OnWatermarkAdvanced,
        *,
        on_read: OnRead | None = None,
    ) -> None:
        self._watermarks = watermarks
        self._row_reader = rows
        self._chats = chats
        self._log = log
        self._on_advanced = on_advanced
        self._on_read = on_read

    async def read(self, chat: ChatKey, user: UserId, sequence: int) -> WatermarkResult:
        """Raise the read watermark. Raises `position_ahead` above the head."""
        position = await self._position(chat, user, sequence)
        update = await self._watermarks.raise_read(chat, user, position)
        row = await self._raised(chat, user, update, is_read=True)
        # Also if the watermark has not advanced: the process of an earlier attempt may have died after its write.
        if self._on_read is not None and row.read_up_to == sequence:
            await self._on_read(chat, user, sequence)
        return WatermarkResult(row.read.sequence if row.read else 0, rules.unread_count(row))

    async def delivered(self, chat: ChatKey, user: UserId, sequence: int) -> WatermarkResult:
        """Raise the delivered watermark. Raises `position_ahead` above the head."""
        position = await self._position(chat, user, sequence)
        row = await self._raised(chat, user, await self._watermarks.raise_delivered(chat, user, position))
        return WatermarkResult(row.delivered.sequence if row.delivered else 0, rules.unread_count(row))

    async def is_delivered_known(
        self, chat: ChatKey, user: UserId, position: LogPosition, *, is_large: bool = False
    ) -> None:
        """Raise the delivered watermark without a check: the caller has sent the user this entry. One write."""
        update = await self._watermarks.raise_delivered(chat, user, position)
        self._notify(chat, user, update, is_large=is_large or update.row.known.is_large)

    def announce_delivered(self, chat: ChatKey, user: UserId, sequence: int, *, is_large: bool) -> None:
        """Publish the receipt of an ack whose write waits. The caller writes the watermark later."""
        self._on_advanced(WatermarkAdvanced(chat, user, sequence, 0, is_read=False, is_large=is_large))

    async def _raised(
        self, chat: ChatKey, user: UserId, update: WatermarkUpdate, *, is_read: bool = False
    ) -> ChatRow:
        """Return the row with the head of its group, and notify."""
        # Race: the worker raises the head after this row was written. The head is read last, so the count includes the
        # new message, as it does for a reader that comes later.
        [row] = await with_heads(self._row_reader, chat.tenant, user, [update.row])
        self._notify(chat, user, update, is_read=is_read, is_large=row.known.is_large)
        return row

    def _notify(
        self, chat: ChatKey, user: UserId, update: WatermarkUpdate, *, is_read: bool = False, is_large: bool
    ) -> None:
        row = update.row
        # Race: two devices of a user raise the same watermark. The store's condition lets the higher one win, and only
        # a call that has advanced the row notifies; it reports the row as written, never a lower value.
        if update.has_risen:
            self._on_advanced(
                WatermarkAdvanced(chat, user, row.delivered_up_to, row.read_up_to, is_read, is_large)
            )

    async def _position(self, chat: ChatKey, user: UserId, sequence: int) -> LogPosition:
        """Read the entry for its ordinal. It also proves that the log has this sequence, because the log is dense."""
        # Race: an admin removes the user after this check and before the write of the watermark. The write is harmless:
        # the user could see the entry, and a delivery status depends on present members only.
        row = require_membership(await self._chats.membership(chat, user))
        if not may_see(row.intervals, sequence):
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such entry for this user.")
        entry = await self._log.one(chat, sequence)
        if entry is None:
            raise TidingsError(Code.POSITION_AHEAD, "The sequence is above the highest entry of the chat.")
        return LogPosition(sequence, entry.ordinal)


class MessageStatusReader:
    def __init__(self, audience: AudienceReader, watermarks: WatermarkStore) -> None:
        self._audience = audience
        self._watermarks = watermarks

    async def of(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> list[MessageStatus]:
        """Return the statuses of messages with one read of the members and one of their rows."""
        if not messages:
            return []
        audience = await self._audience.of(chat, max(message.sequence for message in messages))
        if audience.large_since is not None:
            return [
                MessageStatus(sequence=m.sequence, status=DeliveryStatus.SENT, has_receipts=False)
                for m in messages
            ]
        reader = next((member for member in audience.members if member.user == user), None)
        if reader is None or not all(may_see(reader.intervals, m.sequence) for m in messages):
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message for this user.")
        rows = await self._watermarks.rows_of(chat, [member.user for member in audience.members])
        positions = [_positions(each, rows.get(each.user)) for each in audience.members]
        return [message_status(message, positions) for message in messages]

    async def progress(self, chat: ChatKey, users: Sequence[UserId]) -> dict[UserId, MemberProgress]:
        """Return join times and watermarks of members with one read. Members without a row are omitted."""
        rows = await self._watermarks.rows_of(chat, users)
        return {user: _progress(row) for user, row in rows.items()}


def _progress(row: ChatRow) -> MemberProgress:
    joined_at_ms = row.known.joined.at_ms if row.known.joined else None
    if row.known.is_large:
        return MemberProgress(joined_at_ms)
    return MemberProgress(joined_at_ms, row.delivered_up_to, row.read_up_to, row.read_at_ms)


class MemberPositions(NamedTuple):
    """The watermarks of a member, as sequences."""

    member: Membership
    read: int
    delivered: int
    row: ChatRow | None = None

    def read_at_ms(self, message: Entry) -> int | None:
        return None if self.row is None else self.row.read_message_at_ms(message)


def _positions(member: Membership, row: ChatRow | None) -> MemberPositions:
    return (
        MemberPositions(member, row.read_up_to, row.delivered_up_to, row)
        if row is not None
        else MemberPositions(member, 0, 0)
    )


def message_status(message: Entry, members: Sequence[MemberPositions]) -> MessageStatus:
    """Return `READ` once all recipients who are still members have read the message; `DELIVERED` likewise."""
    n, sender = message.sequence, message.sender
    recipients = [
        each for each in members if each.member.user != sender and may_see(each.member.intervals, n)
    ]
    times = [(each.member.user, at) for each in recipients if (at := each.read_at_ms(message)) is not None]
    staying = [each for each in recipients if each.member.is_member]
    return MessageStatus(
        sequence=n,
        status=_status(n, staying),
        delivered_to=tuple(sorted([each.member.user for each in recipients if each.delivered >= n])),
        read_at_ms=tuple(sorted(times)),
        read_by=tuple(sorted([each.member.user for each in recipients if each.read >= n])),
    )


def _status(sequence: int, staying: Sequence[MemberPositions]) -> DeliveryStatus:
    if not staying or min([each.delivered for each in staying]) < sequence:
        return DeliveryStatus.SENT
    return (
        DeliveryStatus.DELIVERED if min([each.read for each in staying]) < sequence else DeliveryStatus.READ
    )
