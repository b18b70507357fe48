"""What entries mean for rows, and what rows mean for people. Pure.

A row has several parts, and each goes forward by a sequence of its own. A run of entries without holes gives for each
part the newest that it has; so whoever finds a row's head below the end of his run may write all parts at once:
what the row has is older than the run, or in it. But for what is shown: a redaction reaches rows of people who have
left, whose heads do not move with it. That part is held against its own sequence every time.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import replace

from tidings.chats.model import Interval, may_see, visible
from tidings.delivery.model import Joined, Mark, News, Row, Shown, UnreadExplained
from tidings.kernel.ids import UserId
from tidings.messages.model import Entry, Kind

CHANGES_PREVIEW = frozenset({Kind.EDIT, Kind.REDACTION})
LETS_IN = frozenset({Kind.CREATE, Kind.JOIN})
NOTHING = News()

type Run = Sequence[Entry]


class Candidate(NamedTuple):
    """A message that a row may show, as the entry `version` left it."""

    sequence: int
    version: int
    said: Entry

    def __hash__(self) -> int:
        """By its place: an entry with reactions can't be hashed."""
        return hash((self.sequence, self.version))


def runs(entries: Iterable[Entry]) -> Iterator[Run]:
    """In order, each without holes."""
    run: list[Entry] = []
    for entry in sorted({entry.sequence: entry for entry in entries}.values(), key=lambda e: e.sequence):
        if run and entry.sequence != run[-1].sequence + 1:
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def referred(run: Run) -> set[int]:
    """Messages that are to be read anew, because an entry of the run changed what they say."""
    return {e.refers_to for e in run if e.kind in CHANGES_PREVIEW and e.refers_to is not None}


def candidates(run: Run, messages: dict[int, Entry]) -> list[Candidate]:
    """Messages of the run, and changes of the message that was the newest when it was changed.

    Whoever sees a change of an older one has a newer message in his row, or gets it.
    """
    found = [Candidate(e.sequence, e.sequence, e) for e in run if e.kind is Kind.MESSAGE]
    for change, message in _changes(run, messages):
        if message.sequence >= run[0].sequence or message.ordinal == change.ordinal:
            found.append(Candidate(message.sequence, change.sequence, message))
    return found


def changed(run: Run, messages: dict[int, Entry]) -> list[Candidate]:
    """Every change of the run. For those who were out of the chat between a message and its change."""
    return [Candidate(m.sequence, change.sequence, m) for change, m in _changes(run, messages)]


def _changes(run: Run, messages: dict[int, Entry]) -> Iterator[tuple[Entry, Entry]]:
    for entry in run:
        if entry.kind in CHANGES_PREVIEW and entry.refers_to is not None:
            message = messages.get(entry.refers_to)
            if message is not None:
                yield entry, message


def shown_to(intervals: Sequence[Interval], found: Iterable[Candidate]) -> Candidate | None:
    """The newest that he may see, by a change that he sees."""
    seen = (c for c in found if may_see(intervals, c.sequence) and may_see(intervals, c.version))
    return max(seen, key=lambda c: c[:2], default=None)


def may_still_show(intervals: Sequence[Interval], change: Candidate) -> bool:
    """He saw the message and was not there all the time from it to its change, so nothing newer took its place.

    Of what changed when he was out he gets redactions alone: they are no news, they take away.
    """
    saw = [i for i in intervals if may_see((i,), change.sequence)]
    is_broken = any(not may_see((i,), change.version) for i in saw)
    return is_broken and (change.said.redacted_at_ms is not None or may_see(intervals, change.version))


def news_of(user: UserId, entries: Sequence[Entry]) -> News:
    """What entries that reach a user mean for his row, but for the message shown. `entries` are in order."""
    head = entries[-1]
    own = joined = removed = None
    for entry in entries:
        if entry.kind is Kind.MESSAGE and entry.sender == user:
            own = Mark(entry.sequence, entry.ordinal)
        elif entry.kind in LETS_IN and user in entry.users:
            joined = Joined(entry.sequence, entry.ordinal, entry.created_at_ms)
        elif entry.kind is Kind.LEAVE and user in entry.users:
            removed = entry.sequence
    return News(head=Mark(head.sequence, head.ordinal), own=own, joined=joined, removed=removed)


def reaching(intervals: Sequence[Interval], run: Run) -> list[Entry]:
    return [entry for entry in run if may_see(intervals, entry.sequence)]


