"""A connection joins socket, protocol and calls; the hub has all connected devices. Without a network and without engines."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
from fixtures.gateway_stubs import NoRequestLimiter, StubNode, ignore_answer
from fixtures.loops import until
from unit.gateway.protocol_env import CONNECT

from tidings.accounts.model import Principal
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.connection import Connection, ConnectionDeps, RequestTasks
from tidings.gateway.handlers import HandlerDeps
from tidings.gateway.hub import Hub, HubOptions
from tidings.gateway.ports import GatewayUseCases
from tidings.gateway.protocol_state import ConnectionLimits
from tidings.gateway.stats import TrafficStats
from tidings.gateway.timer_wheel import TimerWheel
from tidings.gateway.transport.ports import Socket, UpgradeRequest
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, DeviceKey, MessageId, TenantId, UserId
from tidings.messages.sender import SendResult
from tidings_wire.close_codes import CloseCode

UPGRADE = UpgradeRequest("/v1/socket", "192.0.2.1", None, None, "", None, None)
KEY = DeviceKey(TenantId("acme"), UserId("anna"), DeviceId("phone"))
SEND = b'{"id":%d,"send":{"chat":"c","client_message_id":"k","text":"hi"}}'


@dataclass(eq=False)
class Wire:
    """A socket that records what was sent."""

    upgrade: UpgradeRequest = UPGRADE
    received_at: float = 0.0
    buffered_bytes: int = 0
    sent: list[bytes] = field(default_factory=list)
    closed: tuple[int, str] | None = None

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def close(self, code: int, reason: str = "") -> None:
        self.closed = self.closed or (code, reason)

    def abort(self) -> None: ...

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(data) for data in self.sent]


class ConnectionEnv:
    """`gate` holds every send and every credential until it is set."""

    def __init__(self, **limits: int) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.now = 100.0
        self.faults: list[str] = []
        self.traffic = TrafficStats()
        self.timers: TimerWheel[Connection] = TimerWheel(0.25)
        self.hub: Hub[ConnectedDevice] = Hub(_send_all, self.traffic)
        unused: Any = None
        sender: Any = self
        cases = GatewayUseCases(
            credentials=self,
            limiter=NoRequestLimiter(),
            sender=sender,
            edits=unused,
            history=unused,
            watermarks=unused,
        )
        wanted = ConnectionLimits(**limits)
        self.requests = RequestTasks(
            ignore_answer, lambda what, _: self.faults.append(what), wanted.user_in_flight
        )
        self.shared = ConnectionDeps(
            handlers=HandlerDeps(cases=cases, limits=wanted, clock=SystemClock()),
            hub=self.hub,
            timers=self.timers,
            requests=self.requests,
            traffic=self.traffic,
            now=lambda: self.now,
            node=cast("Any", StubNode()),
        )

    async def verify(self, bearer: str, /) -> Principal:
        await self.gate.wait()
        return Principal(
            tenant=KEY.tenant, user=KEY.user, device=DeviceId("phone" if bearer == "c" else bearer)
        )

    async def send(self, *_: object, **__: object) -> SendResult:
        await self.gate.wait()
        return SendResult(MessageId("c.2"), sequence=2, is_repeat=False)

    async def device(self, credential: str = "c") -> tuple[Wire, Connection]:
        wire = Wire()
        peer = Connection(self.shared, wire, UPGRADE)
        peer.on_message(CONNECT.replace(b'"c"', f'"{credential}"'.encode()))
        await until(lambda: len(wire.sent) == 2 or wire.closed)
        return wire, peer


def _send_all(sockets: Iterable[Socket], data: bytes) -> None:
    for socket in sockets:
        socket.send(data)


async def test_a_frame_is_the_same_object_for_every_connected_device() -> None:
    env = ConnectionEnv()
    (one, _), (two, _) = await env.device("phone"), await env.device("laptop")
    frame = b'{"ping":{}}'
    other, away = KEY._replace(device=DeviceId("laptop")), KEY._replace(user=UserId("ben"))
    here = [device for key in (KEY, away, other) if (device := env.hub.get(key)) is not None]
    assert [device.key for device in here] == [KEY, other]
    env.hub.send(frame, [device.socket for device in here])
    assert one.sent[-1] is frame
    assert two.sent[-1] is frame
    assert (env.traffic.frames_out, env.traffic.bytes_out) == (6, sum(map(len, one.sent + two.sent)))


async def test_closing_a_replaced_connection_keeps_the_newer_one() -> None:
    env = ConnectionEnv()
    older, peer = await env.device()
    newer, _ = await env.device()
    assert older.closed == (CloseCode.REPLACED, "replaced")
    assert newer.closed is None
    peer.on_close(CloseCode.REPLACED)
    device = env.hub.get(KEY)
    assert device is not None
    assert device.socket is newer


async def test_an_authentication_after_the_close_is_ignored() -> None:
    env = ConnectionEnv()
    env.gate.clear()
    wire = Wire()
    peer = Connection(env.shared, wire, UPGRADE)
    peer.on_message(CONNECT)
    peer.on_close(1006)
    env.gate.set()
    await until(lambda: len(env.requests) == 0)
    assert (wire.sent, len(env.hub), len(env.timers), env.shared.connections) == ([], 0, 0, {})
    assert (env.faults, env.traffic.closes) == ([], {"abnormal": 1})


async def test_requests_in_flight_are_bounded_over_all_devices_of_a_user() -> None:
    env = ConnectionEnv(user_in_flight=3)
    (one, first), (two, second) = await env.device("phone"), await env.device("laptop")
    env.gate.clear()
    for n in range(10, 14):
        (first if n % 2 else second).on_message(SEND % n)
    refused = [frame for frame in one.frames + two.frames if "error" in frame]
    assert [frame["error"]["code"] for frame in refused] == [Code.RATE_LIMITED]
    env.gate.set()
    await until(lambda: len(env.requests) == 0)
    first.on_message(SEND % 20)
    await until(lambda: one.frames[-1].get("id") == 20)
    assert one.frames[-1]["ok"]["sequence"] == 2


async def test_a_silent_device_is_pinged_and_then_closed() -> None:
    env = ConnectionEnv()
    wire, _ = await env.device()
    for _ in range(200):
        env.now += 0.25
        for peer in env.timers.due(env.now):
            peer.on_timer()
    assert wire.frames[2:] == [{"ping": {}}]
    assert wire.closed is not None
    assert wire.closed[0] == CloseCode.HEARTBEAT_TIMEOUT
    assert (len(env.hub), len(env.timers)) == (0, 0)


async def test_unfinished_calls_are_cancelled_at_the_stop() -> None:
    env = ConnectionEnv()
    _, peer = await env.device()
    env.gate.clear()
    peer.on_message(SEND % 9)
    assert await env.requests.wait_idle(0.01) == 1
    assert (len(env.requests), env.faults) == (0, [])


@pytest.mark.parametrize(("code", "name"), [(4002, "slow_consumer"), (1001, "going_away"), (3999, "other")])
def test_closes_are_counted_by_known_codes_only(code: int, name: str) -> None:
    traffic = TrafficStats()
    traffic.closed(code)
    assert traffic.closes == {name: 1}


async def test_one_device_too_many_of_a_user_closes_the_oldest_permanently() -> None:
    env = ConnectionEnv()
    env.shared.hub._options = HubOptions(devices_per_user=2)
    wires = [(await env.device(name))[0] for name in ("one", "two", "three")]
    assert [wire.closed and wire.closed[0] for wire in wires] == [CloseCode.TOO_MANY_DEVICES, None, None]
    assert not CloseCode.TOO_MANY_DEVICES.is_reconnect
    again, _ = await env.device("two")
    fourth, _ = await env.device("four")
    assert wires[1].closed == (CloseCode.REPLACED, "replaced")
    assert wires[2].closed is not None, "the device that came back is the newest by now"
    assert (again.closed, fourth.closed) == (None, None)


async def test_a_tenant_at_its_limit_gets_try_again_later_and_its_devices_may_reconnect() -> None:
    env = ConnectionEnv()
    env.hub._of_tenant.each = 1
    first, _ = await env.device("one")
    second, _ = await env.device("two")
    assert second.closed is not None
    assert second.closed[0] == CloseCode.TRY_AGAIN_LATER
    again, peer = await env.device("one")
    assert first.closed == (CloseCode.REPLACED, "replaced")
    assert again.closed is None
    peer.on_close(1_000)
    third, _ = await env.device("three")
    assert third.closed is None
    assert env.hub._of_tenant.held(KEY.tenant) == 1
