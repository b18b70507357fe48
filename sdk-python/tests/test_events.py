"""`events()` delivers each entry once and in order, even if pushes are repeated, late, early or lost."""

import asyncio

from clients import client_of
from fixtures.loops import run, until
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scripted_server import ScriptedServer

from tidings_sdk import (
    Client,
    ConnectionStateChanged,
    Event,
    MemoryStore,
    MessageAdded,
    MessageChanged,
    TypingChanged,
)

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing script takes seconds, and is short enough to read without shrinking."""


async def entries(client: Client, count: int) -> list[int]:
    found: list[int] = []
    async for event in client.events():
        if isinstance(event, MessageAdded | MessageChanged):
            found.append(event.entry.sequence)
        if len(found) == count:
            break
    return found


async def live(server: ScriptedServer) -> None:
    await until(lambda: server.sockets)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
@given(pushes=st.lists(st.integers(1, 12), max_size=20), cuts=st.sets(st.integers(0, 19), max_size=2))
def test_each_entry_is_delivered_once_and_in_order_for_any_pushes(pushes: list[int], cuts: set[int]) -> None:
    run(_pushed(pushes, cuts))


async def _pushed(pushes: list[int], cuts: set[int]) -> None:
    async with ScriptedServer() as server, client_of(server, store=_at_zero(), max_events=5) as client:
        for _ in range(12):
            server.add("g1")
        reading = asyncio.create_task(entries(client, 12))
        await live(server)
        for number, sequence in enumerate(pushes):
            await server.push_entry("g1", sequence)
            if number in cuts:
                await server.cut()
                await until(lambda: server.sockets)
        await server.push_entry("g1", 12)
        async with asyncio.timeout(5):
            while not reading.done():
                await asyncio.wait([reading], timeout=0.2)
                await server.push_entry("g1", 12)
        assert reading.result() == list(range(1, 13))


def _at_zero() -> MemoryStore:
    store = MemoryStore()
    store.save_positions({"g1": 0})
    return store


async def test_a_gap_is_filled_before_later_entries_are_delivered() -> None:
    async with ScriptedServer() as server, client_of(server, store=_at_zero()) as client:
        for _ in range(500):
            server.add("g1")
        await live(server)
        await server.push_entry("g1", 500)
        assert await entries(client, 500) == list(range(1, 501))


async def test_a_range_that_was_missed_moves_the_position_to_its_end() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        await live(server)
        edit = {"sequence": 8, "by": "ben", "at": 1, "kind": "edit", "refers_to": 5}
        await server.push(entries={"chat": "g1", "after": 4, "up_to": 9, "entries": [edit]})
        assert await entries(client, 1) == [8]
        assert client.position("g1") == 9


async def test_positions_are_sent_with_the_next_connect() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        server.add("g1")
        await live(server)
        await server.push_entry("g1", 1)
        await entries(client, 1)
        await server.cut()
        await until(lambda: len(server.hellos) == 2)
        assert "positions" not in server.hellos[0]
        assert server.hellos[1]["positions"] == {"g1": 1}
        assert server.hellos[1]["epoch"] == 0


async def test_unprocessed_entries_are_delivered_to_the_next_client() -> None:
    store = MemoryStore()
    async with ScriptedServer() as server:
        for _ in range(3):
            server.add("g1")
        async with client_of(server, store=store) as client:
            await live(server)
            for sequence in (1, 2, 3):
                await server.push_entry("g1", sequence)
            assert await entries(client, 2) == [1, 2]
        assert store.load().positions == {"g1": 1}


async def test_a_slow_or_missing_reader_loses_no_entry_and_bounds_the_queue() -> None:
    async with ScriptedServer() as server, client_of(server, max_events=10) as client:
        for _ in range(100):
            server.add("g1")
        await live(server)
        for sequence in range(1, 101):
            await server.push_entry("g1", sequence)
        await server.push(typing={"chat": "g1", "user": "ben"})
        await until(lambda: client.dropped_events)
        assert client._running._events.free == 0
        assert await entries(client, 100) == list(range(1, 101))


async def test_a_reader_may_wait_for_its_own_sends_while_the_queue_is_full() -> None:
    async with ScriptedServer() as server, client_of(server, max_events=5) as client:
        for _ in range(20):
            server.add("g1")
        await live(server)
        for sequence in range(1, 21):
            await server.push_entry("g1", sequence)
        echoed = 0
        async for event in client.events():
            if isinstance(event, MessageAdded) and event.entry.by == "ben":
                await client.chat("g2").send("echo")
                echoed += 1
            if echoed == 20:
                break
        assert len(server.logs["g2"]) == 20


async def test_ephemeral_events_and_connection_states_are_events() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        await live(server)
        await server.push(typing={"chat": "g1", "user": "ben"})
        await server.push(weather={"is": "fine"})
        seen = [await anext(client.events()) for _ in range(4)]
        assert [event.state for event in seen if isinstance(event, ConnectionStateChanged)] == [
            "connecting",
            "resuming",
            "live",
        ]
        assert seen[-1] == TypingChanged("g1", ("ben",))


async def test_history_sets_only_the_position_of_an_unknown_chat() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        for _ in range(60):
            server.add("g1")
        page = await client.chat("g1").history()
        assert [entry.sequence for entry in page.entries] == list(range(60, 10, -1))
        assert client.position("g1") == 60
        server.add("g1")
        await client.chat("g1").history()
        assert client.position("g1") == 60
        await server.push_entry("g1", 61)
        assert await entries(client, 1) == [61]


async def test_live_only_omits_entries_from_before_the_first_sync() -> None:
    async with ScriptedServer() as server:
        old = [server.readable(server.add("g1", text=text)) for text in ("old", "older")]
        server.before_resumed += [
            {"chats": {"rows": [{"chat": "g1", "head": 2}]}},
            {"entries": {"chat": "g1", "after": 0, "up_to": 2, "entries": old}},
        ]
        async with client_of(server) as client:
            await live(server)
            server.add("g1", text="new")
            await server.push_entry("g1", 3)
            seen = list[Event]()
            async with asyncio.timeout(30):
                async for event in client.events(live_only=True):
                    seen.append(event)
                    if isinstance(event, MessageAdded):
                        break
            assert isinstance(seen[-1], MessageAdded)
            assert seen[-1].entry.text == "new"
            assert any(isinstance(event, ConnectionStateChanged) for event in seen), (
                "other events are not filtered"
            )
