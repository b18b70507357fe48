"""Fetch JWKS documents from a real server that is slow, redirects, fails, sends too much, or has a forbidden address."""

import asyncio
import gzip
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
import trustme
from contract.accounts.jwks_server import JwksServer, jwks_server
from fixtures.loops import until
from fixtures.memory_accounts import MemorySigningKeyStore, claims_of, mint, pair
from fixtures.memory_tenants import MemoryTenantStore

from tidings.accounts.credentials import TokenPolicy, UserTokenVerifier
from tidings.accounts.jwks_http import FetchOptions, open_http_jwks
from tidings.accounts.signing_keys import public_part
from tidings.accounts.verification_keys import FetchJwks, KeySourceError, VerificationKeys
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.network_policy import NetworkPolicy
from tidings.tenants.model import TokenSettings
from tidings.tenants.settings import TenantReader

LOCAL = FetchOptions(network=NetworkPolicy.LOCAL, timeout_s=0.5, max_bytes=1000)


class FetchEnv(NamedTuple):
    server: JwksServer
    fetch: FetchJwks


@asynccontextmanager
async def open_fetch(options: FetchOptions = LOCAL) -> AsyncIterator[FetchEnv]:
    async with jwks_server() as server, open_http_jwks(options) as jwks:
        yield FetchEnv(server, jwks.fetch)


async def why_not(fetch: FetchJwks, url: str) -> str:
    with pytest.raises(KeySourceError) as caught:
        await fetch(url)
    return str(caught.value)


async def test_a_document_is_fetched_with_minimal_request_headers() -> None:
    async with open_fetch() as (server, fetch):
        assert await fetch(server.url) == server.body
        request = server.requests[0].decode().lower()
        assert request.startswith("get /keys http/1.1")
        assert "cookie" not in request
        assert "authorization" not in request
        assert "accept-encoding: identity" in request


async def test_a_fetch_from_a_silent_server_times_out() -> None:
    async with open_fetch() as (server, fetch):
        for server.stalls_before, server.stalls_within in ((True, False), (False, True)):
            began = time.monotonic()
            assert "longer than" in await why_not(fetch, server.url)
            assert time.monotonic() - began < 5


async def test_a_huge_answer_is_cut_off_with_and_without_a_content_length() -> None:
    async with open_fetch() as (server, fetch):
        server.body = b" " * 1001
        assert "larger than" in await why_not(fetch, server.url)
        server.endless = True
        assert "larger than" in await why_not(fetch, server.url)
        sent = server.sent_bytes
        await asyncio.sleep(0)
        assert server.sent_bytes - sent < 10_000_000
        assert sent < 10_000_000
        server.endless, server.body = False, b" " * 1000
        assert len(await fetch(server.url)) == 1000


async def test_a_compressed_answer_is_not_decompressed() -> None:
    async with open_fetch() as (server, fetch):
        server.body = gzip.compress(b" " * 500_000)
        server.headers = {"Content-Encoding": "gzip"}
        assert await fetch(server.url) == server.body


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent"])
async def test_a_redirect_is_not_followed(status: str) -> None:
    async with open_fetch() as (server, fetch), jwks_server() as elsewhere:
        server.status, server.headers = status, {"Location": elsewhere.url}
        assert status[:3] in await why_not(fetch, server.url)
        assert elsewhere.requests == []


@pytest.mark.parametrize("status", ["404 Not Found", "500 Oh", "503 Busy", "206 Part"])
async def test_a_status_other_than_200_is_a_failure(status: str) -> None:
    async with open_fetch() as (server, fetch):
        server.status = status
        assert status[:3] in await why_not(fetch, server.url)


async def test_a_closed_or_refused_connection_is_a_failure() -> None:
    async with open_fetch() as (server, fetch):
        server.hangs_up = True
        assert "the request failed" in await why_not(fetch, server.url)
        assert "the request failed" in await why_not(fetch, "http://127.0.0.1:9/keys")
        server.hangs_up, server.status = False, "junk"
        assert "the request failed" in await why_not(fetch, server.url)


@pytest.mark.parametrize("reach", [NetworkPolicy.PUBLIC, NetworkPolicy.PRIVATE])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_loopback_addresses_are_rejected_in_any_notation(reach: NetworkPolicy, host: str) -> None:
    options = FetchOptions(network=reach, timeout_s=2)
    async with open_fetch(options) as (server, fetch):
        reason = await why_not(fetch, f"https://{host}:{server.port}/keys")
        assert "connections to this address are not allowed" in reason
        assert "must be https" in await why_not(fetch, f"http://{host}:{server.port}/keys")
        assert server.requests == []


async def test_a_name_that_resolves_to_an_internal_address_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DNS rebinding: the host name is never checked, the address is checked when its socket is created."""

    async def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]

    async with open_fetch(FetchOptions(timeout_s=2)) as (server, fetch):
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        assert "connections to this address are not allowed" in await why_not(
            fetch, f"https://id.example:{server.port}/"
        )
        assert server.requests == []


async def test_an_untrusted_certificate_is_rejected() -> None:
    ca = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(tls)
    async with jwks_server(tls) as server, open_http_jwks(LOCAL) as jwks:
        assert "the request failed" in await why_not(jwks.fetch, server.url)
        assert server.requests == []


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with jwks_server() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        async with open_fetch() as (server, fetch):
            await fetch(server.url)
            assert len(server.requests) == 1
            assert proxy.requests == []


async def test_a_token_is_verified_with_keys_from_a_real_server_through_its_failures() -> None:
    tenants, key = MemoryTenantStore(), pair("their-kid")
    async with open_fetch() as (server, fetch):
        tenants.put("acme", TokenSettings(jwks_url=server.url))
        server.body = json.dumps({"keys": [public_part(key)]}).encode()
        clock = SystemClock()
        keys = VerificationKeys(MemorySigningKeyStore(), fetch, clock)
        users = UserTokenVerifier(TenantReader(tenants, clock), keys, clock, TokenPolicy(cache_s=0))
        tokens = [mint(key, claims_of(sub=f"u{n}")) for n in range(20)]
        await asyncio.gather(*(users.verify(token) for token in tokens))
        server.status = "500 Oh"
        for token in tokens:
            await users.verify(token)
        with pytest.raises(TidingsError) as caught:
            await users.verify(mint(pair("x"), claims_of()))
        assert caught.value.code is Code.CREDENTIAL_INVALID
        await until(lambda: len(server.requests) == 1)