def concerned(run: Run) -> dict[UserId, list[Entry]]:
    """In a large chat: those whose own row an entry changes, and by which entries. Not everybody who gets them."""
    found: dict[UserId, list[Entry]] = {}
    for entry in run:
        is_message = entry.kind is Kind.MESSAGE
        users = (entry.sender,) if is_message else entry.users if moves_members(entry) else ()
        for user in users:
            found.setdefault(user, []).append(entry)
    return found


def moves_members(entry: Entry) -> bool:
    return entry.kind in LETS_IN or entry.kind is Kind.LEAVE


def missed(intervals: Sequence[Interval], had: int, run: Run) -> int | None:
    """The first entry between what a row had and the run that should have reached it; None if there is none."""
    below = visible(intervals, had, run[0].sequence - 1)
    return below[0][0] + 1 if below else None


def ahead_of(known: News, news: News) -> News | None:
    """The parts of the news that are new to a row; None if there are none."""
    new = News(
        head=_newer(known.head, news.head),
        shown=news.shown if _shows_more(known.shown, news.shown) else None,
        own=_newer(known.own, news.own),
        joined=_newer(known.joined, news.joined),
        removed=news.removed if (news.removed or 0) > (known.removed or 0) else None,
        is_large=news.is_large and not known.is_large,
        other=news.other if known.other is None else None,
    )
    return None if new == NOTHING else new


def merged(known: News, news: News) -> News:
    """Of every part the newer one."""
    new = ahead_of(known, news)
    if new is None:
        return known
    changed = {name: value for name in News.__struct_fields__ if (value := getattr(new, name))}
    return replace(known, **changed)


def _newer[M: (Mark, Joined)](known: M | None, new: M | None) -> M | None:
    return new if new is not None and (known is None or new.sequence > known.sequence) else None


def _shows_more(known: Shown | None, new: Shown | None) -> bool:
    return new is not None and (known is None or new.rank > known.rank)


def furthest(row: Row) -> int:
    """The highest sequence that a row names."""
    known = row.known
    marks = (known.head, known.own, known.joined, row.delivered, row.read)
    shown = max(known.shown.rank) if known.shown else 0
    return max(known.removed or 0, shown, *(mark.sequence if mark else 0 for mark in marks))


def cut(row: Row, last: Mark) -> Row:
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


def has_lost_a_stay(before: News, after: News) -> bool:
    """Whether a cut took a join or a leave away. What the row said before those is not known any more."""
    return (before.joined, before.removed) != (after.joined, after.removed)


def _at_most(mark: Mark | None, last: Mark) -> Mark | None:
    return last if mark is not None and mark.sequence > last.sequence else mark


def is_member(known: News) -> bool:
    return known.joined is not None and known.joined.sequence > (known.removed or 0)


def with_head(row: Row, head: News | None) -> Row:
    """The row of a large chat: its last message and head stand elsewhere, for all members at once.

    Who has left keeps what his row has: the leave itself is the last that reached it. Who came in after the last
    message does not get to see it here either.
    """
    joined = row.known.joined
    if head is None or joined is None or not is_member(row.known):
        return row
    if head.shown is not None and head.shown.sequence < joined.sequence:
        head = replace(head, shown=None)
    return replace(row, known=merged(row.known, head))


def unread(row: Row) -> int:
    """Messages above the last that he read, wrote, or joined after. Derived anew each time, so it can't drift."""
    if row.known.head is None:
        return 0
    seen = [mark.ordinal for mark in (row.read, row.known.own, row.known.joined) if mark]
    return max(0, row.known.head.ordinal - max(seen, default=0))


def explained(row: Row) -> UnreadExplained:
    """Return the unread count with the marks that it is derived from."""
    known = row.known
    joined = None if known.joined is None else Mark(known.joined.sequence, known.joined.ordinal)
    marks: list[tuple[Literal["read", "own", "joined"], Mark | None]] = [
        ("read", row.read),
        ("own", known.own),
        ("joined", joined),
    ]
    seen = [(mark.ordinal, name) for name, mark in marks if mark is not None]
    return UnreadExplained(
        unread=unread(row),
        head=known.head or Mark(0, 0),
        read=row.read,
        own=known.own,
        joined=joined,
        counts_after=max(seen, key=lambda each: each[0])[1] if seen else None,
    )
