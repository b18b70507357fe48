"""Open a connection: requests that become a WebSocket, and the answers to the others."""

import asyncio
import ipaddress
import json
import time

import pytest
from contract.gateway.listener_host import hosted
from contract.gateway.raw_client import TEXT, RawClient, ReceivedFrame, request, text
from fixtures.loops import until

from tidings.gateway.transport.ports import (
    AdmissionResult,
    ListenOptions,
    UpgradeRefusal,
    UpgradeRequest,
    UpgradeRules,
)
from tidings.gateway.transport.websockets_transport import BackendName, load_backend
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import AllowedOrigins, UntrustedProxyDetector

APP = "https://app.example"
STRICT = ListenOptions(
    rules=UpgradeRules(
        origins=AllowedOrigins.parse([APP]),
        allow_missing_origin=False,
        subprotocols=("tidings.v2", "tidings.v1"),
        max_head_bytes=2_000,
        max_headers=20,
    ),
    close_timeout_s=1.0,
)
ORIGIN = f"Origin: {APP}"


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (request(ORIGIN, path="/other"), 404),
        (request(ORIGIN, method="POST"), 405),
        (request(ORIGIN).replace(b"HTTP/1.1", b"HTTP/1.0"), 505),
        (request(ORIGIN, without=("Upgrade",)), 426),
        (request(ORIGIN, "Upgrade: h2c"), 426),
        (request(ORIGIN, "Connection: keep-alive"), 426),
        (request(ORIGIN, "Sec-WebSocket-Version: 8"), 426),
        (request(ORIGIN, without=("Sec-WebSocket-Version",)), 426),
        (request(ORIGIN, "Sec-WebSocket-Key: short"), 400),
        (request(ORIGIN, without=("Sec-WebSocket-Key",)), 400),
        (request(ORIGIN, without=("Host",)), 400),
        (request(ORIGIN, "Content-Length: 3"), 400),
        (request(ORIGIN, ORIGIN.lower()), 400),
        (request(ORIGIN, "Sec-WebSocket-Protocol: mqtt"), 400),
        (request(), 403),
        (request("Origin: https://app.example.evil.example"), 403),
        (request("Origin: http://app.example"), 403),
        (request("Origin: null"), 403),
        (request(ORIGIN, "X-Large: " + "x" * 2_000), 431),
        (request(ORIGIN, *(f"X-{n}: y" for n in range(20))), 431),
        (b"GET /v1/socket HTTP/1.1\r\nHost gateway\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"x" * 3_000, 400),
    ],
    ids=lambda value: value[:40].decode("latin-1") if isinstance(value, bytes) else str(value),
)
async def test_a_rejected_upgrade_states_the_reason(name: BackendName, raw: bytes, status: int) -> None:
    async with hosted(name, STRICT) as host, await RawClient.connect(host.port) as client:
        answer = await client.ask(raw)
        assert answer.status == status
        assert answer.headers["connection"] == "close"
        assert json.loads(answer.body)["status"] == status
        assert await client.ended()
        assert host.connections == []
        assert host.listener.tally.refused == {status: 1}


async def test_an_allowed_origin_and_a_known_subprotocol_are_accepted(name: BackendName) -> None:
    offered = "Sec-WebSocket-Protocol: mqtt, tidings.v1, tidings.v2"
    async with hosted(name, STRICT) as host, await RawClient.connect(host.port) as client:
        answer = await client.ask(request(ORIGIN, offered, "User-Agent: raw", path="/v1/socket?token=secret"))
        assert answer.status == 101
        assert answer.headers["sec-websocket-protocol"] == "tidings.v2"
        upgrade = host.connection.upgrade
        assert (upgrade.origin, upgrade.subprotocol, upgrade.user_agent) == (APP, "tidings.v2", "raw")
        assert upgrade.path == "/v1/socket"


