"""`tidings run gateway`: devices connect, are served, rejected, asked to reconnect, disconnected, and reconnect."""

import json
import signal
import socket

import psutil
import pytest
from contract.telemetry.running import eventually
from fixtures.gateway_process import GatewayProcess, SocketDevice, connected
from fixtures.loops import until

from tidings.gateway.transport.websockets_transport import BackendName
from tidings.kernel.errors import Code
from tidings_wire.close_codes import CloseCode

MESSAGE = {"client_message_id": "k-1", "after": 1, "text": "Hello!"}


@pytest.fixture(params=["picows", pytest.param("websockets", marks=pytest.mark.long)])
def library(request: pytest.FixtureRequest) -> BackendName:
    name: BackendName = request.param
    return name


async def test_devices_send_repeat_read_and_mark(env: GatewayProcess, library: BackendName) -> None:
    await env.create_tenant()
    gateway = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library)
    chat = (await env.direct("anna", "ben")).chat
    port = gateway.socket_port
    async with connected(env, port, "anna") as anna, connected(env, port, "ben") as ben:
        assert await anna.ask("send", chat=chat, **MESSAGE) == {"sequence": 2}
        assert await anna.ask("send", chat=chat, **MESSAGE) == {"sequence": 2, "is_repeat": True}
        page = await ben.ask("history", chat=chat, limit=1)
        assert [entry["text"] for entry in page["entries"]] == ["Hello!"]
        assert await ben.ask("ack", delivered={chat: 2}) == {}
        assert await ben.ask("read", chat=chat, sequence=2) == {}
        assert (await ben.ask("read", chat=chat, sequence=3))["code"] == Code.POSITION_AHEAD
        assert (await anna.ask("history", chat="not-there"))["code"] == Code.CHAT_NOT_FOUND
        assert await anna.ask("ping") == {}
        assert (await anna.ask("dance"))["code"] == Code.UNKNOWN_REQUEST
        assert gateway.metric("socket_devices") == 2
    await until(lambda: gateway.metric("socket_open") == 0)
    assert gateway.metric("socket_accepted_total") == 2
    assert gateway.metric('socket_requests_total{kind="send",outcome="ok"}') == 2
    assert gateway.metric('socket_request_seconds_count{kind="history"}') == 2
    assert gateway.metric('socket_closes_total{code="normal"}') == 2
    assert gateway.metric('socket_frames_total{direction="in"}') == 11
    assert gateway.faults() == []


async def test_a_rejected_device_gets_the_reason_as_close_code(
    env: GatewayProcess, library: BackendName
) -> None:
    await env.create_tenant()
    port = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library).socket_port
    good = env.token("anna")
    forged = good[:-8] + ("A" * 8 if not good.endswith("A" * 8) else "B" * 8)
    for first, error, code in (
        ({"id": 1, "connect": {"credential": forged, "protocol": 1}}, "credential_invalid", 4500),
        ({"id": 1, "ping": {}}, "request_invalid", CloseCode.CONNECT_EXPECTED),
        ({"id": 1, "connect": {"credential": good}}, "request_invalid", CloseCode.FRAME_INVALID),
        (["no", "frame"], None, CloseCode.FRAME_INVALID),
    ):
        device = await SocketDevice.open(port)
        await device.say(first)
        if error is not None:
            assert (await device.answer(1))["code"] == error
        assert (await device.end())[0] == code
    large = await SocketDevice.open(port)
    await large.ws.send("x" * 65_537)
    assert (await large.end())[0] == CloseCode.FRAME_TOO_LARGE


async def test_credentials_expire_and_connect_has_a_deadline_of_five_seconds(
    env: GatewayProcess, library: BackendName
) -> None:
    await env.create_tenant()
    port = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library).socket_port
    silent, brief = await SocketDevice.open(port), await SocketDevice.open(port)
    welcome = await brief.connect(env.token("anna", life_s=3))
    assert 0 < welcome["expires_at"] - welcome["at"] <= 3_000
    assert (await brief.end())[0] == CloseCode.CREDENTIAL_EXPIRED
    code, reason = await silent.end()
    assert code == CloseCode.CONNECT_TIMEOUT
    assert "retry_after_ms=" in reason


