"""Reconcile rows and heads of another epoch with their log: after a restore or failover they may be ahead of it or behind.

Each table is restored or replicated independently, so a row may name entries that its log has lost. The user's flags
(muted, pinned, archived) remain; every sequence is compared with the log and lowered to its end. A row may also lack the
user's last join, leave or message, which are then added. The row is written back with the present epoch, so this happens
once per row and restore.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from tidings.chats.model import ChatType, chat_type
from tidings.chats.ports import MembershipReader
from tidings.delivery import rules
from tidings.delivery.model import ChatRow, JoinPosition, LogPosition, RowUpdate
from tidings.delivery.store.items import OF_A_CHAT, OF_A_ROW, HeadNames, row_from_item, row_key
from tidings.kernel.concurrency import SingleFlight, gather_limited
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.ports import LogReader, PastEnd, PastLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import ItemValue
from tidings.platform.dynamo.errors import (
    ConditionFailedError,
    DynamoError,
    raise_write_error,
    translate_read_errors,
)
from tidings.platform.dynamo.operations import AccessPattern
from tidings.schema.tables.items.chats import chat_key
from tidings.schema.tables.patterns import delivery as patterns

_ATTEMPTS: Final = 5
_PARTS: dict[str, tuple[str, ...]] = {
    "joined": ("joined_sequence", "joined_ordinal", "joined_at"),
    "removed": ("removed_sequence",),
    "shown": (
        "preview_sequence",
        "preview_version",
        "last_at",
        "last_sender",
        "last_preview",
        "preview_expires_at",
    ),
    "quiet_at_ms": ("quiet_at",),
}


class EpochReconciler:
    """Used by every store that reads or writes rows, so that no sequence of another epoch is returned.

    An installation that was never restored has epoch 0 and its rows have none: nothing is compared. With `is_read_only`,
    rows and heads are not written back.
    """

    def __init__(
        self,
        client: DynamoClient,
        log: LogReader,
        chats: MembershipReader,
        past: PastLogReader,
        *,
        is_read_only: bool = False,
    ) -> None:
        self._client = client
        self._log = log
        self._chats = chats
        self._is_read_only = is_read_only
        self._past = past
        self.epoch = past.epoch
        self._completions: SingleFlight[tuple[ChatKey, int], None] = SingleFlight()

    def is_reconciled(self, known: RowUpdate) -> bool:
        return known.epoch == (self.epoch() or known.epoch)

    async def rows_of(self, chat: ChatKey, rows: Mapping[UserId, ChatRow]) -> Mapping[UserId, ChatRow]:
        """Reconcile the rows of several users in one chat."""
        if all(self.is_reconciled(row.known) for row in rows.values()):
            return rows
        reconciled = await gather_limited(self.row(chat, user, row) for user, row in rows.items())
        return dict(zip(rows, reconciled, strict=True))

    async def rows_in(self, tenant: TenantId, user: UserId, rows: Sequence[ChatRow]) -> Sequence[ChatRow]:
        """Reconcile the rows of one user in several chats."""
        if all(self.is_reconciled(row.known) for row in rows):
            return rows
        return await gather_limited(self.row(ChatKey(tenant, row.chat), user, row) for row in rows)

    async def row(self, chat: ChatKey, user: UserId, row: ChatRow) -> ChatRow:
        """Return the row without lost entries, and write it back unless another process has changed it meanwhile."""
        # Race: a worker raises the row under the present epoch while a reader reconciles it. The worker's write needs a
        # row of this epoch, so it reconciles first; the reader's write needs the row as read, so one of them fails.
        return row if self.is_reconciled(row.known) else (await self._reconcile(chat, user, row))[0]

    async def _reconcile(self, chat: ChatKey, user: UserId, row: ChatRow) -> tuple[ChatRow, bool]:
        """Return the row without lost entries, and whether it was written."""
        # Race: another restore raises the epoch while the log is read. The row is written with the epoch that it was
        # compared in, so its next reader reconciles it again.
        epoch = self.epoch()
        reconciled = await self._truncate(chat, user, row)
        reconciled = await self._complete(chat, user, reconciled)
        # A row and its head may be restored from different times, so the row is no copy of the head any more.
        reconciled = replace(reconciled, known=replace(reconciled.known, epoch=epoch, quiet_at_ms=None))
        is_written = await self._write(patterns.SETTLE_ROW, row_key(chat, user), row, reconciled, OF_A_ROW)
        return reconciled, is_written

    async def head(self, chat: ChatKey, head: RowUpdate) -> RowUpdate:
        """Reconcile the head of a large chat, as `row` does."""
        if self.is_reconciled(head):
            return head
        epoch, row = self.epoch(), ChatRow(chat=chat.chat, known=head)
        past = await self._past.end(chat)
        reconciled = rules.truncate_row(row, LogPosition(past.sequence, past.ordinal), past.lost)
        reconciled = replace(reconciled, known=replace(reconciled.known, epoch=epoch, quiet_at_ms=None))
        # A head proves that the rows of users who sent, joined or left are written, so they are completed before it.
        await self._complete_rows(chat)
        await self._write(patterns.SETTLE_HEAD, {"chat_id": chat_key(chat)}, row, reconciled, OF_A_CHAT)
        return reconciled.known

    async def _complete(self, chat: ChatKey, user: UserId, row: ChatRow) -> ChatRow:
        """Add the user's last join, leave and message of the past log, where the row has none or older ones."""
        is_group = chat_type(chat.chat) is ChatType.GROUP
        update = rules.past_update(await self._past.end(chat), user, is_group=is_group)
        return replace(row, known=rules.merge_updates(row.known, update))

    async def _complete_rows(self, chat: ChatKey) -> None:
        """Complete the rows of all users that the end of the past log names, and create those that are missing.

        No worker processes these entries again, because the head has them.
        """
        past = await self._past.end(chat)
        if not past.are_rows_complete and not self._is_read_only:
            await self._completions.run((chat, self.epoch()), partial(self._complete_named, chat, past))

    async def _complete_named(self, chat: ChatKey, past: PastEnd) -> None:
        await gather_limited(self._complete_stored(chat, user) for user in rules.users_named_by(past))
        past.are_rows_complete = True

    async def _complete_stored(self, chat: ChatKey, user: UserId) -> None:
        key = row_key(chat, user)
        for _ in range(_ATTEMPTS):
            with translate_read_errors:
                row = row_from_item(await self._client.get(patterns.READ_ROW, key) or key)
            if row.known.epoch == self.epoch():
                # Race: a device acknowledged a message under this epoch, so there is a row that has only a watermark.
                after = await self._complete(chat, user, row)
                is_done = after == row or await self._write(patterns.SETTLE_ROW, key, row, after, OF_A_ROW)
            else:
                _, is_done = await self._reconcile(chat, user, row)
            if is_done:
                return
        raise TidingsError(Code.OVERLOADED, "A chat row changes faster than it can be reconciled. Retry.")

    async def _truncate(self, chat: ChatKey, user: UserId, row: ChatRow) -> ChatRow:
        """Truncate a row to the end of the past log, and remove lost entries from it.

        A row has only the user's latest join and leave. If truncation removes one of them, read the membership for the
        interval before it. For a former member, no position may be above the leave.
        """
        # Race: a sender appends in the present epoch while a row is compared with the log, and the new entry takes the
        # sequence of a lost one. The row refers to the lost entry, so only entries before this epoch count.
        past = await self._past.end(chat)
        last = LogPosition(past.sequence, past.ordinal)
        reconciled = rules.truncate_row(row, last, past.lost)
        if not rules.has_lost_interval(row.known, reconciled.known):
            return reconciled
        found = await self._chats.membership(chat, user)
        intervals = [each for each in found.intervals if each.joined < last.sequence] if found else []
        entry = await self._log.one(chat, intervals[-1].joined + 1) if intervals else None
        if entry is None:
            return rules.truncate_row(row, LogPosition(0, 0))
        ends = [i.removed for i in intervals if i.removed is not None and i.removed <= last.sequence]
        if intervals[-1].removed in ends and (leave := await self._log.one(chat, ends[-1])):
            reconciled = rules.truncate_row(row, LogPosition(leave.sequence, leave.ordinal))
        joined = JoinPosition(entry.sequence, entry.ordinal, entry.created_at_ms)
        removed = ends[-1] if ends else None
        return replace(reconciled, known=replace(reconciled.known, joined=joined, removed=removed))

    async def _write(
        self, pattern: AccessPattern, key: dict[str, ItemValue], was: ChatRow, now: ChatRow, names: HeadNames
    ) -> bool:
        """Write the row unless another process has changed it."""
        if self._is_read_only:
            return True
        sets: dict[str, ItemValue] = {"epoch": now.known.epoch}
        removes: list[str] = []
        old = _compared_parts(was, names)
        marks = (
            (names.sequence, names.ordinal, was.known.head, now.known.head),
            ("own_sequence", "own_ordinal", was.known.own, now.known.own),
            ("last_acked_sequence", "last_acked_ordinal", was.delivered, now.delivered),
            ("last_read_sequence", "read_ordinal", was.read, now.read),
        )
        for sequence, ordinal, before, mark in marks:
            if mark is not None and mark != before:
                old[sequence] = before.sequence if before else None
                sets[sequence], sets[ordinal] = mark
        if now.known.joined is not None and now.known.joined != was.known.joined:
            sets |= dict(zip(_PARTS["joined"], now.known.joined, strict=True))
        if now.known.removed is not None and now.known.removed != was.known.removed:
            sets["removed_sequence"] = now.known.removed
        for part, attributes in _PARTS.items():
            if getattr(was.known, part) is not None and getattr(now.known, part) is None:
                removes += attributes
        try:
            await self._update(pattern, key, sets, removes, old)
        except ConditionFailedError:
            # Race: a worker or another reader changed the row after we read it. The next reader reconciles it again.
            return False
        except DynamoError as error:
            raise_write_error(error)
        return True

    async def _update(
        self,
        pattern: AccessPattern,
        key: dict[str, ItemValue],
        sets: dict[str, ItemValue],
        removes: list[str],
        old: dict[str, ItemValue | None],
    ) -> None:
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        if removes:
            update += " REMOVE " + ", ".join(f"#{name}" for name in removes)
        conditions = [
            f"#{n} = :old_{n}" if v is not None else f"attribute_not_exists(#{n})" for n, v in old.items()
        ]
        values = {f":{name}": value for name, value in sets.items()}
        values |= {f":old_{name}": value for name, value in old.items() if value is not None}
        await self._client.update(
            pattern,
            key,
            update,
            condition=" AND ".join(conditions),
            names={f"#{name}": name for name in (*sets, *removes, *old)},
            values=values,
            repeatable=True,
        )


def _compared_parts(was: ChatRow, names: HeadNames) -> dict[str, ItemValue | None]:
    """Return what a write of a compared row requires to be as it was read."""
    # Race: a worker has written the user's message of this epoch, and then writes their join, whose event was late,
    # while a reader completes the row. The head of the row stays that of the message, so the join is compared too.
    return {
        "epoch": was.known.epoch or None,
        names.sequence: was.known.head.sequence if was.known.head else None,
        "joined_sequence": was.known.joined.sequence if was.known.joined else None,
        "removed_sequence": was.known.removed,
    }
