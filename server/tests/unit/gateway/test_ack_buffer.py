"""Gathered acks in virtual time: which acks are written, when, and which a `read` makes unnecessary."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast, override

import pytest
from fixtures.gateway_stubs import StubNode

from tidings.delivery.model import ChatRow, JoinPosition, LogPosition, RowUpdate
from tidings.gateway.ack_buffer import AckBuffer, OrdinalCache
from tidings.gateway.connected_device import ChatPosition, ConnectedDevice
from tidings.kernel.ids import ChatId, ChatKey, DeviceId, DeviceKey, TenantId, UserId

ACME, BEN, PHONE = TenantId("acme"), UserId("ben"), DeviceId("phone")
CHAT, OTHER = ChatId("c1"), ChatId("c2")
HEAD = 100


class VirtualSelector(selectors.SelectSelector):
    """Advance the time of the loop instead of waiting."""

    now = 1000.0

    @override
    def select(self, timeout: float | None = None) -> Any:
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)

    @override
    def time(self) -> float:
        return self._virtual.now


class RecordedWatermarks:
    """Record receipts and writes, each write with its time since the start."""

    def __init__(self) -> None:
        self.began = asyncio.get_running_loop().time()
        self.announced: list[int] = []
        self.writes: list[tuple[float, str, int]] = []

    def announce_delivered(self, chat: ChatKey, user: UserId, sequence: int, *, is_large: bool) -> None:
        del chat, user, is_large
        self.announced.append(sequence)

    async def is_delivered_known(
        self, chat: ChatKey, user: UserId, position: LogPosition, *, is_large: bool
    ) -> None:
        del user, is_large
        self.writes.append(
            (round(asyncio.get_running_loop().time() - self.began, 1), chat.chat, position.sequence)
        )


class AckEnv:
    def __init__(self, flush_s: float = 60.0) -> None:
        self.watermarks = RecordedWatermarks()
        self.faults: list[str] = []
        ordinals = OrdinalCache(of_a_chat=HEAD)
        self.acks = AckBuffer(
            cast("Any", self.watermarks),
            cast("Any", SimpleNamespace()),
            ordinals,
            is_large=lambda _: False,
            flush_s=flush_s,
            report=lambda what, error: self.faults.append(f"{what}: {error!r}"),
        )
        self.device = ConnectedDevice(DeviceKey(ACME, BEN, PHONE), cast("Any", StubNode()))
        for chat in (CHAT, OTHER):
            self.device.positions[chat] = ChatPosition(HEAD, since=1)
            entries = cast("Any", [SimpleNamespace(sequence=n, ordinal=n) for n in range(1, HEAD + 1)])
            ordinals.note(self.device.chat(chat), entries)

    def ack(self, sequence: int, chat: ChatId = CHAT) -> None:
        assert self.acks.take(self.device, chat, sequence)

    def read(self, sequence: int) -> None:
        self.acks.cover(self.device.chat(CHAT), BEN, sequence)

    @property
    def written(self) -> list[int]:
        return [sequence for _, _, sequence in self.watermarks.writes]


@pytest.fixture
def run() -> Callable[[Callable[[AckEnv], Awaitable[None]]], None]:
    def run(scenario: Callable[[AckEnv], Awaitable[None]]) -> None:
        async def bounded() -> None:
            env = AckEnv()
            await scenario(env)
            assert env.faults == []

        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(bounded())

    return run


type Run = Callable[[Callable[[AckEnv], Awaitable[None]]], None]


def test_an_ack_is_announced_at_once_and_written_after_three_seconds(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(7)
        assert env.watermarks.announced == [7]
        await asyncio.sleep(2.9)
        assert env.written == []
        await asyncio.sleep(1.1)
        assert env.written == [7]

    run(scenario)


def test_later_acks_of_a_chat_are_written_once_a_minute_with_the_highest(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        for sequence in range(1, 25):
            env.ack(sequence)
            await asyncio.sleep(5)
        at = [time for time, _, _ in env.watermarks.writes]
        assert env.written == [1, 13]
        assert 3.0 <= at[0] <= 4.0
        assert at[1] - at[0] == pytest.approx(60, abs=1)
        assert env.watermarks.announced == list(range(1, 25))

    run(scenario)


def test_a_read_before_or_within_three_seconds_after_an_ack_replaces_its_write(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        for sequence in range(1, 40):
            if sequence % 2:
                env.read(sequence)
                await asyncio.sleep(1)
                env.ack(sequence)
            else:
                env.ack(sequence)
                await asyncio.sleep(2.5)
                env.read(sequence)
            await asyncio.sleep(4)
        await asyncio.sleep(200)
        assert env.written == []

    run(scenario)


def test_an_ack_after_a_read_waits_from_its_own_time(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(1)
        await asyncio.sleep(1)
        env.read(1)
        await asyncio.sleep(1)
        env.ack(2)
        await asyncio.sleep(2.5)
        env.read(2)
        await asyncio.sleep(200)
        assert env.written == []

    run(scenario)


def test_a_read_is_remembered_until_its_ack_however_long_the_chat_is_open(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        for sequence in range(1, 60):
            env.read(sequence)
            await asyncio.sleep(1.7)
            env.ack(sequence)
            await asyncio.sleep(0.4)
        await asyncio.sleep(200)
        assert (env.written, env.acks._users) == ([], {})

    run(scenario)


def test_a_read_of_less_does_not_replace_the_write(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(9)
        env.read(8)
        await asyncio.sleep(4)
        assert env.written == [9]

    run(scenario)


def test_a_disconnect_writes_all_chats_of_the_user_at_once_and_each_once(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(7)
        env.ack(3, OTHER)
        env.acks.flush_user(ACME, BEN)
        env.acks.flush_user(ACME, BEN)
        await asyncio.sleep(0.1)
        assert sorted(env.watermarks.writes) == [(0.0, CHAT, 7), (0.0, OTHER, 3)]
        await asyncio.sleep(300)
        assert len(env.written) == 2

    run(scenario)


def test_an_ack_after_the_disconnect_is_written_at_once(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.acks.flush_user(ACME, BEN)
        env.device.is_gone = True
        env.ack(7)
        await asyncio.sleep(0.1)
        assert env.written == [7]

    run(scenario)


def test_a_lower_ack_of_another_device_is_not_written(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(7)
        env.ack(5)
        await asyncio.sleep(10)
        env.ack(6)
        await asyncio.sleep(70)
        assert (env.written, env.watermarks.announced) == ([7], [7])

    run(scenario)


def test_a_stop_writes_what_waits(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(7)
        await env.acks.wait_idle(5)
        assert env.written == [7]

    run(scenario)


def test_nothing_is_kept_after_the_interval(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        env.ack(7)
        env.ack(3, OTHER)
        env.read(8)
        await asyncio.sleep(200)
        assert (env.acks._users, len(env.acks._timers), env.acks._turn) == ({}, 0, None)

    run(scenario)


def test_a_resume_below_the_read_watermark_writes_nothing(run: Run) -> None:
    async def scenario(env: AckEnv) -> None:
        known = RowUpdate(head=LogPosition(HEAD, HEAD), joined=JoinPosition(1, 0, 0))
        row = ChatRow(chat=CHAT, known=known, delivered=LogPosition(5, 5), read=LogPosition(50, 50))
        env.acks.take_resumed(env.device, {CHAT: 50}, [row])
        await asyncio.sleep(10)
        assert env.written == []
        env.acks.take_resumed(env.device, {CHAT: 51}, [row])
        await asyncio.sleep(10)
        assert env.written == [51]

    run(scenario)
