"""The size of logs, estimated from the stream."""

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.relay.model import ContentExpired, EntryCommitted, ShardRecord
from tidings.relay.rules import LogSizeEstimator

ONE, OTHER = (ChatKey(TenantId("acme"), ChatId(name)) for name in ("one", "other"))


def record(chat: ChatKey, sequence: int, size_bytes: int) -> ShardRecord:
    return ShardRecord("1", None, EntryCommitted(chat, sequence), size_bytes)


def test_the_longest_log_is_estimated_by_the_mean_size_of_entries() -> None:
    sizes = LogSizeEstimator()
    assert sizes.largest_bytes == 0
    sizes.add([record(ONE, 10, 400), record(OTHER, 1_000, 600)])
    assert sizes.largest_bytes == 500_000
    sizes.add([record(ONE, 11, 500)])
    assert sizes.largest_bytes == 500_000


def test_records_without_a_commit_do_not_count() -> None:
    sizes = LogSizeEstimator()
    sizes.add(
        [ShardRecord("1", None, None, 10_000), ShardRecord("2", None, ContentExpired(ONE, 5_000), 10_000)]
    )
    assert sizes.largest_bytes == 0


def test_each_large_log_is_reported_once() -> None:
    reported: list[tuple[ChatKey, int]] = []
    sizes = LogSizeEstimator(1_000, lambda chat, size: reported.append((chat, size)))
    sizes.add([record(ONE, 10, 100)])
    assert reported == []
    sizes.add([record(ONE, 11, 100), record(OTHER, 12, 100), record(ONE, 13, 100)])
    assert reported == [(ONE, 1_100), (OTHER, 1_200)]
