"""Which entries of a chat are of a time, and how few reads find them."""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence

import pytest

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind
from tidings.trace.lookup import MessageFinder, MessageRange

CHAT = ChatKey(TenantId("acme"), ChatId("gAB12"))


class Timeline:
    """A log in memory. A replica that lags does not have entries beyond `lags_at`."""

    def __init__(self, times_ms: Sequence[int], lags_at: int | None = None) -> None:
        self.times_ms = times_ms
        self.known = len(times_ms) if lags_at is None else lags_at
        self.gets = self.pages = 0

    async def committed_at_ms(self, _: ChatKey, sequence: int) -> int | None:
        self.gets += 1
        return self.times_ms[sequence - 1] if 1 <= sequence <= self.known else None

    async def metadata(self, _: ChatKey, after: int, up_to: int, limit: int) -> Sequence[Entry]:
        self.pages += 1
        last = min(up_to, len(self.times_ms))
        return [_entry(n, self.times_ms[n - 1]) for n in range(last, max(after, last - limit), -1)]


def _entry(sequence: int, at_ms: int) -> Entry:
    return Entry(
        sequence=sequence,
        ordinal=sequence,
        kind=EntryKind.MESSAGE,
        sender=UserId("anna"),
        client_key=ClientKey(str(sequence)),
        fingerprint=b"",
        created_at_ms=at_ms,
    )


def around(timeline: Timeline, at_ms: int | None, limit: int) -> MessageRange:
    return asyncio.run(MessageFinder(timeline).find_around(CHAT, at_ms, limit))


def sequences(found: MessageRange) -> list[int]:
    return [entry.sequence for entry in found.entries]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 9, 33])
def test_a_page_around_any_time_holds_the_entries_next_to_it(count: int) -> None:
    times_ms = [10 * n for n in range(1, count + 1)]
    for at_ms in range(10 * count + 11):
        found = around(Timeline(times_ms), at_ms, 4)
        first = bisect_left(times_ms, at_ms) + 1
        shown = sequences(found)
        assert shown == list(range(shown[0], shown[0] + min(4, count)))
        assert {first - 1, first} & set(range(1, count + 1)) <= set(shown)
        assert (found.has_earlier, found.has_later) == (shown[0] > 1, shown[-1] < count)


def test_a_million_entries_take_twenty_reads_and_two_pages() -> None:
    timeline = Timeline(range(1_000_000))
    assert 700_000 in sequences(around(timeline, 700_000 - 1, 4))
    assert timeline.gets <= 20
    assert timeline.pages == 2


def test_entries_that_a_lagging_replica_does_not_have_count_as_newer() -> None:
    timeline = Timeline([10, 20, 30, 40, 50, 60, 70, 80], lags_at=5)
    assert sequences(around(timeline, 30, 2)) == [2, 3]


def test_without_a_time_the_newest_are_shown() -> None:
    timeline = Timeline([10, 20, 30, 40])
    found = around(timeline, None, 3)
    assert (sequences(found), found.has_earlier, found.has_later) == ([2, 3, 4], True, False)
    assert timeline.gets == 0


def test_a_chat_that_is_not_there_is_named() -> None:
    with pytest.raises(TidingsError) as caught:
        around(Timeline([]), 10, 4)
    assert caught.value.code is Code.CHAT_NOT_FOUND
