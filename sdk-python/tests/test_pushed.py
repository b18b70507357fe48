"""Pushed rows of unknown chats, changes, and acknowledgements."""

from clients import client_of
from fixtures.loops import until
from scripted_server import ScriptedServer

from tidings_sdk import Client, MemoryStore, MessageAdded, MessageChanged
from tidings_wire.frames.history import ChatRow

WITHIN_S = 30.0


async def taken(client: Client, count: int) -> list[object]:
    """Read `count` events of chats. The last one is processed when the next one is requested."""
    found: list[object] = []
    async for event in client.events():
        if isinstance(event, MessageAdded | MessageChanged | ChatRow):
            found.append(event)
        if len(found) == count:
            return found
    return found


def acks(server: ScriptedServer) -> dict[str, int]:
    return {chat: n for body in server.tries("ack") for chat, n in body["delivered"].items()}


async def test_processed_entries_are_acked_at_intervals() -> None:
    store = MemoryStore()
    store.save_positions({"g1": 0})
    async with ScriptedServer() as server, client_of(server, store=store) as client:
        await until(lambda: server.sockets, WITHIN_S)
        for n in range(1, 31):
            server.add("g1")
            await server.push_entry("g1", n)
        await taken(client, 30)
        await until(lambda: acks(server), WITHIN_S)
        assert acks(server) == {"g1": 29}, "the last one was not taken: nothing was asked for after it"
        assert len(server.tries("ack")) == 1


async def test_the_position_of_a_chat_with_only_a_row_is_its_head() -> None:
    store = MemoryStore()
    async with ScriptedServer() as server, client_of(server, store=store) as client:
        await until(lambda: server.sockets, WITHIN_S)
        for _ in range(10):
            server.add("g1")
            server.add("g2")
        rows = [{"chat": chat, "head": 10, "unread": 3} for chat in ("g1", "g2")]
        await server.push(chats={"rows": rows})
        tail = [server.readable(entry) for entry in server.logs["g2"][7:]]
        await server.push(entries={"chat": "g2", "after": 7, "up_to": 10, "entries": tail})
        await server.push(resumed={"epoch": 0})
        events = await taken(client, 5)
        assert [type(event) for event in events] == [ChatRow, ChatRow, *[MessageAdded] * 3]
        await until(lambda: client.position("g1") == 10, WITHIN_S)
        assert client.position("g2") == 10
        server.add("g1")
        await server.push_entry("g1", 11)
        (added,) = await taken(client, 1)
        assert isinstance(added, MessageAdded)
        assert added.entry.sequence == 11
        assert server.tries("history") == [], "nothing was missing"


async def test_a_change_has_the_current_state_of_the_message() -> None:
    store = MemoryStore()
    store.save_positions({"g1": 5})
    async with ScriptedServer() as server, client_of(server, store=store) as client:
        await until(lambda: server.sockets, WITHIN_S)
        entry = {"sequence": 6, "by": "ben", "at": 1, "kind": "edit", "refers_to": 2, "chat": "g1"}
        await server.push(entry=entry | {"changed": {"text": "other words", "edited_at": 1}})
        (changed,) = await taken(client, 1)
        assert isinstance(changed, MessageChanged)
        assert changed.entry.changed is not None
        assert changed.entry.changed.text == "other words"