async def test_the_accept_key_is_computed_as_in_the_rfc(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.connect(host.port) as client:
        answer = await client.ask(request("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
        assert answer.headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


async def test_no_extension_is_negotiated_unless_compression_is_enabled(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.connect(host.port) as client:
        answer = await client.ask(request("Sec-WebSocket-Extensions: permessage-deflate"))
        assert answer.status == 101
        assert "sec-websocket-extensions" not in answer.headers


async def test_websockets_compresses_if_enabled_and_picows_rejects_the_option() -> None:
    with pytest.raises(TidingsError, match="picows does not compress"):
        load_backend("picows", compresses=True)
    async with (
        hosted("websockets", ListenOptions(compresses=True, close_timeout_s=1.0)) as host,
        await RawClient.connect(host.port) as client,
    ):
        answer = await client.ask(request("Sec-WebSocket-Extensions: permessage-deflate"))
        assert answer.headers["sec-websocket-extensions"].startswith("permessage-deflate")
        client.send(text("a" * 5_000))
        first, second = await client.reader.readexactly(2)
        assert (first, second < 126) == (0xC1, True), "one text frame, compressed"


@pytest.mark.parametrize(
    ("trusted", "headers", "client_address"),
    [
        ((), ["X-Forwarded-For: 203.0.113.9"], "127.0.0.1"),
        (("127.0.0.0/8",), ["X-Forwarded-For: 203.0.113.9"], "203.0.113.9"),
        (("127.0.0.0/8",), ["X-Forwarded-For: 198.51.100.1, 203.0.113.9"], "203.0.113.9"),
        (("127.0.0.0/8", "10.0.0.0/8"), ["X-Forwarded-For: 203.0.113.9, 10.1.2.3"], "203.0.113.9"),
        (("127.0.0.0/8",), ["Forwarded: for=203.0.113.9"], "127.0.0.1"),
    ],
)
async def test_only_a_trusted_proxy_may_set_the_client_address(
    name: BackendName, trusted: tuple[str, ...], headers: list[str], client_address: str
) -> None:
    networks = tuple(ipaddress.ip_network(network) for network in trusted)
    options = ListenOptions(rules=UpgradeRules(trusted_proxies=networks), close_timeout_s=1.0)
    async with hosted(name, options) as host, await RawClient.open(host.port, *headers):
        assert host.connection.upgrade.client == client_address


async def test_an_untrusted_proxy_is_reported_once(
    name: BackendName, caplog: pytest.LogCaptureFixture
) -> None:
    options = ListenOptions(
        unnamed_proxy=UntrustedProxyDetector("gateway.trusted_proxies"), close_timeout_s=1.0
    )
    forwarded = "X-Forwarded-For: 203.0.113.9"
    async with hosted(name, options) as host:
        async with await RawClient.open(host.port):
            assert caplog.messages == []
        async with await RawClient.open(host.port, forwarded), await RawClient.open(host.port, forwarded):
            (line,) = caplog.messages
    assert line.startswith("127.0.0.1 forwards requests, and gateway.trusted_proxies is not set")


@pytest.mark.parametrize("raw", [b"", b"GET /v1/socket HTTP/1.1\r\nHost: slow", b"GET"])
async def test_a_slow_upgrade_request_is_closed_at_the_deadline(name: BackendName, raw: bytes) -> None:
    options = ListenOptions(handshake_timeout_s=0.2, close_timeout_s=1.0)
    async with hosted(name, options) as host, await RawClient.connect(host.port) as client:
        began = time.monotonic()
        assert (await client.ask(raw)).status == 408
        assert await client.ended()
        assert time.monotonic() - began < 5


async def test_sending_byte_by_byte_does_not_extend_the_deadline(name: BackendName) -> None:
    options = ListenOptions(handshake_timeout_s=0.3, close_timeout_s=1.0)
    async with hosted(name, options) as host, await RawClient.connect(host.port) as client:
        client.send(b"GET /v1/socket HTTP/1.1\r\nX-Drip: ")
        answer = asyncio.ensure_future(client.answer())
        began = time.monotonic()
        while not answer.done() and time.monotonic() - began < 5:
            client.send(b"x")
            await asyncio.sleep(0.02)
        assert (await answer).status == 408


async def test_admission_rejects_before_the_upgrade_with_retry_after(name: BackendName) -> None:
    def admit(upgrade: UpgradeRequest) -> AdmissionResult:
        assert upgrade.client == "127.0.0.1"
        return UpgradeRefusal(503, Code.OVERLOADED, "Too many at once", retry_after_ms=1_200)

    async with hosted(name, admit=admit) as host, await RawClient.connect(host.port) as client:
        answer = await client.ask(request())
        assert answer.status == 503
        assert answer.headers["retry-after"] == "2"
        assert json.loads(answer.body) == {
            "status": 503,
            "code": "overloaded",
            "title": "Too many at once",
            "retry_after_ms": 1_200,
        }
        assert host.connections == []


async def test_frames_sent_during_a_slow_admission_are_not_lost(name: BackendName) -> None:
    decided = asyncio.Event()

    async def admit(_: UpgradeRequest) -> AdmissionResult:
        await decided.wait()
        return None

    async with hosted(name, admit=admit) as host, await RawClient.connect(host.port) as client:
        client.send(request() + text("eager"))
        await until(lambda: host.listener._handshakes)
        client.send(text("still waiting"))
        decided.set()
        assert (await client.answer()).status == 101
        assert await client.frame() == ReceivedFrame(TEXT, b"eager")
        assert await client.frame() == ReceivedFrame(TEXT, b"still waiting")


async def test_admission_that_never_answers_ends_at_the_handshake_deadline(name: BackendName) -> None:
    async def admit(_: UpgradeRequest) -> AdmissionResult:
        await asyncio.Event().wait()
        return None

    options = ListenOptions(handshake_timeout_s=0.2, close_timeout_s=1.0)
    async with hosted(name, options, admit=admit) as host, await RawClient.connect(host.port) as client:
        assert (await client.ask(request())).status == 408
        await until(lambda: not host.listener._handshakes)


async def test_a_failing_admission_rejects_the_connection(name: BackendName) -> None:
    async def admit(_: UpgradeRequest) -> AdmissionResult:
        raise RuntimeError("no bucket")

    async with hosted(name, admit=admit) as host, await RawClient.connect(host.port) as client:
        assert (await client.ask(request())).status == 500
        assert [str(error) for _, error in host.faults] == ["no bucket"]
        host.faults.clear()


async def test_a_full_gateway_rejects_connections_until_one_is_closed(name: BackendName) -> None:
    options = ListenOptions(max_connections=2, close_timeout_s=1.0, full_retry_ms=(100, 200))
    async with hosted(name, options) as host:
        first, second = await RawClient.open(host.port), await RawClient.open(host.port)
        async with await RawClient.connect(host.port) as third:
            answer = await third.ask(request())
            assert answer.status == 503
            assert 100 <= json.loads(answer.body)["retry_after_ms"] <= 200
        first.reset()
        await until(lambda: len(host.listener.sockets) == 1)
        async with await RawClient.open(host.port) as fourth:
            fourth.send(text("in"))
            assert await fourth.frame() == ReceivedFrame(TEXT, b"in")
        second.reset()


async def test_idle_handshakes_are_dropped_for_a_client_that_sends_its_request(name: BackendName) -> None:
    options = ListenOptions(max_handshakes=2, handshake_timeout_s=30.0, close_timeout_s=1.0)
    async with hosted(name, options) as host:
        idle = [await RawClient.connect(host.port) for _ in range(5)]
        client = await RawClient.connect(host.port)
        assert (await client.ask(request())).status == 101
        assert len(host.listener._handshakes) <= 2
        await until(lambda: host.listener.tally.handshakes_dropped >= 3)
        for other in [*idle, client]:
            other.reset()


async def test_an_address_has_a_limit_of_open_connections(name: BackendName) -> None:
    options = ListenOptions(max_connections_per_address=2, close_timeout_s=1.0, full_retry_ms=(100, 200))
    async with hosted(name, options) as host:
        first, second = await RawClient.open(host.port), await RawClient.open(host.port)
        async with await RawClient.connect(host.port) as third:
            answer = await third.ask(request())
            assert answer.status == 503
            assert "from this address" in json.loads(answer.body)["title"]
        first.reset()
        await until(lambda: len(host.listener.sockets) == 1)
        async with await RawClient.open(host.port) as fourth:
            fourth.send(text("in"))
            assert await fourth.frame() == ReceivedFrame(TEXT, b"in")
        second.reset()


async def test_clients_behind_a_trusted_proxy_have_separate_limits(name: BackendName) -> None:
    rules = UpgradeRules(trusted_proxies=(ipaddress.ip_network("127.0.0.1/32"),))
    options = ListenOptions(
        rules=rules, max_connections_per_address=1, max_handshakes_per_address=1, close_timeout_s=1.0
    )
    async with hosted(name, options) as host:
        idle = await RawClient.connect(host.port)
        seen = []
        clients = []
        for client in ("192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"):
            clients.append(await RawClient.connect(host.port))
            seen.append((await clients[-1].ask(request(f"X-Forwarded-For: {client}"))).status)
        assert seen == [101, 503, 101, 101, 503]
        assert host.listener.tally.handshakes_dropped == 0
        for each in [idle, *clients]:
            each.reset()


async def test_a_handshake_in_progress_is_rejected_when_accepting_stops(name: BackendName) -> None:
    async with hosted(name) as host, await RawClient.connect(host.port) as client:
        await until(lambda: host.listener._handshakes)
        client.send(b"GET /v1/socket HTTP/1.1\r\n")
        async with await RawClient.open(host.port) as inside:
            host.listener.stop_accepting()
            assert (await client.answer()).status == 503
            inside.send(text("still in"))
            assert await inside.frame() == ReceivedFrame(TEXT, b"still in")
            with pytest.raises(ConnectionRefusedError):
                await RawClient.connect(host.port)
