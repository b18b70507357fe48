"""`tidings run gateway` with its own TLS and a list of origins: only pages of these origins may connect."""

import asyncio
import json
import socket
import ssl
from pathlib import Path

import pytest
import trustme
from contract.gateway.raw_client import RawClient, request
from fixtures.gateway_process import GatewayProcess, RunningGateway
from fixtures.loops import until
from load.connecting_devices import connect_frame

from tidings.gateway.transport.websockets_transport import BackendName

PAGE = "Origin: https://app.example"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trust(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture(params=["picows", "websockets"])
def gateway(
    env: GatewayProcess, request: pytest.FixtureRequest, authority: trustme.CA, tmp_path: Path
) -> tuple[GatewayProcess, RunningGateway]:
    issued, library = authority.issue_cert("localhost"), request.param
    name: BackendName = library
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    chain.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))
    started = env.start(
        TIDINGS_GATEWAY_SOCKET_LIBRARY=name,
        TIDINGS_GATEWAY_TLS_CERTIFICATE=str(chain),
        TIDINGS_GATEWAY_TLS_KEY=str(key),
        TIDINGS_GATEWAY_ALLOWED_ORIGINS=PAGE.removeprefix("Origin: "),
        TIDINGS_GATEWAY_ALLOW_MISSING_ORIGIN="false",
    )
    return env, started


async def test_an_allowed_origin_is_served_over_tls(
    gateway: tuple[GatewayProcess, RunningGateway], trust: ssl.SSLContext
) -> None:
    env, started = gateway
    await env.create_tenant()
    async with await RawClient.open(started.socket_port, PAGE, tls=trust) as client:
        client.send(connect_frame(env.token("anna"), "d-1"))
        welcomed = json.loads((await client.frame()).payload)
        assert welcomed["ok"]["user"] == "anna"
    await until(lambda: started.metric("socket_open") == 0)
    assert started.faults() == []


async def test_other_origins_and_requests_without_an_origin_are_rejected_over_tls(
    gateway: tuple[GatewayProcess, RunningGateway], trust: ssl.SSLContext
) -> None:
    _, started = gateway
    others = ["https://app.example.evil.example", "http://app.example", "https://app.example:8443", "null"]
    for more in [(f"Origin: {other}",) for other in others] + [()]:
        async with await RawClient.connect(started.socket_port, trust) as client:
            refused = await client.ask(request(*more))
            assert refused.status == 403, more
            assert await client.ended()
    assert started.metric("socket_accepted_total") == 0
    assert started.faults() == []


async def test_clients_without_tls_or_without_trust_in_the_certificate_fail(
    gateway: tuple[GatewayProcess, RunningGateway], trust: ssl.SSLContext
) -> None:
    _, started = gateway
    async with await RawClient.connect(started.socket_port) as client:
        client.send(request(PAGE))
        assert await client.ended()
    with pytest.raises(ssl.SSLCertVerificationError):
        await RawClient.connect(started.socket_port, ssl.create_default_context())
    async with await RawClient.open(started.socket_port, PAGE, tls=trust):
        pass
    assert started.faults() == []


async def test_a_drain_ends_although_a_client_has_not_finished_its_tls_handshake(
    gateway: tuple[GatewayProcess, RunningGateway],
) -> None:
    _, started = gateway
    with socket.create_connection(("127.0.0.1", started.socket_port), timeout=20) as client:
        client.sendall(b"\x16\x03\x01")  # the beginning of a ClientHello
        await asyncio.sleep(0.5)
        started.popen.terminate()
        assert started.exit_code() == 0
        assert client.recv(1) == b""
    assert started.faults() == []
