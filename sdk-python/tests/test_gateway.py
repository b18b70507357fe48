"""End to end: the SDK and the client of the tutorial with real gateways and engines."""

import asyncio
import sys
from pathlib import Path

import pytest
from faults.proxy import TcpProxy
from fixtures.connection_cutter import connection_cutter, cut_before
from fixtures.gateway_process import GatewayProcess

from tidings_sdk import Client, FileStore, RequestRefused, SendFailed, Timeouts

PLAIN = Path(__file__).parents[2] / "docs" / "tutorials" / "plain_client.py"
MESSAGES = 40


def client_at(env: GatewayProcess, port: int, user: str, outbox: Path) -> Client:
    async def token() -> str:
        return env.token(user)

    url = f"ws://127.0.0.1:{port}/v1/socket"
    patience = Timeouts(backoff_first_s=0.05, backoff_longest_s=0.2)
    store = FileStore(outbox)
    return Client(url, token, store=store, device=f"{user}-1", proxy=None, patience=patience)


async def test_two_clients_lose_nothing_when_connections_are_cut_repeatedly(
    env: GatewayProcess, tmp_path: Path
) -> None:
    await env.create_tenant()
    one, two = env.start(), env.start()
    chat = (await env.direct("anna", "ben")).chat
    with TcpProxy("127.0.0.1", one.socket_port) as first, TcpProxy("127.0.0.1", two.socket_port) as second:
        async with (
            client_at(env, first.port, "anna", tmp_path / "anna") as anna,
            client_at(env, second.port, "ben", tmp_path / "ben") as ben,
        ):
            async with connection_cutter(first, second) as cuts:
                await asyncio.gather(_all(anna, chat, "a", cuts), _all(ben, chat, "b", cuts))
            pages = [await client.chat(chat).history(after=0, limit=200) for client in (anna, ben)]
    for page in pages:
        texts = [entry.text for entry in reversed(page.entries) if entry.kind == "message"]
        assert [text for text in texts if text[0] == "a"] == [f"a-{n:03}" for n in range(MESSAGES)]
        assert [text for text in texts if text[0] == "b"] == [f"b-{n:03}" for n in range(MESSAGES)]
    assert sum(cuts) > 3, "the proxies cut nobody: nothing was tried"
    assert one.faults() + two.faults() == []


async def _all(client: Client, chat: str, name: str, cuts: list[int]) -> None:
    """Send some messages concurrently, which the outbox orders, and some one after the other."""
    at_once = [client.chat(chat).send(f"{name}-{n:03}") for n in range(MESSAGES // 2)]
    sequences = [(await sending).sequence for sending in at_once]
    for n in range(MESSAGES // 2, MESSAGES):
        await cut_before(n, cuts)
        sequences.append((await client.chat(chat).send(f"{name}-{n:03}")).sequence)
    assert sequences == sorted(set(sequences))


async def test_a_message_is_edited_reacted_to_redacted_and_read(env: GatewayProcess, tmp_path: Path) -> None:
    await env.create_tenant()
    gateway = env.start()
    chat_id = (await env.direct("anna", "ben")).chat
    async with client_at(env, gateway.socket_port, "anna", tmp_path / "anna") as anna:
        chat = anna.chat(chat_id)
        sent = await chat.send("Helo")
        await chat.edit(sent.sequence, "Hello")
        await chat.react(sent.sequence, "👍")
        (message,) = [e for e in (await chat.history()).entries if e.sequence == sent.sequence]
        assert (message.text, message.reactions[0].emoji, message.by) == ("Hello", "👍", anna.user)
        await chat.read(sent.sequence)
        await chat.redact(sent.sequence)
        with pytest.raises(SendFailed):
            await chat.edit(10_000, "nothing is there")
        with pytest.raises(RequestRefused):
            await anna.chat("not-there").history()
        with pytest.raises(SendFailed):
            await anna.chat("not-there").send("hi")
    assert gateway.faults() == []


async def test_the_client_of_the_tutorial_sends_its_message(env: GatewayProcess) -> None:
    await env.create_tenant()
    gateway = env.start()
    chat = (await env.direct("anna", "ben")).chat
    arguments = (f"ws://127.0.0.1:{gateway.socket_port}/v1/socket", env.token("anna"), chat, "Hello!")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(PLAIN), *arguments, stdout=pipe, stderr=pipe
    )
    out, err = await process.communicate()
    assert (process.returncode, out.strip()) == (0, b"2"), err
