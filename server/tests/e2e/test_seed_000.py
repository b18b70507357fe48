"""The use cases of seed 000, by their numbers, through HTTP on a real process: reading and chat lists in full.

Receiving (2) and expiring (8) are tested as a reader sees them: pushes need a gateway, and TTL deletes items late.
"""

from typing import Any

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api
from e2e.request_cost import CostRecorder

GROUP = ("anna", "ben", "cleo", "dora", "emil")


@pytest.fixture
def crew(served: Api) -> CostRecorder:
    return CostRecorder(served)


def test_usecase_1_a_user_sends_a_direct_message(crew: CostRecorder) -> None:
    """The seed writes the message, the chat and both lists. Here the acknowledgement needs only the message, and the
    lists follow. There is no message count on the chat to update: the ordinals of the log contain it."""
    chat = crew.direct("anna", "ben")
    body = {"text": "Hello!", "client_message_id": "msg_123"}
    sent, calls = crew.write("anna", "POST", f"/v1/chats/{chat}/messages", body)
    assert sent == {"id": f"{chat}.2", "sequence": 2}
    assert calls["messages.append_keyed"] == 1
    crew.settle(chat, 2, "anna", "ben")
    for user in ("anna", "ben"):
        line = crew.line(user, chat)
        assert (line["last"]["text"], line["last"]["sender"]) == ("Hello!", crew.name("anna"))
    assert crew.ok("anna", "GET", f"/v1/messages/{chat}.2")["status"] == "SENT"


def test_usecase_2_a_user_receives_messages(crew: CostRecorder) -> None:
    """DELIVERED is not written into messages: one watermark of the reader covers all of them. Unread is not
    incremented, so a repeated delivery does not make it wrong."""
    chat = crew.direct("anna", "ben")
    last = crew.send("anna", chat, "one", "two")
    crew.settle(chat, last, "anna", "ben")
    assert crew.line("ben", chat)["unread"] == 2
    body = {"sequence": last}
    for _ in range(2):
        reached, calls = crew.write("ben", "PUT", f"/v1/chats/{chat}/delivered", body)
        assert reached == {"sequence": last, "unread": 2}
        assert calls == {"memberships.check": 1, "messages.read_one": 1, "watermarks.raise_delivered": 1}
    page = crew.ok("anna", "GET", f"/v1/chats/{chat}/messages?limit=2&status=true")
    assert [entry["status"] for entry in page["entries"]] == ["DELIVERED", "DELIVERED"]


def test_usecase_3_a_user_opens_a_chat_and_scrolls(crew: CostRecorder) -> None:
    """One range of one partition for each page, as required; by sequence, as two messages can have the same time."""
    chat = crew.direct("anna", "ben")
    last = crew.send("anna", chat, *(f"message {n}" for n in range(2, 34)))
    crew.settle(chat, last, "anna", "ben")
    first, calls = crew.read("anna", f"/v1/chats/{chat}/messages?limit=20")
    # the members of a direct chat are cached from the first page on
    same = {"messages.read_recent": 1}
    assert calls == same | {"memberships.list": 1}
    assert [entry["text"] for entry in first["entries"]] == [f"message {n}" for n in range(33, 13, -1)]
    assert first["entries"][0].keys() >= {"id", "sender", "text", "created_at"}
    oldest = first["covered_range"]["after"] + 1
    second, calls = crew.read("anna", f"/v1/chats/{chat}/messages?limit=20&before={oldest}")
    assert calls == same
    assert [entry["sequence"] for entry in second["entries"]] == list(range(13, 0, -1))
    assert (first["has_older"], second["has_older"]) == (True, False)


def test_usecase_4_a_user_sends_to_a_group_of_five(crew: CostRecorder) -> None:
    """The same append as in a direct chat, and a row in each of the five chat lists."""
    chat = crew.group("Lunch", *GROUP)
    sent, calls = crew.write(
        "anna", "POST", f"/v1/chats/{chat}/messages", {"text": "Hey everyone!", "client_message_id": "m1"}
    )
    assert calls["messages.append_keyed"] == 1
    crew.settle(chat, sent["sequence"], *GROUP)
    lines = {user: crew.line(user, chat) for user in GROUP}
    assert {user: line["unread"] for user, line in lines.items()} == dict.fromkeys(GROUP, 1) | {"anna": 0}
    assert {line["last"]["text"] for line in lines.values()} == {"Hey everyone!"}