async def test_a_newer_connection_of_a_device_replaces_the_older(
    env: GatewayProcess, library: BackendName
) -> None:
    await env.create_tenant()
    gateway = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library)
    port = gateway.socket_port
    async with connected(env, port, "anna", device="phone") as older:
        async with (
            connected(env, port, "anna", device="laptop") as other,
            connected(env, port, "ben", device="phone") as another,
            connected(env, port, "anna", device="phone") as newer,
        ):
            assert (await older.end())[0] == CloseCode.REPLACED
            for device in (other, another, newer):
                assert await device.ask("ping") == {}
            assert gateway.metric("socket_devices") == 3
        await until(lambda: gateway.metric("socket_devices") == 0)


async def test_a_stopping_gateway_tells_each_device_when_to_reconnect(
    env: GatewayProcess, library: BackendName
) -> None:
    await env.create_tenant()
    gateway = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library)
    port = gateway.socket_port
    unauthenticated = await SocketDevice.open(port)
    async with connected(env, port, "anna") as polite, connected(env, port, "ben") as stubborn:
        gateway.popen.terminate()
        reconnects = [
            (await device.push(lambda frame: "reconnect" in frame)) for device in (polite, stubborn)
        ]
        assert all(each["reconnect"]["retry_after_ms"] <= 500 for each in reconnects)
        assert await polite.ask("ping") == {}, "it goes on until it leaves"
        assert (await unauthenticated.end())[0] == CloseCode.SERVER_SHUTDOWN
        await polite.close()
        assert (await stubborn.end())[0] == CloseCode.SERVER_SHUTDOWN
        with socket.socket() as late:
            assert late.connect_ex(("127.0.0.1", port)) != 0
    assert gateway.exit_code() == 0
    (line,) = gateway.events("devices have left")
    assert (line["notified"], gateway.faults()) == (3, [])


async def test_after_a_kill_and_restart_all_acknowledged_messages_exist(
    env: GatewayProcess, library: BackendName
) -> None:
    await env.create_tenant()
    chat = (await env.direct("anna", "ben")).chat
    first = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library)
    async with connected(env, first.socket_port, "anna") as anna:
        assert await anna.ask("send", chat=chat, **MESSAGE) == {"sequence": 2}
        first.popen.kill()
        assert (await anna.end())[0] is None
    assert first.exit_code() == -signal.SIGKILL
    second = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library, TIDINGS_GATEWAY_PORT=str(first.socket_port))
    async with connected(env, second.socket_port, "anna") as anna:
        assert await anna.ask("send", chat=chat, **MESSAGE) == {"sequence": 2, "is_repeat": True}


async def test_a_slow_reader_is_closed_with_a_code_to_resume(
    env: GatewayProcess, library: BackendName
) -> None:
    await env.create_tenant()
    chat = (await env.direct("anna", "ben")).chat
    small = {"TIDINGS_GATEWAY_MAX_SEND_BUFFER_BYTES": "20000", "TIDINGS_GATEWAY_KERNEL_SEND_BYTES": "4096"}
    gateway = env.start(TIDINGS_GATEWAY_SOCKET_LIBRARY=library, **small)
    async with connected(env, gateway.socket_port, "anna") as anna:
        for n in range(30):
            body = {"client_message_id": f"k-{n}", "after": 1, "text": "x" * 3_500}
            assert "sequence" in await anna.ask("send", chat=chat, **body)
        anna.ws.transport.pause_reading()
        for n in range(100, 160):
            await anna.say({"id": n, "history": {"chat": chat, "limit": 30}})
        await until(lambda: gateway.metric("socket_slow_consumers_total") == 1)
        anna.ws.transport.resume_reading()
        assert (await anna.end())[0] in {CloseCode.SLOW_CONSUMER, None}
        name = 'socket_closes_total{code="slow_consumer"}'
        await until(lambda: gateway.metric(name) == 1)


