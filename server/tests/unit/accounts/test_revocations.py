"""Revocations are handled when they take effect, once more shortly after, and never lost to a failed read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fixtures.memory_keys import AdjustableClock

from tidings.accounts.model import Revocation
from tidings.accounts.session_cache import POLL_S, REPEAT_AFTER_MS, WINDOW_MS, RevocationWatch
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId

ACME = TenantId("acme")


@dataclass
class MemoryLog:
    rows: dict[str, tuple[int, Revocation]] = field(default_factory=dict)
    is_down: bool = False

    async def since(self, at_ms: int, /) -> Sequence[tuple[str, Revocation]]:
        if self.is_down:
            raise TidingsError(Code.KEYS_UNAVAILABLE, "the table is away")
        return [(name, each) for name, (written_ms, each) in self.rows.items() if written_ms >= at_ms]


@dataclass
class AccessTokenEnv:
    clock: AdjustableClock = field(default_factory=AdjustableClock)
    log: MemoryLog = field(default_factory=MemoryLog)
    handled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.watch = RevocationWatch(self.log.since, self.clock, self._hear)

    async def _hear(self, revocations: Sequence[Revocation]) -> None:
        self.handled += [str(each.user) for each in revocations]

    def write(self, user: str, in_ms: int = 0) -> None:
        now_ms = self.clock.now_ms()
        revocation = Revocation(tenant=ACME, user=UserId(user), from_ms=now_ms + in_ms)
        self.log.rows[user] = (now_ms, revocation)

    async def run(self, for_s: float) -> list[str]:
        """Return the revocations that were handled in this time."""
        before = len(self.handled)
        for _ in range(round(for_s / POLL_S)):
            self.clock.now_s += POLL_S
            await self.watch.poll()
        return self.handled[before:]


async def test_each_revocation_is_handled_at_once_and_repeated_later() -> None:
    env = AccessTokenEnv()
    env.write("anna")
    assert await env.run(POLL_S) == ["anna"]
    assert await env.run(REPEAT_AFTER_MS / 1000 + POLL_S) == ["anna"]
    assert await env.run(3 * WINDOW_MS / 1000) == []


async def test_a_future_revocation_is_handled_at_its_time() -> None:
    env = AccessTokenEnv()
    env.write("anna", in_ms=2 * WINDOW_MS)
    assert await env.run(2 * WINDOW_MS / 1000 - POLL_S) == []
    assert await env.run(2 * POLL_S) == ["anna"]
    assert await env.run(60) == ["anna"]


async def test_revocations_written_during_an_outage_are_read_later() -> None:
    env = AccessTokenEnv()
    env.write("anna")
    env.log.is_down = True
    assert await env.run(60) == []
    env.log.is_down = False
    assert await env.run(POLL_S) == ["anna"]
