"""Derive row updates from entries, and unread counts from rows. Pure.

Each part of a row has its own sequence and only moves forward. A run of entries without gaps contains the newest value of
each part. So if a row's head is below the end of the run, all parts may be written at once: the row's values are older,
or part of the run. The shown message has a version of its own, because a later change replaces it: that part is always
compared by message and version.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from tidings.delivery.model import (
    ChatRow,
    JoinPosition,
    LastMessageRef,
    LogPosition,
    RowUpdate,
    UnreadExplanation,
)
from tidings.kernel.ids import UserId, is_pseudonym
from tidings.messages.model import Entry, EntryKind
from tidings.messages.ports import PastEnd

CHANGES_PREVIEW = frozenset({EntryKind.EDIT, EntryKind.REDACTION})
JOINS = frozenset({EntryKind.CREATE, EntryKind.JOIN})
NOTHING = RowUpdate()

type EntryRun = Sequence[Entry]


class PreviewCandidate(NamedTuple):
    """A message that a row may show, in the state after the entry `version`."""

    sequence: int
    version: int
    message: Entry

    def __hash__(self) -> int:
        """Hash sequence and version; an entry with reactions is not hashable."""
        return hash((self.sequence, self.version))


def split_runs(entries: Iterable[Entry]) -> Iterator[EntryRun]:
    """Split entries into runs without gaps, in order and without duplicates."""
    run: list[Entry] = []
    for entry in sorted({entry.sequence: entry for entry in entries}.values(), key=lambda e: e.sequence):
        if run and entry.sequence != run[-1].sequence + 1:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def referenced_messages(run: EntryRun) -> set[int]:
    """Return the messages whose content the run changes; read them from the log."""
    return {e.refers_to for e in run if e.kind in CHANGES_PREVIEW and e.refers_to is not None}


def preview_candidates(run: EntryRun, messages: dict[int, Entry]) -> list[PreviewCandidate]:
    """Return the messages of the run, and changes of the message that was the newest at that time.

    A change of an older message needs no candidate: the rows of users who see it show a newer message.
    """
    found = [PreviewCandidate(e.sequence, e.sequence, e) for e in run if e.kind is EntryKind.MESSAGE]
    for change, message in _changes(run, messages):
        if message.sequence >= run[0].sequence or message.ordinal == change.ordinal:
            found.append(PreviewCandidate(message.sequence, change.sequence, message))
    return found


def _changes(run: EntryRun, messages: dict[int, Entry]) -> Iterator[tuple[Entry, Entry]]:
    for entry in run:
        if entry.kind in CHANGES_PREVIEW and entry.refers_to is not None:
            message = messages.get(entry.refers_to)
            if message is not None:
                yield entry, message


def row_update_for(user: UserId, entries: Sequence[Entry]) -> RowUpdate:
    """Return the update of a user's row for entries that they receive, in order; without the shown message."""
    head = entries[-1]
    own = joined = removed = None
    for entry in entries:
        if entry.kind is EntryKind.MESSAGE and entry.sender == user:
            own = LogPosition(entry.sequence, entry.ordinal)
        elif entry.kind in JOINS and user in entry.users:
            joined = JoinPosition(entry.sequence, entry.ordinal, entry.created_at_ms)
        elif entry.kind is EntryKind.LEAVE and user in entry.users:
            removed = entry.sequence
    return RowUpdate(head=LogPosition(head.sequence, head.ordinal), own=own, joined=joined, removed=removed)


def entries_by_affected_user(run: EntryRun) -> dict[UserId, list[Entry]]:
    """Return the entries that change a user's own row in a group: their messages, joins and leaves."""
    found: dict[UserId, list[Entry]] = {}
    for entry in run:
        is_message = entry.kind is EntryKind.MESSAGE
        users = (entry.sender,) if is_message else entry.users if changes_members(entry) else ()
        for user in users:
            found.setdefault(user, []).append(entry)
    return found


def users_named_by(past: PastEnd) -> set[UserId]:
    """Return the users who joined, left or sent at the end of the past log, without erased users."""
    named = entries_by_affected_user([*past.changes, *past.sent.values()])
    return {user for user in named if not is_pseudonym(user)}