def test_usecase_5_a_user_loads_the_chat_list(crew: CostRecorder) -> None:
    """One query gets all of a user's chats, as required. One more read gets the heads and the names of groups. A group has up
    to five other members in the list; the full list of members is another request."""
    crew.group("Tea", "cleo", "anna")
    direct, group = crew.direct("ben", "anna"), crew.group("Lunch", *GROUP)
    crew.settle(direct, crew.send("anna", direct, "Hello!"), "anna", "ben")
    crew.settle(group, crew.send("ben", group, "Hey", "Hey!", "Hey everyone!"), *GROUP)
    listed, calls = crew.read("anna", "/v1/chats?limit=50")
    assert calls == {"chat_list.read": 1, "counters.read_groups": 1}
    first, second, third = listed["chats"]
    assert (first["id"], first["type"], first["unread"]) == (group, "group", 3)
    assert (first["last"]["text"], first["members"]) == ("Hey everyone!", list(map(crew.name, GROUP[1:])))
    assert (second["id"], second["type"], second["unread"]) == (direct, "direct", 0)
    assert (second["last"]["text"], second["members"]) == ("Hello!", [crew.name("ben")])
    assert (third["name"], third["unread"], "last" in third) == ("Tea", 0, False)
    assert listed["unread_chats"] == 1


@pytest.mark.parametrize("size", [1, 10])
def test_usecase_6_mark_messages_as_read(crew: CostRecorder, size: int) -> None:
    """The seed updates each message, the chat and the list. Here one watermark is enough for any number of messages."""
    chat = crew.direct("anna", "ben")
    last = crew.send("anna", chat, *["hi"] * size)
    crew.settle(chat, last, "anna", "ben")
    assert crew.line("ben", chat)["unread"] == size
    marked, calls = crew.write("ben", "PUT", f"/v1/chats/{chat}/read", {"sequence": last})
    assert marked == {"sequence": last, "unread": 0}
    assert calls == {"memberships.check": 1, "messages.read_one": 1, "watermarks.raise_read": 1}
    assert crew.line("ben", chat)["unread"] == 0
    page = crew.ok("anna", "GET", f"/v1/chats/{chat}/messages?limit={size}&status=true")
    assert {entry["status"] for entry in page["entries"]} == {"READ"}
    status = crew.ok("anna", "GET", f"/v1/messages/{chat}.{last}/status")
    assert status["read_by"] == [crew.name("ben")]


def test_usecase_7_find_a_message_by_its_id(crew: CostRecorder) -> None:
    """No index: the id contains the chat, which is the context that the seed requires, and the sequence."""
    chat = crew.direct("anna", "ben")
    crew.settle(chat, crew.send("anna", chat, "Hello!"), "anna", "ben")
    found, calls = crew.read("ben", f"/v1/messages/{chat}.2")
    assert (found["id"], found["text"]) == (f"{chat}.2", "Hello!")
    assert calls == {"messages.read_one": 1, "watermarks.read_members": 1, "memberships.list": 1}
    _, calls = crew.read("ben", f"/v1/messages/{chat}.2")
    assert calls == {"messages.read_one": 1, "watermarks.read_members": 1}
    non_member = crew.api.ask("GET", f"/v1/messages/{chat}.2", user=crew.name("cleo"))
    assert (non_member.status, non_member.body["code"]) == (404, "message_not_found")


def test_usecase_8_an_ephemeral_message_expires(crew: CostRecorder) -> None:
    """No user sees it after it expires, though DynamoDB's TTL may delete it later. Chat lists never show its text.
    The entry stays, so that the sequence has no hole."""
    chat = crew.direct("anna", "ben")
    last = crew.send("anna", chat, "for your eyes only", ttl_seconds=1)

    def expired(shown: Any) -> Any:
        return shown if shown["state"] == "expired" else None

    crew.settle(chat, last, "anna", "ben")
    assert "text" not in crew.line("ben", chat)["last"]
    path = f"/v1/messages/{chat}.{last}"
    assert "text" not in eventually(lambda: expired(crew.ok("ben", "GET", path)), "end of the message")
    # a chat list has whole seconds only
    assert eventually(lambda: expired(crew.line("ben", chat)["last"]), "end in the list")
    page = crew.ok("ben", "GET", f"/v1/chats/{chat}/messages")
    assert [entry["sequence"] for entry in page["entries"]] == [last, 1]


def test_all_eight_use_cases_are_tested() -> None:
    numbered = [name for name in globals() if name.startswith("test_usecase_")]
    assert sorted(name.split("_")[2] for name in numbered) == [str(n) for n in range(1, 9)]
