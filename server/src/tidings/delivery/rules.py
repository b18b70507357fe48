"""What entries mean for rows, and what rows mean for people. Pure.

A row has several parts, and each goes forward by a sequence of its own. A run of entries without holes gives for each
part the newest that it has; so whoever finds a row's head below the end of his run may write all parts at once:
what the row has is older than the run, or in it. But for what is shown: a redaction reaches rows of people who have
left, whose heads do not move with it. That part is held against its own sequence every time.
"""

from collections.abc import Iterable, Iterator, Sequence
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
from tidings.kernel.ids import UserId
from tidings.messages.model import Entry, EntryKind, Interval, may_see, visible_ranges

CHANGES_PREVIEW = frozenset({EntryKind.EDIT, EntryKind.REDACTION})
LETS_IN = frozenset({EntryKind.CREATE, EntryKind.JOIN})
NOTHING = RowUpdate()

type EntryRun = Sequence[Entry]


class PreviewCandidate(NamedTuple):
    """A message that a row may show, as the entry `version` left it."""

    sequence: int
    version: int
    said: Entry

    def __hash__(self) -> int:
        """By its place: an entry with reactions can't be hashed."""
        return hash((self.sequence, self.version))


def split_runs(entries: Iterable[Entry]) -> Iterator[EntryRun]:
    """In order, each without holes."""
    run: list[Entry] = []
    for entry in sorted({entry.sequence: entry for entry in entries}.values(), key=lambda e: e.sequence):
        if run and entry.sequence != run[-1].sequence + 1:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def referenced_messages(run: EntryRun) -> set[int]:
    """Messages that are to be read anew, because an entry of the run changed what they say."""
    return {e.refers_to for e in run if e.kind in CHANGES_PREVIEW and e.refers_to is not None}


def preview_candidates(run: EntryRun, messages: dict[int, Entry]) -> list[PreviewCandidate]:
    """Messages of the run, and changes of the message that was the newest when it was changed.

    Whoever sees a change of an older one has a newer message in his row, or gets it.
    """
    found = [PreviewCandidate(e.sequence, e.sequence, e) for e in run if e.kind is EntryKind.MESSAGE]
    for change, message in _changes(run, messages):
        if message.sequence >= run[0].sequence or message.ordinal == change.ordinal:
            found.append(PreviewCandidate(message.sequence, change.sequence, message))
    return found


def changed_messages(run: EntryRun, messages: dict[int, Entry]) -> list[PreviewCandidate]:
    """Every change of the run. For those who were out of the chat between a message and its change."""
    return [PreviewCandidate(m.sequence, change.sequence, m) for change, m in _changes(run, messages)]


def _changes(run: EntryRun, messages: dict[int, Entry]) -> Iterator[tuple[Entry, Entry]]:
    for entry in run:
        if entry.kind in CHANGES_PREVIEW and entry.refers_to is not None:
            message = messages.get(entry.refers_to)
            if message is not None:
                yield entry, message


def visible_candidate(
    intervals: Sequence[Interval], found: Iterable[PreviewCandidate]
) -> PreviewCandidate | None:
    """The newest that he may see, by a change that he sees."""
    seen = (c for c in found if may_see(intervals, c.sequence) and may_see(intervals, c.version))
    return max(seen, key=lambda c: c[:2], default=None)


def may_still_show(intervals: Sequence[Interval], change: PreviewCandidate) -> bool:
    """He saw the message and was not there all the time from it to its change, so nothing newer took its place.

    Of what changed when he was out he gets redactions alone: they are no news, they take away.
    """
    saw = [i for i in intervals if may_see((i,), change.sequence)]
    is_broken = any(not may_see((i,), change.version) for i in saw)
    return is_broken and (change.said.redacted_at_ms is not None or may_see(intervals, change.version))


def row_update_for(user: UserId, entries: Sequence[Entry]) -> RowUpdate:
    """What entries that reach a user mean for his row, but for the message shown. `entries` are in order."""
    head = entries[-1]
    own = joined = removed = None
    for entry in entries:
        if entry.kind is EntryKind.MESSAGE and entry.sender == user:
            own = LogPosition(entry.sequence, entry.ordinal)
        elif entry.kind in LETS_IN and user in entry.users:
            joined = JoinPosition(entry.sequence, entry.ordinal, entry.created_at_ms)
        elif entry.kind is EntryKind.LEAVE and user in entry.users:
            removed = entry.sequence
    return RowUpdate(head=LogPosition(head.sequence, head.ordinal), own=own, joined=joined, removed=removed)