def past_update(past: PastEnd, user: UserId, *, is_group: bool) -> RowUpdate:
    """Return what the user's row must have at least, because of their last join, leave and message of the past log.

    A row of a direct chat keeps its head, which includes the entries of both users.
    """
    entries = [entry for entry in past.changes if changes_members(entry) and user in entry.users]
    if (sent := past.sent.get(user)) is not None:
        entries.append(sent)
    if not entries:
        return NOTHING
    update = row_update_for(user, sorted(entries, key=lambda entry: entry.sequence))
    return update if is_group else replace(update, head=None)


def head_update_for(run: EntryRun, *, large_since: int | None) -> RowUpdate:
    """Return the update of a group's head, without the shown message. `removed` is the last leave of any member."""
    last = run[-1]
    leaves = [entry.sequence for entry in run if entry.kind is EntryKind.LEAVE]
    return RowUpdate(
        head=LogPosition(last.sequence, last.ordinal),
        entry_at_ms=last.created_at_ms,
        removed=max(leaves, default=None),
        is_large=large_since is not None and last.sequence >= large_since,
    )


def changes_members(entry: Entry) -> bool:
    return entry.kind in JOINS or entry.kind is EntryKind.LEAVE


def newer_parts(known: RowUpdate, update: RowUpdate) -> RowUpdate | None:
    """Return the parts of the update that are newer than the row's; None if there are none."""
    new = RowUpdate(
        head=_newer(known.head, update.head),
        shown=update.shown if _shows_more(known.shown, update.shown) else None,
        own=_newer(known.own, update.own),
        joined=_newer(known.joined, update.joined),
        removed=update.removed if (update.removed or 0) > (known.removed or 0) else None,
        is_large=update.is_large and not known.is_large,
        other=update.other if known.other is None else None,
    )
    return None if new == NOTHING else new


def merge_updates(known: RowUpdate, update: RowUpdate) -> RowUpdate:
    """Return the newer value of every part."""
    new = newer_parts(known, update)
    if new is None:
        return known
    changed = {name: value for name in RowUpdate.__struct_fields__ if (value := getattr(new, name))}
    return replace(known, **changed)


def _newer[M: (LogPosition, JoinPosition)](known: M | None, new: M | None) -> M | None:
    return new if new is not None and (known is None or new.sequence > known.sequence) else None


def _shows_more(known: LastMessageRef | None, new: LastMessageRef | None) -> bool:
    return new is not None and (known is None or new.rank > known.rank)


def highest_sequence(row: ChatRow) -> int:
    """Return the highest sequence in a row."""
    known = row.known
    marks = (known.head, known.own, known.joined, row.delivered, row.read)
    shown = max(known.shown.rank) if known.shown else 0
    return max(known.removed or 0, shown, *(mark.sequence if mark else 0 for mark in marks))


def truncate_row(row: ChatRow, last: LogPosition, lost: Collection[int] = ()) -> ChatRow:
    """Return the row without sequences above `last`, the end of its log after a restore, and without lost entries.

    Positions are lowered to `last`. A message, join or leave that is not in the log is removed.
    """
    known = row.known

    def is_kept(*sequences: int) -> bool:
        return max(sequences) <= last.sequence and not any(each in lost for each in sequences)

    return replace(
        row,
        known=replace(
            known,
            head=_at_most(known.head, last),
            own=_at_most(known.own, last),
            shown=known.shown if known.shown and is_kept(*known.shown.rank) else None,
            joined=known.joined if known.joined and is_kept(known.joined.sequence) else None,
            removed=known.removed if known.removed and is_kept(known.removed) else None,
        ),
        delivered=_at_most(row.delivered, last),
        read=_at_most(row.read, last),
    )


def has_lost_interval(before: RowUpdate, after: RowUpdate) -> bool:
    """Return whether truncation removed a join or a leave, so that the interval must be read again."""
    return (before.joined, before.removed) != (after.joined, after.removed)


def _at_most(position: LogPosition | None, last: LogPosition) -> LogPosition | None:
    return last if position is not None and position.sequence > last.sequence else position


def is_member(known: RowUpdate) -> bool:
    return known.joined is not None and known.joined.sequence > (known.removed or 0)


def is_worth_copying(row: ChatRow, head: RowUpdate, before_ms: int) -> bool:
    """Return whether readers of this row may skip the head from now on: the last entry is older than `before_ms`.

    The head of a large chat is never copied, because the next entry would be written to the rows of all members. A row
    that is ahead of the head names an entry that a worker processes now.
    """
    if head.head is None or head.entry_at_ms is None or head.entry_at_ms >= before_ms or head.is_large:
        return False
    return row.known.head is None or row.known.head.sequence <= head.head.sequence


