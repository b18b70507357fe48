"""Messages about changed broadcast logs, with a bus in memory."""

from typing import override

import pytest
from fixtures.loops import until
from fixtures.unused_ports import UnusedBus

from tidings.bus.model import BroadcastLogAdvanced, decode_messages
from tidings.inboxes.broadcasts import log
from tidings.inboxes.broadcasts.log import BroadcastLogPublisher
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import TenantId

ACME = TenantId("acme")
LOG = BroadcastLogId(ACME, "default")


class MemoryBus(UnusedBus):
    """A bus in memory. The next `away` calls fail."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.published: list[tuple[str, BroadcastLogAdvanced]] = []

    @override
    async def publish_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        if self.away:
            self.away -= 1
            raise UnavailableError("gone")
        (word,) = decode_messages(payload)
        assert isinstance(word, BroadcastLogAdvanced)
        self.published.append((inbox, word))
        return 1


async def settled(log_publisher: BroadcastLogPublisher) -> None:
    await until(lambda: log_publisher._debouncer.is_idle)


async def test_changes_in_one_turn_are_one_message_per_log() -> None:
    log_publisher = BroadcastLogPublisher(bus := MemoryBus())
    log_publisher.log_advanced(LOG, 2)
    log_publisher.log_advanced(LOG, 1)
    log_publisher.broadcast_amended(LOG, "n1")
    log_publisher.broadcast_amended(LOG, "n1")
    log_publisher.log_advanced(BroadcastLogId(ACME, "other"), 7)
    await settled(log_publisher)
    assert bus.published == [
        ("default", BroadcastLogAdvanced(2, ("n1",))),
        ("other", BroadcastLogAdvanced(7)),
    ]


async def test_while_redis_is_unavailable_messages_wait_and_are_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "_RETRY_S", 0.01)
    log_publisher = BroadcastLogPublisher(bus := MemoryBus(away=3))
    log_publisher.log_advanced(LOG, 1)
    log_publisher.broadcast_amended(LOG, "n1")
    await until(lambda: bus.away < 3)
    log_publisher.log_advanced(LOG, 2)
    log_publisher.broadcast_amended(LOG, "n2")
    await settled(log_publisher)
    assert bus.published == [("default", BroadcastLogAdvanced(2, ("n1", "n2")))]


async def test_the_number_of_waiting_logs_is_bounded_and_dropped_ones_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "MAX_PENDING_LOGS", 2)
    log_publisher = BroadcastLogPublisher(bus := MemoryBus())
    for number in range(4):
        log_publisher.log_advanced(BroadcastLogId(ACME, f"inbox-{number}"), 1)
    log_publisher.log_advanced(BroadcastLogId(ACME, "inbox-0"), 2)
    await settled(log_publisher)
    assert [inbox for inbox, _ in bus.published] == ["inbox-0", "inbox-1"]
    assert log_publisher.lost == 2
