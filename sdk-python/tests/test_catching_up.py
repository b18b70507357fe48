"""`position_too_old`, a restored installation, and how a client finds its own messages in the log."""

import pytest
from clients import client_of
from fixtures.loops import until
from scripted_server import ScriptedServer, error

from tidings_sdk import (
    InstallationRestored,
    MemoryStore,
    MessageAdded,
    MessageSendFailed,
    SendFailed,
    SendUnconfirmed,
)
from tidings_sdk.stores.store import OutboxEntry, StoreOwner
from tidings_wire.frames.messages import Send


def tried(after: int, *, epoch: int = 0) -> MemoryStore:
    """Return the store of a client that died during a try."""
    store = MemoryStore()
    store.own(StoreOwner("anna", "d-1", epoch))
    store.add(OutboxEntry(Send(chat="g1", client_message_id="k-1", after=after, text="hi"), epoch))
    return store


async def test_after_is_raised_to_the_end_of_the_page_if_the_key_is_absent() -> None:
    store = tried(after=1)
    async with ScriptedServer(window=5) as server:
        for _ in range(300):
            server.add("g1")
        async with client_of(server, store=store) as client:
            await client.flush()
        assert [one["after"] for one in server.tries()] == [1, 300]
        assert server.keys("g1").count("k-1") == 1


async def test_an_own_key_in_the_log_settles_the_message_without_a_resend() -> None:
    store = tried(after=1)
    async with ScriptedServer(window=5) as server:
        server.add("g1")
        server.add("g1", "anna", client_message_id="k-1")
        for _ in range(300):
            server.add("g1")
        async with client_of(server, store=store) as client:
            await client.flush()
        assert [one["after"] for one in server.tries()] == [1]
        assert server.keys("g1").count("k-1") == 1


@pytest.mark.parametrize("kind", ["leave", "join"])
async def test_after_is_not_raised_over_the_end_of_a_membership(kind: str) -> None:
    store = tried(after=1)
    async with ScriptedServer(window=5) as server:
        server.add("g1")
        server.add("g1", kind=kind, users=["anna"])
        for _ in range(10):
            server.add("g1")
        async with client_of(server, store=store) as client:
            failed = await anext(
                event async for event in client.events() if isinstance(event, MessageSendFailed)
            )
            assert (failed.client_message_id, failed.error.code) == ("k-1", "not_a_member")
        assert [one["after"] for one in server.tries()] == [1]
        assert store.load().rows == []


async def test_after_a_restore_a_lost_message_is_sent_with_a_current_after() -> None:
    store = tried(after=40, epoch=0)
    store.save_positions({"g1": 40})
    async with ScriptedServer(epoch=1) as server:
        server.add("g1")
        async with client_of(server, store=store) as client:
            events = client.events()
            await client.flush()
            assert client.position("g1") is None
            seen = [await anext(events) for _ in range(2)]
            assert InstallationRestored(1) in seen
        assert [one["after"] for one in server.tries()] == [1]
        assert server.keys("g1") == ["ben-0", "k-1"]


async def test_after_a_restore_a_message_in_the_log_is_not_sent_again() -> None:
    store = tried(after=1, epoch=0)
    async with ScriptedServer(epoch=1) as server:
        server.add("g1")
        server.add("g1", "anna", client_message_id="k-1")
        async with client_of(server, store=store) as client:
            await client.flush()
        assert server.tries() == []


async def test_a_pushed_own_entry_settles_the_message() -> None:
    async with ScriptedServer(["cut after"]) as server:
        server.add("g1")
        async with client_of(server, store=tried(after=1)) as client:
            server.answers["send"] = lambda _: error("outcome_unknown", retryable=True)
            await until(lambda: client.pending == 1 and len(server.tries()) > 1)
            server.add("g1", "anna", client_message_id="k-1")
            await server.push_entry("g1", 2)
            await client.flush()
            event = await anext(e async for e in client.events() if isinstance(e, MessageAdded))
            assert event.entry.sequence == 2


async def test_a_refused_message_is_reported_and_later_ones_are_sent() -> None:
    async with ScriptedServer(refusals={"bad": "blocked"}) as server, client_of(server) as client:
        bad, good = client.chat("g1").send("bad"), client.chat("g1").send("good")
        with pytest.raises(SendFailed, match="blocked"):
            await bad
        assert (await good).sequence == 1
        assert client.pending == 0


async def test_repeated_internal_errors_of_one_row_do_not_block_later_rows() -> None:
    async with ScriptedServer(refusals={"bad": "internal"}) as server, client_of(server) as client:
        bad, good = client.chat("g1").send("bad"), client.chat("g1").send("good")
        with pytest.raises(SendFailed, match="internal"):
            await bad
        assert len({one["after"] for one in server.tries() if one["text"] == "bad"}) == 1
        assert (await good).sequence == 1


async def test_an_unanswered_message_stays_in_the_store_for_the_next_client() -> None:
    store = MemoryStore()
    async with ScriptedServer() as server:
        server.answers["send"] = lambda _: error("overloaded", retryable=True)
        async with client_of(server, store=store) as client:
            sending = client.chat("g1").send("hi")
            await until(server.tries)
        with pytest.raises(SendUnconfirmed):
            await sending
        assert [row.key for row in store.load().rows] == [sending.client_message_id]
        server.answers.clear()
        async with client_of(server, store=store) as client:
            await client.flush()
        assert server.keys("g1") == [sending.client_message_id]
        assert len({one["after"] for one in server.tries()}) == 1


async def test_an_invalid_message_is_refused_before_it_is_stored() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        for bad in ("x" * 4097, "half an emoji: \ud83d"):
            with pytest.raises(ValueError, match=r"length|surrogates"):
                _ = client.chat("g1").send(bad)
        with pytest.raises(ValueError, match="regex"):
            _ = client.chat("g#1").send("hi")
        assert client.pending == 0
