"""History reads while the reader is removed: the membership after the log read decides."""

from collections.abc import Mapping, Sequence

import pytest
from fixtures.memory_keys import AdjustableClock
from simulation.keys import SimKeys

from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.history import History, HistorySlice
from tidings.messages.model import Entry, EntryKind, Interval

CHAT, CLEO = ChatKey(TenantId("acme"), ChatId("g")), UserId("cleo")


class Racing:
    """A log and an interval: after the first read of the interval, the user is removed at 4 and more is sent."""

    def __init__(self) -> None:
        self.log = [entry(n) for n in range(1, 4)]
        self.stays: Sequence[Interval] = (Interval(0, None),)

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        del chat, user
        stays, self.stays = self.stays, (Interval(0, 4),)
        self.log = [entry(n) for n in range(1, 8)]
        return stays

    async def range(
        self, chat: ChatKey, after: int, up_to: int, limit: int, *, newest_first: bool
    ) -> Sequence[Entry]:
        del chat
        found = [each for each in self.log if after < each.sequence <= up_to]
        return (found[::-1] if newest_first else found)[:limit]

    async def between(self, chat: ChatKey, after: int, up_to: int) -> Sequence[Entry]:
        raise NotImplementedError

    async def one(self, chat: ChatKey, sequence: int) -> Entry | None:
        del chat
        return self.log[sequence - 1]

    async def ephemeral(self, chat: ChatKey, after: int, up_to: int) -> Mapping[int, bytes]:
        del chat, after, up_to
        return {}


def entry(sequence: int) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=UserId("anna"),
        client_key=ClientKey(f"k{sequence}"),
        fingerprint=b"",
        created_at_ms=0,
    )


def history() -> History:
    racing = Racing()
    return History(racing, racing.intervals, SimKeys(), AdjustableClock())


def sequences(page: HistorySlice) -> list[int]:
    return [shown.entry.sequence for shown in page.entries]


async def test_reading_forward_returns_nothing_after_the_readers_removal() -> None:
    page = await history().after(CHAT, CLEO, 2, 50)
    assert sequences(page) == [4, 3]
    assert (page.after, page.up_to) == (2, 4)


async def test_the_newest_page_ends_at_the_readers_removal() -> None:
    assert sequences(await history().before(CHAT, CLEO, None, 2)) == [4, 3]


async def test_the_intervals_of_a_former_member_are_read_once() -> None:
    racing = Racing()
    racing.stays = (Interval(0, 2),)
    assert sequences(
        await History(racing, racing.intervals, SimKeys(), AdjustableClock()).after(CHAT, CLEO, 0, 50)
    ) == [
        2,
        1,
    ]


class Still(Racing):
    """The log and the intervals do not change during reads."""

    def __init__(self, *stays: Interval) -> None:
        super().__init__()
        self.log = [entry(n) for n in range(1, 8)]
        self.stays = stays

    async def intervals(self, chat: ChatKey, user: UserId) -> Sequence[Interval]:
        del chat, user
        return self.stays


@pytest.mark.parametrize(
    ("stays", "before", "up_to"),
    [
        ([Interval(0)], 100, 7),
        ([Interval(0)], 8, 7),
        ([Interval(0)], 5, 4),
        ([Interval(0, 4)], 100, 4),
        ([Interval(0, 4)], 3, 2),
        ([Interval(0, 2), Interval(5)], 5, 4),
        ([Interval(0, 2), Interval(5)], 100, 7),
    ],
)
async def test_a_page_never_covers_sequences_above_the_head(
    stays: list[Interval], before: int, up_to: int
) -> None:
    """Later entries would be in the range that the page claims to be complete."""
    still = Still(*stays)
    page = await History(still, still.intervals, SimKeys(), AdjustableClock()).before(CHAT, CLEO, before, 50)
    assert page.up_to == up_to
    newer = [n for stay in stays for n in range(up_to + 1, 8) if stay.joined < n <= (stay.removed or 7)]
    assert page.has_newer or not newer
    assert not (page.has_newer and up_to < before - 1)
