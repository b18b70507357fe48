"""Reconnects: when, with which credential, and when the client stops."""

from functools import partial

import pytest
from clients import client_of
from fixtures.loops import until
from scripted_server import ScriptedServer, error

from tidings_sdk import (
    Client,
    ClientStopped,
    ConnectionStateChanged,
    CredentialRefused,
    MemoryStore,
    ProtocolUnsupported,
    RequestRefused,
    StoreOwnerMismatch,
)
from tidings_sdk.stores.store import StoreOwner


class Tokens:
    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        return f"token-{self.asked}"


def _has_come(server: ScriptedServer, times: int) -> bool:
    return len(server.hellos) == times


async def stopped_by(client: Client) -> BaseException:
    with pytest.raises(ClientStopped) as stop:
        async for _ in client.events():
            pass
    return stop.value


@pytest.mark.parametrize("code", [4000, 4001, 4002, 4005, 4499, 1001, 1011, 1012, 1013])
async def test_the_client_reconnects_after_a_reconnect_code(code: int) -> None:
    async with ScriptedServer() as server, client_of(server):
        await until(lambda: server.sockets)
        await server.close_all(code)
        await until(lambda: len(server.hellos) == 2)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (4500, CredentialRefused),
        (4501, ClientStopped),
        (4504, ProtocolUnsupported),
        (4505, ClientStopped),
        (4506, CredentialRefused),
        (4999, ClientStopped),
        (1008, ClientStopped),
    ],
)
async def test_a_terminal_close_stops_the_client_and_keeps_the_outbox(
    code: int, kind: type[ClientStopped]
) -> None:
    store = MemoryStore()
    async with ScriptedServer() as server:
        server.answers["send"] = lambda _: error("overloaded", retryable=True)
        async with client_of(server, store=store) as client:
            _ = client.chat("g1").send("hi")
            await until(server.tries)
            await server.close_all(code, "name")
            stop = await stopped_by(client)
            assert type(stop) is kind
            with pytest.raises(ClientStopped):
                _ = client.chat("g1").send("more")
            with pytest.raises(ClientStopped):
                await client.flush()
        assert len(server.hellos) == 1
        assert len(store.load().rows) == 1


async def test_the_delay_of_a_close_is_respected() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        await until(lambda: server.sockets)
        await server.close_all(4005, "try_again_later retry_after_ms=300")
        closed = await anext(
            e async for e in client.events() if isinstance(e, ConnectionStateChanged) and e.state == "closed"
        )
        assert closed.wait_s == 0.3
        await until(lambda: len(server.hellos) == 2)


async def test_a_provider_is_called_once_and_again_after_expiry() -> None:
    tokens = Tokens()
    async with ScriptedServer() as server, client_of(server, token=tokens):
        for count, code in enumerate((4000, 4006, 4500), start=1):
            await until(lambda: server.sockets)
            await server.close_all(code)
            await until(partial(_has_come, server, count + 1))
        credentials = [hello["credential"] for hello in server.hellos]
        assert credentials == ["token-1", "token-1", "token-2", "token-3"]


async def test_a_fresh_credential_that_is_refused_stops_the_client() -> None:
    refusal = (error("credential_invalid"), 4500, "credential_invalid")
    async with (
        ScriptedServer(refuse_connect=[refusal]) as server,
        client_of(server, token=Tokens()) as client,
    ):
        assert isinstance(await stopped_by(client), CredentialRefused)
        assert len(server.hellos) == 1


async def test_a_string_that_has_expired_stops_the_client() -> None:
    refusal = (error("credential_expired"), 4006, "credential_expired retry_after_ms=1")
    async with ScriptedServer(refuse_connect=[refusal]) as server, client_of(server) as client:
        assert isinstance(await stopped_by(client), CredentialRefused)


async def test_a_failing_provider_is_called_again() -> None:
    tries = 0

    async def tokens() -> str:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError("the login is away")
        return "anna"

    async with ScriptedServer() as server, client_of(server, token=tokens) as client:
        assert (await client.chat("g1").send("hi")).sequence == 1


async def test_the_client_waits_for_a_server_that_starts_later() -> None:
    async with ScriptedServer() as gone:
        pass
    async with client_of(gone) as client:
        sending = client.chat("g1").send("hi")
        await anext(
            e async for e in client.events() if isinstance(e, ConnectionStateChanged) and e.state == "closed"
        )
        async with ScriptedServer(port=gone.port):
            assert (await sending).sequence == 1


async def test_reconnect_waits_for_the_answers_in_flight() -> None:
    async with ScriptedServer(["answer", "leave"]) as server, client_of(server) as client:
        chat = client.chat("g1")
        assert (await chat.send("one")).sequence == 1
        await until(lambda: len(server.hellos) == 2)
        assert (await chat.send("two")).sequence == 2
        assert len(server.tries()) == 2


async def test_the_outbox_of_another_user_is_not_sent() -> None:
    store = MemoryStore()
    store.own(StoreOwner("ben", "d-1", 0))
    async with ScriptedServer() as server, client_of(server, store=store) as client:
        sending = client.chat("g1").send("hi")
        assert isinstance(await stopped_by(client), StoreOwnerMismatch)
        assert not server.tries()
        assert sending.is_done


async def test_a_refused_request_that_is_not_of_the_outbox_raises() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        server.answers["read"] = lambda _: error("unknown_request")
        with pytest.raises(RequestRefused, match="unknown_request"):
            await client.chat("g1").read(1)


async def test_pings_are_answered() -> None:
    async with ScriptedServer() as server, client_of(server):
        await until(lambda: server.sockets)
        await server.push(ping={})
        await until(lambda: server.tries("pong"))


@pytest.mark.parametrize(
    ("status", "body", "wait_s"),
    [(503, b'{"retry_after_ms":250}', 0.25), (429, b"<html>", 1.0), (502, b"", None)],
)
async def test_a_temporary_http_error_is_retried_after_its_delay(
    status: int, body: bytes, wait_s: float | None
) -> None:
    async with ScriptedServer(shut=(status, body)) as server, client_of(server) as client:
        closed = await anext(
            e async for e in client.events() if isinstance(e, ConnectionStateChanged) and e.state == "closed"
        )
        assert closed.wait_s == wait_s if wait_s else (closed.wait_s or 0) < 0.1


async def test_an_http_not_found_stops_the_client() -> None:
    async with ScriptedServer(shut=(404, b"")) as server, client_of(server) as client:
        assert "HTTP 404" in str(await stopped_by(client))
