"""The plan of a resume: exactly the visible entries after each position, in order, for any offline queue."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tidings.delivery.model import ChatRow, JoinPosition, LastMessageRef, LogPosition, RowUpdate
from tidings.gateway.resume.plan import MissedEntries, TailLimits, has_missed_entries, make_plan
from tidings.kernel.ids import ChatId, ClientKey, UserId
from tidings.messages.model import Entry, EntryKind, Interval, may_see, visible_ranges

CHAT = ChatId("g1")
DIRECT = ChatId("d1")
TAILS = TailLimits(chats=2, entries=5)


def entry(sequence: int) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=UserId("anna"),
        client_key=ClientKey(str(sequence)),
        fingerprint=b"",
        created_at_ms=sequence,
    )


def row_of(
    intervals: list[Interval], handled: int, chat: ChatId = CHAT, *, is_large: bool = False
) -> ChatRow:
    """Return the row that delivery writes when it has processed everything up to `handled`."""
    joins = [i for i in intervals if i.joined < handled]
    heads = [n for n in range(1, handled + 1) if may_see(intervals, n)]
    removed = [i.removed for i in joins if i.removed is not None and i.removed <= handled]
    joined = JoinPosition(joins[-1].joined + 1, 0, joins[-1].joined + 1) if joins else None
    head = LogPosition(heads[-1], heads[-1]) if heads else None
    known = RowUpdate(head=head, joined=joined, removed=max(removed, default=None), is_large=is_large)
    return ChatRow(chat=chat, known=known)


@st.composite
def stays(draw: st.DrawFn) -> list[Interval]:
    """Consecutive intervals; the last may be open."""
    cuts = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=6)))
    pairs = [Interval(low, high) for low, high in zip(cuts[::2], cuts[1::2], strict=False)]
    return [*pairs, Interval(cuts[-1])] if len(cuts) % 2 else pairs


def carried_out(ahead: MissedEntries, intervals: list[Interval], top: int) -> list[int]:
    """Read like the runner: certain ranges directly, the others through the user's intervals."""
    low, high = ahead.reads
    if ahead.is_sure:
        read = list(range(low + 1, high + 1))
        return [e.sequence for e in ahead.front] + read + [e.sequence for e in ahead.back]
    assert not ahead.front
    assert not ahead.back
    parts = visible_ranges(intervals, ahead.after, top)
    return [n for a, b in parts for n in range(a + 1, b + 1)]


@given(stays(), st.integers(0, 45), st.integers(0, 45), st.sets(st.integers(1, 45)), st.booleans())
def test_exactly_the_visible_entries_after_the_position_are_sent_in_order(
    intervals: list[Interval],
    handled: int,
    position: int,
    kept: set[int],
    is_large: bool,  # noqa: FBT001 - drawn
) -> None:
    row = row_of(intervals, handled, is_large=is_large)
    if row.known.joined is None:
        return
    queue = {CHAT: {n: entry(n) for n in kept if may_see(intervals, n)}}
    planned = make_plan({CHAT: position}, [row], queue, TAILS)
    head = row.known.head.sequence if row.known.head else 0
    wanted = [n for n in range(position + 1, head + 1) if may_see(intervals, n)]
    got = [n for ahead in planned.ahead for n in carried_out(ahead, intervals, head)]
    assert got == wanted
    assert planned.rows == ()
    assert planned.positions[CHAT].position == position


@given(stays(), st.integers(1, 45), st.sets(st.integers(1, 45)))
def test_a_new_chat_gets_its_row_and_the_last_entries_of_the_last_interval(
    intervals: list[Interval], handled: int, kept: set[int]
) -> None:
    row = row_of(intervals, handled)
    is_in = bool(row.known.joined) and row.known.joined.sequence > (row.known.removed or 0)  # type: ignore[union-attr]
    queue = {CHAT: {n: entry(n) for n in kept if may_see(intervals, n)}}
    planned = make_plan({}, [row] if row.known.joined else [], queue, TAILS)
    assert planned.rows == ((row,) if is_in else ())
    if not is_in:
        assert planned.ahead == ()
        return
    (ahead,) = planned.ahead
    got = carried_out(ahead, intervals, handled)
    assert got == list(range(ahead.after + 1, handled + 1))
    assert all(may_see(intervals, n) for n in got)
    assert len(got) == min(TAILS.entries, handled - intervals_last(intervals, handled))
    assert planned.positions[CHAT].position == ahead.after


def intervals_last(intervals: list[Interval], handled: int) -> int:
    return [i for i in intervals if i.joined < handled][-1].joined


def named(row: ChatRow, chat: str, at_ms: int) -> ChatRow:
    shown = LastMessageRef(sequence=1, version=1, at_ms=at_ms, sender=UserId("anna"))
    return replace(row, chat=ChatId(chat), known=replace(row.known, shown=shown))


def test_only_the_newest_new_chats_get_entries_and_the_others_start_at_their_heads() -> None:
    row = row_of([Interval(0)], 30)
    rows = [named(row, f"g{n}", 1_000 + n) for n in range(5)]
    planned = make_plan({}, rows, {}, TAILS)
    assert [each.chat for each in planned.rows] == ["g4", "g3", "g2", "g1", "g0"]
    assert [(each.chat, each.after, each.up_to) for each in planned.ahead] == [("g4", 25, 30), ("g3", 25, 30)]
    positions = {chat: begun.position for chat, begun in planned.positions.items()}
    assert positions == {"g4": 25, "g3": 25, "g2": 30, "g1": 30, "g0": 30}


def test_a_device_without_missed_entries_reads_nothing() -> None:
    rows = [row_of([Interval(0)], 30, ChatId(f"g{n}")) for n in range(2_000)]
    positions: Mapping[ChatId, int] = {row.chat: 30 for row in rows}
    planned = make_plan(positions, rows, {}, TAILS)
    assert (planned.ahead, planned.rows) == ((), ())
    assert not has_missed_entries(positions, rows)


def test_queued_entries_at_the_ends_of_a_range_are_not_read() -> None:
    row = row_of([Interval(0)], 20, DIRECT)
    kept = {DIRECT: {n: entry(n) for n in (11, 12, 15, 18, 19, 20)}}
    (ahead,) = make_plan({DIRECT: 10}, [row], kept, TAILS).ahead
    assert ahead.reads == (12, 17)
    whole = {DIRECT: {n: entry(n) for n in range(11, 21)}}
    (covered,) = make_plan({DIRECT: 10}, [row], whole, TAILS).ahead
    assert covered.reads == (20, 20)


def test_a_range_of_a_group_is_read_through_the_intervals() -> None:
    (ahead,) = make_plan({CHAT: 10}, [row_of([Interval(0)], 20)], {}, TAILS).ahead
    (tail,) = make_plan({}, [row_of([Interval(0)], 20)], {}, TAILS).ahead
    assert (ahead.is_sure, tail.is_sure) == (False, False)