def entries_visible_to(intervals: Sequence[Interval], run: EntryRun) -> list[Entry]:
    return [entry for entry in run if may_see(intervals, entry.sequence)]


def entries_by_affected_user(run: EntryRun) -> dict[UserId, list[Entry]]:
    """In a large chat: those whose own row an entry changes, and by which entries. Not everybody who gets them."""
    found: dict[UserId, list[Entry]] = {}
    for entry in run:
        is_message = entry.kind is EntryKind.MESSAGE
        users = (entry.sender,) if is_message else entry.users if changes_members(entry) else ()
        for user in users:
            found.setdefault(user, []).append(entry)
    return found


def changes_members(entry: Entry) -> bool:
    return entry.kind in LETS_IN or entry.kind is EntryKind.LEAVE


def first_missed(intervals: Sequence[Interval], had: int, run: EntryRun) -> int | None:
    """The first entry between what a row had and the run that should have reached it; None if there is none."""
    below = visible_ranges(intervals, had, run[0].sequence - 1)
    return below[0][0] + 1 if below else None


def newer_parts(known: RowUpdate, update: RowUpdate) -> RowUpdate | None:
    """The parts of the news that are new to a row; None if there are none."""
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
    """Of every part the newer one."""
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
    """The highest sequence that a row names."""
    known = row.known
    marks = (known.head, known.own, known.joined, row.delivered, row.read)
    shown = max(known.shown.rank) if known.shown else 0
    return max(known.removed or 0, shown, *(mark.sequence if mark else 0 for mark in marks))


def truncate_row(row: ChatRow, last: LogPosition) -> ChatRow:
    """The row without what lies above `last`, which is where its log ended when it was put back.

    Marks stop there. A message, a join or a leave above it is not in the log, so it is forgotten.
    """
    known = row.known
    is_shown = known.shown is not None and max(known.shown.rank) <= last.sequence
    return replace(
        row,
        known=replace(
            known,
            head=_at_most(known.head, last),
            own=_at_most(known.own, last),
            shown=known.shown if is_shown else None,
            joined=known.joined if known.joined and known.joined.sequence <= last.sequence else None,
            removed=known.removed if (known.removed or 0) <= last.sequence else None,
        ),
        delivered=_at_most(row.delivered, last),
        read=_at_most(row.read, last),
    )


def has_lost_interval(before: RowUpdate, after: RowUpdate) -> bool:
    """Whether a cut took a join or a leave away. What the row said before those is not known any more."""
    return (before.joined, before.removed) != (after.joined, after.removed)


def _at_most(position: LogPosition | None, last: LogPosition) -> LogPosition | None:
    return last if position is not None and position.sequence > last.sequence else position


def is_member(known: RowUpdate) -> bool:
    return known.joined is not None and known.joined.sequence > (known.removed or 0)


def with_head(row: ChatRow, head: RowUpdate | None) -> ChatRow:
    """The row of a large chat: its last message and head stand elsewhere, for all members at once.

    Who has left keeps what his row has: the leave itself is the last that reached it. Who came in after the last
    message does not get to see it here either.
    """
    joined = row.known.joined
    if head is None or joined is None or not is_member(row.known):
        return row
    if head.shown is not None and head.shown.sequence < joined.sequence:
        head = replace(head, shown=None)
    return replace(row, known=merge_updates(row.known, head))


def unread_count(row: ChatRow) -> int:
    """Messages above the last that he read, wrote, or joined after. Derived anew each time, so it can't drift."""
    if row.known.head is None:
        return 0
    seen = [mark.ordinal for mark in (row.read, row.known.own, row.known.joined) if mark]
    return max(0, row.known.head.ordinal - max(seen, default=0))


def explain_unread(row: ChatRow) -> UnreadExplanation:
    """Return the unread count with the marks that it is derived from."""
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
