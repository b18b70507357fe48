"""What is said of a log of broadcasts that has moved. No engine: the line is a list."""

import pytest
from fixtures.loops import until

from tidings.bus.model import BroadcastLogAdvanced, decode_messages
from tidings.inboxes import publisher
from tidings.inboxes.broadcasts.model import BroadcastLogId
from tidings.inboxes.publisher import BroadcastLogPublisher
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import TenantId

ACME = TenantId("acme")
LOG = BroadcastLogId(ACME, "default")


class Line:
    """`away`: so many more calls fail."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.said: list[tuple[str, BroadcastLogAdvanced]] = []

    async def publish_to_gateway(self, *_: object) -> bool:
        raise AssertionError

    async def publish_broadcasts(self, _: TenantId, inbox: str, payload: bytes) -> int:
        if self.away:
            self.away -= 1
            raise UnavailableError("gone")
        (word,) = decode_messages(payload)
        assert isinstance(word, BroadcastLogAdvanced)
        self.said.append((inbox, word))
        return 1


async def settled(told: BroadcastLogPublisher) -> None:
    await until(lambda: told._debouncer.is_idle)


async def test_what_happens_in_one_go_is_one_word_for_each_log() -> None:
    told = BroadcastLogPublisher(line := Line())
    told.log_advanced(LOG, 2)
    told.log_advanced(LOG, 1)
    told.broadcast_amended(LOG, "n1")
    told.broadcast_amended(LOG, "n1")
    told.log_advanced(BroadcastLogId(ACME, "other"), 7)
    await settled(told)
    assert line.said == [("default", BroadcastLogAdvanced(2, ("n1",))), ("other", BroadcastLogAdvanced(7))]


async def test_while_redis_is_away_words_wait_and_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_RETRY_S", 0.01)
    told = BroadcastLogPublisher(line := Line(away=3))
    told.log_advanced(LOG, 1)
    told.broadcast_amended(LOG, "n1")
    await until(lambda: line.away < 3)
    told.log_advanced(LOG, 2)
    told.broadcast_amended(LOG, "n2")
    await settled(told)
    assert line.said == [("default", BroadcastLogAdvanced(2, ("n1", "n2")))]


async def test_no_more_logs_wait_than_are_allowed_and_those_left_out_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publisher, "MAX_PENDING_LOGS", 2)
    told = BroadcastLogPublisher(line := Line())
    for number in range(4):
        told.log_advanced(BroadcastLogId(ACME, f"inbox-{number}"), 1)
    told.log_advanced(BroadcastLogId(ACME, "inbox-0"), 2)
    await settled(told)
    assert [inbox for inbox, _ in line.said] == ["inbox-0", "inbox-1"]
    assert told.lost == 2