async def test_the_memory_of_a_thousand_devices_is_reused(env: GatewayProcess, library: BackendName) -> None:
    await env.create_tenant()
    gateway = env.start(
        TIDINGS_GATEWAY_SOCKET_LIBRARY=library,
        TIDINGS_GATEWAY_MAX_CONNECTS_PER_S="5000",
        TIDINGS_GATEWAY_CONNECT_BURST="5000",
    )
    port, process, resident = gateway.socket_port, psutil.Process(gateway.popen.pid), []
    token = env.token("anna")
    for _ in range(3):
        for _ in range(10):
            devices = [await SocketDevice.open(port) for _ in range(100)]
            for n, device in enumerate(devices):
                await device.say(
                    {"id": 1, "connect": {"credential": token, "protocol": 1, "device": f"d-{n}"}}
                )
            for device in devices:
                assert (await device.answer(1))["user"] == "anna"
            for device in devices:
                device.ws.transport.abort()
        await until(lambda: gateway.metric("socket_open") == 0)
        resident.append(process.memory_info().rss / 1_024)
    growth_kb = (resident[-1] - resident[0]) / 2_000
    assert growth_kb < 2, f"{growth_kb:.2f} KB a connection stay behind: {resident}"


async def test_too_many_connections_get_retry_after(env: GatewayProcess) -> None:
    await env.create_tenant()
    gateway = env.start(
        TIDINGS_GATEWAY_MAX_CONNECTS_PER_S="1",
        TIDINGS_GATEWAY_CONNECT_BURST="1",
        # If the address's bucket refilled immediately, the address would count as one without recent connections.
        TIDINGS_GATEWAY_MAX_CONNECTS_PER_S_PER_ADDRESS="1",
    )
    with socket.create_connection(("127.0.0.1", gateway.socket_port)) as first:
        first.sendall(_upgrade())
        assert b" 101 " in first.recv(4_096)
        with socket.create_connection(("127.0.0.1", gateway.socket_port)) as second:
            second.sendall(_upgrade())
            head, _, body = second.makefile("rb").read().partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503 ")
            assert json.loads(body)["retry_after_ms"] > 500
    assert gateway.metric('socket_refused_total{status="503"}') == 1


def _upgrade() -> bytes:
    return (
        b"GET /v1/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )


async def test_requests_are_counted_against_the_users_limit(env: GatewayProcess) -> None:
    await env.create_tenant()
    gateway = env.start(TIDINGS_LIMITS_USER_RATE="1/h", TIDINGS_LIMITS_USER_BURST="2")
    chat = (await env.direct("anna", "ben")).chat
    async with connected(env, gateway.socket_port, "anna") as anna:
        answers = [await anna.ask("history", chat=chat) for _ in range(3)]
        assert [answer.get("code") for answer in answers] == [None, None, Code.RATE_LIMITED]
        assert answers[2]["retry_after_ms"] > 3_000_000


async def test_several_gateway_processes_share_a_port_and_stop_together(env: GatewayProcess) -> None:
    await env.create_tenant()
    several = env.start("--processes", "2")
    eventually(lambda: len(several.events("listening")) == 2 or None, "two listeners")
    (port,) = {line["port"] for line in several.events("listening")}
    for _ in range(6):
        async with connected(env, port, "anna") as anna:
            assert await anna.ask("ping") == {}
    several.popen.terminate()
    assert several.exit_code() == 0
    assert len(several.events("devices have left")) == 2


def test_invalid_settings_exit_with_2_and_are_all_reported(env: GatewayProcess) -> None:
    gateway = env.start(
        TIDINGS_GATEWAY_TRUSTED_PROXIES="nonsense",
        TIDINGS_GATEWAY_DRAIN_SPREAD_S="60",
        TIDINGS_REDIS_URL="http://wrong",
    )
    assert gateway.exit_code() == 2
    for fault in ("gateway.trusted_proxies:", "process.stop_s:", "redis.url:"):
        assert fault in gateway.stderr