def is_outdated(row: ChatRow, head: RowUpdate | None) -> bool:
    """Return whether the row was read before a leave that the head includes, which may be the user's own.

    Race: a reader reads the row, the worker writes the user's leave and a later head, and the reader reads that head. Its
    preview is a message that the user may not see. A head proves that all leaves up to it are in their rows, so a row
    that is read again shows the leave.
    """
    joined = row.known.joined
    return head is not None and joined is not None and (head.removed or 0) > joined.sequence


def with_head(row: ChatRow, head: RowUpdate | None, user: UserId) -> ChatRow:
    """Return the user's row of a group with the last message and position of the head that all members share.

    A former member keeps the row's values: the leave is the last entry they received. A user who joined after the last
    message does not see it. A user who sent it has read everything, although the row that shows this may be written
    after the row was read.
    """
    joined = row.known.joined
    if head is None or head.head is None or joined is None or not is_member(row.known):
        return row
    shown = head.shown if head.shown is not None and head.shown.sequence >= joined.sequence else None
    own = LogPosition(shown.sequence, head.head.ordinal) if shown and shown.sender == user else None
    known = merge_updates(row.known, replace(head, shown=shown, own=own, removed=None))
    return replace(row, known=known if known.quiet_at_ms is None else replace(known, quiet_at_ms=None))


def with_preview_of(row: ChatRow, head: RowUpdate | None) -> ChatRow:
    """Return a quiet row with the last message of its head, if the head is still at the row's position."""
    joined = row.known.joined
    if head is None or head.shown is None or head.head != row.known.head or joined is None:
        return row
    is_visible = head.shown.sequence >= joined.sequence
    return replace(row, known=replace(row.known, shown=head.shown)) if is_visible else row


def with_interval(row: ChatRow, newer: ChatRow) -> ChatRow:
    """Return the row with the join and leave of a newer read of it, and without a message from before that join."""
    joined, shown = newer.known.joined, row.known.shown
    if joined is not None and shown is not None and shown.sequence < joined.sequence:
        shown = None
    known = replace(row.known, joined=joined, removed=newer.known.removed, shown=shown)
    return replace(row, known=known)


def unread_count(row: ChatRow) -> int:
    """Return the number of messages after the last one read or sent, or after the join. Always derived, never stored."""
    if row.known.head is None:
        return 0
    seen = [mark.ordinal for mark in (row.read, row.known.own, row.known.joined) if mark]
    return max(0, row.known.head.ordinal - max(seen, default=0))


def explain_unread(row: ChatRow) -> UnreadExplanation:
    """Return the unread count with the positions that it is derived from."""
    known = row.known
    joined = None if known.joined is None else LogPosition(known.joined.sequence, known.joined.ordinal)
    marks: list[tuple[Literal["read", "own", "joined"], LogPosition | None]] = [
        ("read", row.read),
        ("own", known.own),
        ("joined", joined),
    ]
    seen = [(mark.ordinal, name) for name, mark in marks if mark is not None]
    return UnreadExplanation(
        unread=unread_count(row),
        head=known.head or LogPosition(0, 0),
        read=row.read,
        own=known.own,
        joined=joined,
        counts_after=max(seen, key=lambda each: each[0])[1] if seen else None,
    )


NOTIFIED_MS = 3_600_000
"""A message that is older has no offline event."""


def missed_range(row: ChatRow, first: int, last: int, *, is_mention: bool = False) -> tuple[int, int] | None:
    """Return the part of `first` to `last` that no device of the user has received, as `(after, up_to]`.

    None if they have received all of it, for a user who has left the chat, and in a large chat except for mentions. Entries
    before the last join are not included: the user may not see all of them.
    """
    known = row.known
    if (known.is_large and not is_mention) or known.joined is None or not is_member(known):
        return None
    after = max(first - 1, row.delivered_up_to, known.joined.sequence)
    return (after, last) if after < last else None


def is_worth_notifying(entry: Entry, user: UserId, now_ms: int) -> bool:
    """Return whether the entry is a message of another user, not redacted, and of the last hour."""
    return (
        entry.kind is EntryKind.MESSAGE
        and entry.sender != user
        and entry.redacted_at_ms is None
        and now_ms - entry.created_at_ms < NOTIFIED_MS
    )
