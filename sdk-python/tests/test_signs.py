"""Ephemeral events over an unstable connection: watched chats and users, receipts, typing, presence, the chat list."""

import asyncio
from collections.abc import Callable

import pytest
from clients import client_of
from fixtures.loops import until
from scripted_server import Frame, ScriptedServer, error

from tidings_sdk import (
    ChatRow,
    Client,
    DeliveryStatus,
    Event,
    MemoryStore,
    PresenceChanged,
    ReadElsewhere,
    ReceiptsChanged,
    TypingChanged,
)

WITHIN_S = 30.0
PAIR = [{"user": "anna", "since": 1}, {"user": "ben", "since": 1}]


class Reader:
    """Read a client's events in the background."""

    def __init__(self, client: Client) -> None:
        self.events: list[Event] = []
        self._task = asyncio.create_task(self._read(client))

    async def _read(self, client: Client) -> None:
        async for event in client.events():
            self.events.append(event)

    def of[T](self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    async def first[T](self, kind: type[T], holds: Callable[[T], object] = lambda _: True) -> T:
        await until(lambda: any(holds(event) for event in self.of(kind)), WITHIN_S)
        return next(event for event in self.of(kind) if holds(event))


def at(position: int) -> MemoryStore:
    store = MemoryStore()
    store.save_positions({"g1": position})
    return store


async def live(server: ScriptedServer, times: int = 1) -> None:
    await until(lambda: len(server.hellos) >= times and server.sockets, WITHIN_S)


def subscribed(server: ScriptedServer, what: str = "chats") -> list[list[str]]:
    return [body[what] for body in server.tries("subscribe") if what in body]


async def test_each_new_connection_subscribes_to_watched_names() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        client.chat("g1").watch()
        client.watch("ben", "cleo")
        await until(lambda: server.tries("subscribe"), WITHIN_S)
        await server.cut()
        await until(lambda: len(server.tries("subscribe")) == 2, WITHIN_S)
        assert subscribed(server) == [["g1"]] * 2
        assert subscribed(server, "users") == [["ben", "cleo"]] * 2
        assert {one.connection for one in server.seen if one.kind == "subscribe"} == {1, 2}


async def test_a_resume_on_the_same_connection_subscribes_again() -> None:
    """If pushes of entries are lost, so are ephemeral events."""
    async with ScriptedServer() as server, client_of(server) as client:
        server.answers["resume"] = lambda _: {"ok": {"epoch": 0}}
        client.chat("g1").watch()
        await until(lambda: server.tries("subscribe"), WITHIN_S)
        await server.push(resume={})
        await until(lambda: len(server.tries("subscribe")) == 2, WITHIN_S)
        assert server.connections == 1


async def test_many_subscriptions_go_in_parts_and_unwatch_unsubscribes() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        for n in range(250):
            client.chat(f"g{n}").watch()
        await until(lambda: sum(map(len, subscribed(server))) == 250, WITHIN_S)
        assert max(map(len, subscribed(server))) <= 100
        assert {name for part in subscribed(server) for name in part} == {f"g{n}" for n in range(250)}
        client.chat("g7").unwatch()
        await until(lambda: server.tries("unsubscribe") == [{"chats": ["g7"]}], WITHIN_S)


async def test_a_refused_name_does_not_block_other_subscriptions() -> None:
    def answer(body: Frame) -> Frame:
        return error("not_a_member") if "g2" in body.get("chats", []) else {"ok": {}}

    async with ScriptedServer(answers={"subscribe": answer}) as server, client_of(server) as client:
        for n in range(1, 4):
            client.chat(f"g{n}").watch()
        client.watch("ben")
        # The refused request names ben too, so only the request for ben alone ends the sequence.
        one_by_one = [{"chats": ["g1"]}, {"chats": ["g2"]}, {"chats": ["g3"]}, {"users": ["ben"]}]
        asked = [{"chats": ["g1", "g2", "g3"], "users": ["ben"]}, *one_by_one]
        await until(lambda: {"users": ["ben"]} in server.tries("subscribe"), WITHIN_S)
        assert server.tries("subscribe") == asked
        client.chat("g4").watch()
        await until(lambda: ["g4"] in subscribed(server), WITHIN_S)
        assert server.tries("subscribe") == [*asked, {"chats": ["g4"]}], "the refused name is not sent again"


async def test_a_subscription_is_retried_on_a_busy_server() -> None:
    async with ScriptedServer(["too fast", "answer"]) as server, client_of(server) as client:
        client.chat("g1").watch()
        await until(lambda: len(server.tries("subscribe")) == 2, WITHIN_S)


async def test_invalid_names_are_refused_at_once() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        with pytest.raises(ValueError, match="users"):
            client.watch("ben#")


async def test_the_status_follows_receipts_with_an_event() -> None:
    async with ScriptedServer(is_pushing=True) as server, client_of(server, store=at(0)) as client:
        reader, chat = Reader(client), client.chat("g1")
        chat.watch()
        sent = await chat.send("hi")
        await until(lambda: server.tries("subscribe"), WITHIN_S)
        assert not chat.status(sent.sequence).has_receipts
        await server.push(receipts={"chat": "g1", "members": PAIR, "is_snapshot": True})
        await reader.first(ReceiptsChanged)
        assert chat.status(sent.sequence).status is DeliveryStatus.SENT
        assert chat.members == ("anna", "ben")
        await server.push(receipts={"chat": "g1", "members": [{"user": "ben", "delivered": 1}]})
        await until(lambda: chat.status(1).status is DeliveryStatus.DELIVERED, WITHIN_S)
        await server.push(receipts={"chat": "g1", "members": [{"user": "ben", "read": 1}]})
        await until(lambda: chat.status(1).status is DeliveryStatus.READ, WITHIN_S)
        assert chat.status(1).read_by == ("ben",)
        await server.push(receipts={"chat": "g1", "members": [{"user": "ben", "read": 1}]})
        await server.push(presence={"user": "ben", "status": "online"})
        await reader.first(PresenceChanged)
        assert len(reader.of(ReceiptsChanged)) == 3, "what changed nothing is not told"


async def test_the_status_follows_joins_and_leaves_in_the_log() -> None:
    async with ScriptedServer() as server, client_of(server, store=at(0)) as client:
        reader, chat = Reader(client), client.chat("g1")
        chat.watch()
        await until(lambda: server.tries("subscribe"), WITHIN_S)
        await server.push(receipts={"chat": "g1", "members": PAIR, "is_snapshot": True})
        server.add("g1", kind="join", users=["cleo"])
        await server.push_entry("g1", 1)
        await until(lambda: chat.members == ("anna", "ben", "cleo"), WITHIN_S)
        server.add("g1", kind="leave", users=["ben"])
        await server.push_entry("g1", 2)
        await until(lambda: chat.members == ("anna", "cleo"), WITHIN_S)
        assert len(reader.of(ReceiptsChanged)) == 3


async def test_reads_on_another_device_are_events_and_own_reads_are_not() -> None:
    async with ScriptedServer(["held"]) as server, client_of(server) as client:
        reader = Reader(client)
        await live(server)
        rows = [{"chat": "g1", "head": 9, "unread": 4, "read": 2}]
        await server.push(chats={"rows": rows})
        await reader.first(ChatRow)
        reading = asyncio.create_task(client.chat("g1").read(5))
        await until(lambda: server.tries("read"), WITHIN_S)
        await server.push(receipts={"chat": "g1", "members": [{"user": "anna", "read": 5}]})
        await reading
        await server.push(receipts={"chat": "g1", "members": [{"user": "anna", "read": 9}]})
        received = await reader.first(ReadElsewhere)
        assert (received.chat, received.sequence) == ("g1", 9)
        (row,) = client.chats()
        assert (row.read, row.unread) == (9, 0)


async def test_typing_of_others_is_an_event_and_ends_with_their_message() -> None:
    async with ScriptedServer() as server, client_of(server, store=at(0)) as client:
        reader, chat = Reader(client), client.chat("g1")
        await live(server)
        await server.push(typing={"chat": "g1", "user": "ben"})
        await server.push(typing={"chat": "g1", "user": "cleo"})
        await reader.first(TypingChanged, lambda event: event.users == ("ben", "cleo"))
        server.add("g1", text="hi")
        await server.push_entry("g1", 1)
        await reader.first(TypingChanged, lambda event: event.users == ("cleo",))
        await server.push(typing={"chat": "g1", "user": "cleo", "is_typing": False})
        await reader.first(TypingChanged, lambda event: event.users == ())
        assert chat.typing_users == ()


async def test_typing_of_others_ends_automatically(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings_sdk.typing_state.ENDS_AFTER_S", 0.05)
    async with ScriptedServer() as server, client_of(server) as client:
        reader = Reader(client)
        await live(server)
        await server.push(typing={"chat": "g1", "user": "ben"})
        await reader.first(TypingChanged, lambda event: event.users == ())
        assert [event.users for event in reader.of(TypingChanged)] == [("ben",), ()]


async def test_presence_and_typing_are_discarded_with_the_connection() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        reader = Reader(client)
        client.watch("ben")
        await live(server)
        await server.push(typing={"chat": "g1", "user": "ben"})
        await server.push(presence={"user": "ben", "status": "offline", "at": 7})
        assert await reader.first(PresenceChanged) == PresenceChanged("ben", "offline", 7)
        assert client.presence("ben") == PresenceChanged("ben", "offline", 7)
        await server.cut()
        await reader.first(TypingChanged, lambda event: event.users == ())
        assert client.presence("ben") is None


async def test_own_typing_is_sent_once_for_many_keys_and_ends_with_the_message() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        chat = client.chat("g1")
        await chat.send("first")
        for _ in range(20):
            chat.typing()
        await chat.send("hello")
        chat.typing(is_typing=False)
        chat.typing()
        chat.typing(is_typing=False)
        await until(lambda: len(server.tries("typing")) == 4, WITHIN_S)
        received = [body.get("is_typing", True) for body in server.tries("typing")]
        assert received == [True, False, True, False], "the second beginning comes soon after the message"
        chat.typing()
        await chat.send("soon again")
        chat.typing()
        await until(lambda: len(server.tries("typing")) == 7, WITHIN_S)
        assert [body.get("is_typing", True) for body in server.tries("typing")][4:] == [True, False, True]


async def test_each_new_connection_sends_the_presence_status() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        await client.chat("g1").send("hi")
        client.set_presence("away")
        await until(lambda: server.tries("presence"), WITHIN_S)
        await server.cut()
        await until(lambda: len(server.tries("presence")) == 2, WITHIN_S)
        assert server.tries("presence") == [{"status": "away"}] * 2
        client.set_presence("online")
        await until(lambda: len(server.tries("presence")) == 3, WITHIN_S)


async def test_the_chat_list_is_kept_current() -> None:
    async with ScriptedServer() as server, client_of(server) as client:
        reader = Reader(client)
        await live(server)
        rows = [
            {"chat": "g1", "head": 0, "name": "us", "at": 5},
            {"chat": "d1", "head": 3, "unread": 1, "members": ["ben"], "at": 4},
        ]
        await server.push(chats={"rows": rows})
        await server.push(resumed={"epoch": 0})
        await until(lambda: [row.chat for row in client.chats()] == ["g1", "d1"], WITHIN_S)
        await server.push(entry={"chat": "d1", "sequence": 4, "by": "ben", "at": 6, "text": "hi"})
        await until(lambda: [row.unread for row in client.chats()] == [2, 0], WITHIN_S)
        assert (client.chats()[0].preview, client.chats()[0].members) == ("hi", ("ben",))
        entry = {"chat": "g9", "sequence": 1, "by": "ben", "at": 9, "kind": "create", "name": "new"}
        await server.push(entry=entry | {"users": ["anna", "ben"]})
        made = await reader.first(ChatRow, lambda row: row.chat == "g9")
        assert (made.name, client.chats()[0].chat) == ("new", "g9")
        assert client.chat("g9").row == made


async def test_the_chat_list_is_restored_from_the_store() -> None:
    """The server pushes no row for a chat that the device has a position in."""
    store = MemoryStore()
    async with ScriptedServer() as server:
        async with client_of(server, store=store) as client:
            await live(server)
            rows = [{"chat": chat, "head": 3, "unread": 1, "name": chat, "at": 5} for chat in ("g1", "g2")]
            await server.push(chats={"rows": rows})
            await server.push(
                entry={"chat": "g2", "sequence": 4, "by": "ben", "at": 6, "kind": "leave", "users": ["anna"]}
            )
            await until(lambda: [row.chat for row in client.chats()] == ["g1"], WITHIN_S)
        async with client_of(server, store=store) as client:
            assert [(row.name, row.unread) for row in client.chats()] == [("g1", 1)]
            await live(server, 2)
            await server.push(entry={"chat": "g1", "sequence": 4, "by": "ben", "at": 6, "text": "hi"})
            await until(lambda: [row.unread for row in client.chats()] == [2], WITHIN_S)
