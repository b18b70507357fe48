"""The size of logs, estimated from the stream."""

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.relay.model import Committed, Expired, Record
from tidings.relay.sizes import LogSizes

ONE, OTHER = (ChatKey(TenantId("acme"), ChatId(name)) for name in ("one", "other"))


def record(chat: ChatKey, sequence: int, size_bytes: int) -> Record:
    return Record("1", None, Committed(chat, sequence), size_bytes)


def test_the_longest_log_is_estimated_by_the_mean_size_of_entries() -> None:
    sizes = LogSizes()
    assert sizes.largest_bytes == 0
    sizes.note([record(ONE, 10, 400), record(OTHER, 1_000, 600)])
    assert sizes.largest_bytes == 500_000
    sizes.note([record(ONE, 11, 500)])
    assert sizes.largest_bytes == 500_000


def test_what_is_no_commit_does_not_count() -> None:
    sizes = LogSizes()
    sizes.note([Record("1", None, None, 10_000), Record("2", None, Expired(ONE, 5_000), 10_000)])
    assert sizes.largest_bytes == 0


def test_each_large_log_is_reported_once() -> None:
    reported: list[tuple[ChatKey, int]] = []
    sizes = LogSizes(1_000, lambda chat, size: reported.append((chat, size)))
    sizes.note([record(ONE, 10, 100)])
    assert reported == []
    sizes.note([record(ONE, 11, 100), record(OTHER, 12, 100), record(ONE, 13, 100)])
    assert reported == [(ONE, 1_100), (OTHER, 1_200)]
