"""Reads with known intervals: members come and go between and during them, and no page shows what it must not."""

from collections.abc import Mapping, Sequence

from fixtures.loops import run
from fixtures.memory_keys import AdjustableClock
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.keys import SimKeys

from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.history import History
from tidings.messages.known_intervals import IntervalCache, KnownIntervals
from tidings.messages.model import Entry, EntryKind, Interval, may_see

CHAT, CLEO = ChatKey(TenantId("acme"), ChatId("g1")), UserId("cleo")
CHANGES = st.sampled_from(["message", "message", "message", "leave", "join"])
READS = st.one_of(
    st.tuples(st.just("newest"), st.integers(1, 4)),
    st.tuples(st.just("before"), st.integers(1, 12)),
    st.tuples(st.just("after"), st.integers(0, 12)),
    st.tuples(st.just("one"), st.integers(1, 12)),
)
STEPS = st.lists(st.tuples(st.lists(CHANGES, max_size=5), READS, st.lists(CHANGES, max_size=6)), max_size=12)


class ChangingLog:
    """A log and the intervals of one user. Before each answer, one of the `pending` changes is committed."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.stays: list[Interval] = [Interval(0)]
        self.pending: list[str] = []
        self.membership_reads = 0
        self.commit("message")

    def commit(self, change: str) -> None:
        sequence, is_member = len(self.entries) + 1, self.stays[-1].removed is None
        kind = EntryKind.MESSAGE
        if change == "leave" and is_member:
            kind = EntryKind.LEAVE
            self.stays[-1] = Interval(self.stays[-1].joined, sequence)
        elif change == "join" and not is_member:
            kind = EntryKind.JOIN
            self.stays.append(Interval(sequence - 1))
        self.entries.append(
            Entry(
                sequence=sequence,
                ordinal=sequence,
                kind=kind,
                sender=UserId("anna"),
                client_key=ClientKey(f"k{sequence}"),
                fingerprint=b"",
                created_at_ms=0,
            )
        )

    def visible(self) -> set[int]:
        return {entry.sequence for entry in self.entries if may_see(self.stays, entry.sequence)}

    def _commit_pending(self) -> None:
        if self.pending:
            self.commit(self.pending.pop())

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        del chat, user
        self.membership_reads += 1
        self._commit_pending()
        return tuple(self.stays)

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]:
        del chat
        self._commit_pending()
        found = [each for each in self.entries if after < each.sequence <= up_to]
        return (found[::-1] if newest_first else found)[:limit]

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        raise NotImplementedError

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None:
        del chat
        self._commit_pending()
        return self.entries[sequence - 1] if sequence <= len(self.entries) else None

    async def ephemeral(self, chat: ChatKey, after: int, up_to: int) -> Mapping[int, bytes]:
        del chat, after, up_to
        return {}


async def read(log: ChangingLog, history: History, kind: str, number: int) -> None:
    """Read once. Entries that were visible at its start are shown; others are shown only if they are visible at its end."""
    visible, head = log.visible(), len(log.entries)
    if kind == "one":
        try:
            shown = {(await history.one(CHAT, CLEO, number)).entry.sequence}
        except TidingsError:
            shown = set()
        expected = {number} & visible
    elif kind == "after":
        page = await history.after(CHAT, CLEO, number, 3)
        shown = {each.entry.sequence for each in page.entries}
        expected = {n for n in visible if page.after < n <= page.up_to}
        assert page.has_newer or {n for n in visible if n > number} <= shown
    else:
        before, limit = (None, number) if kind == "newest" else (number, 3)
        page = await history.before(CHAT, CLEO, before, limit)
        shown = {each.entry.sequence for each in page.entries}
        expected = {n for n in visible if page.after < n <= page.up_to}
        assert before is not None or page.up_to >= max((n for n in visible if n <= head), default=0)
    assert expected <= shown <= log.visible()


@settings(max_examples=400)
@given(STEPS)
def test_a_reader_sees_all_their_entries_and_no_others(
    steps: list[tuple[list[str], tuple[str, int], list[str]]],
) -> None:
    async def follow() -> None:
        log = ChangingLog()
        history = History(log, log.intervals, SimKeys(), AdjustableClock())
        for before, (kind, number), during in steps:
            for change in before:
                log.commit(change)
            log.pending = list(during)
            await read(log, history, kind, number)
            log.pending = []

    run(follow())


async def test_the_membership_is_not_read_again_while_nobody_joins_or_leaves() -> None:
    log = ChangingLog()
    history = History(log, log.intervals, SimKeys(), AdjustableClock())
    await history.before(CHAT, CLEO, None, 10)
    first = log.membership_reads
    for _ in range(3):
        log.commit("message")
        await history.before(CHAT, CLEO, None, 10)
        await history.after(CHAT, CLEO, len(log.entries) - 1, 10)
        await history.one(CHAT, CLEO, len(log.entries))
    assert (first, log.membership_reads) == (2, 2)
    for _ in range(11):
        log.commit("message")
    await history.before(CHAT, CLEO, None, 10)
    assert log.membership_reads == 4, "entries between the known ones and the page are unknown"


def test_the_least_recently_used_intervals_are_forgotten_and_closed_ones_are_not_kept() -> None:
    cache, known = IntervalCache(max_known=2), KnownIntervals((Interval(0),), 7)
    users = [UserId(name) for name in ("anna", "ben", "cleo")]
    for user in users[:2]:
        cache.put(CHAT, user, known)
    assert cache.find(CHAT, users[0]) == known
    cache.put(CHAT, users[2], known)
    assert [cache.find(CHAT, user) for user in users] == [known, None, known]
    cache.put(CHAT, users[2], KnownIntervals((Interval(0, 5),), 7))
    assert cache.find(CHAT, users[2]) is None
