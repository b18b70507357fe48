"""The seven access patterns of seed 001, by their numbers, through HTTP on a real process.

Each runs on a small chat and on a larger one with the same calls to DynamoDB, so no call is made per item.
"""

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api
from e2e.request_cost import CostRecorder, recorded_cost

from tidings.platform.dynamo.operations import Operation
from tidings.schema.tables.patterns import REGISTRY

OTHERS = ("ben", "cleo", "dora", "emil", "fay", "gus", "hal", "ida")
ROW = {"chat_list.read_row": 1, "counters.read_many": 1}
LIST = {"chat_list.read": 1, "counters.read_groups": 1}
TICKS = {"chats.check": 1, "memberships.list": 1, "watermarks.read_members": 1}


@pytest.fixture
def crew(served: Api) -> CostRecorder:
    return CostRecorder(served)


@pytest.mark.parametrize("others", [OTHERS[:1], OTHERS])
def test_ap1_get_a_chats_metadata(crew: CostRecorder, others: tuple[str, ...]) -> None:
    """As required, after a check of the membership. The preview comes from the head of the group, which delivery
    writes once for all members."""
    chat = crew.group("Project", "anna", *others)
    shown, calls = crew.read("anna", f"/v1/chats/{chat}")
    assert shown == {
        "id": chat,
        "type": "group",
        "name": "Project",
        "member_count": 1 + len(others),
        "created_by": crew.name("anna"),
        "role": "owner",
        "message_count": 0,
        "is_frozen": False,
        "is_muted": False,
        "slow_mode_seconds": 0,
        "join_rule": "closed",
    }
    assert calls == {"memberships.check": 1, "chats.read": 1, "chats.read_many": 1} | ROW


@pytest.mark.parametrize("size", [2, 7])
def test_ap2_list_a_users_chats_most_recent_first(crew: CostRecorder, size: int) -> None:
    """From the user's chat rows and the heads of groups, sorted at read, so that no index is updated with every message."""
    names = [f"chat {n}" for n in range(size)]
    chats = [crew.group(name, "anna", "ben") for name in names]
    for chat in reversed(chats):
        crew.settle(chat, crew.send("ben", chat, f"hi in {chat}"), "anna", "ben")
    listed, calls = crew.read("anna", "/v1/chats")
    assert [line["name"] for line in listed["chats"]] == names
    assert [line["last"]["text"] for line in listed["chats"]] == [f"hi in {chat}" for chat in chats]
    assert calls == LIST


@pytest.mark.parametrize("others", [OTHERS[:2], OTHERS])
def test_ap3_list_the_members_of_a_chat(crew: CostRecorder, others: tuple[str, ...]) -> None:
    """As required. The read watermark is not on the membership but on the member's chat row (AP6)."""
    chat = crew.group("Project", "anna", *others)
    shown, calls = crew.read("ben", f"/v1/chats/{chat}/members")
    assert [(each["user"], each["role"]) for each in shown["members"]] == [
        (crew.name(user), "owner" if user == "anna" else "member") for user in ("anna", *others)
    ]
    assert all(
        {"joined_at", "delivered_sequence", "read_sequence"} <= each.keys() for each in shown["members"]
    )
    assert calls == {"memberships.check": 1, "memberships.list": 1, "watermarks.read_members": 1}


@pytest.mark.parametrize("limit", [2, 5])
def test_ap4_get_the_messages_of_a_chat_in_pages_newest_first(crew: CostRecorder, limit: int) -> None:
    """By dense sequences, which are ordered like ULIDs and also show that nothing is missing between two pages."""
    chat = crew.group("Project", "anna", "ben")
    last = crew.send("anna", chat, *(f"message {n}" for n in range(9)))
    crew.settle(chat, last, "anna", "ben")
    seen: list[int] = []
    more, path = True, f"/v1/chats/{chat}/messages?limit={limit}"
    while more:
        page, calls = crew.read("ben", path + (f"&before={seen[-1]}" if seen else ""))
        # the membership is known from the first page on
        assert calls == {"messages.read_recent": 1} | ({} if seen else {"memberships.check": 2})
        seen += [entry["sequence"] for entry in page["entries"]]
        more = page["has_older"]
    assert seen == list(range(last, 0, -1))


def test_ap5_get_a_specific_message(crew: CostRecorder) -> None:
    """The id of a message contains its chat and its sequence, so it is a key."""
    chat = crew.group("Project", "anna", "ben")
    last = crew.send("anna", chat, "Can we ship by Friday?", "Sounds good!")
    crew.settle(chat, last, "anna", "ben")
    shown, calls = crew.read("ben", f"/v1/messages/{chat}.2")
    assert (shown["sender"], shown["text"]) == (crew.name("anna"), "Can we ship by Friday?")
    assert calls == {"memberships.check": 1, "messages.read_one": 1} | TICKS


@pytest.mark.parametrize("size", [1, 12])
def test_ap6_get_the_unread_count_of_a_user_in_a_chat(crew: CostRecorder, size: int) -> None:
    """Derived, as required, but by subtracting two ordinals: counting the messages would read each of them."""
    chat = crew.group("Project", "anna", "ben")
    last = crew.send("anna", chat, *["hi"] * size)
    crew.settle(chat, last, "anna", "ben")
    listed, calls = crew.read("ben", "/v1/chats")
    assert [line["unread"] for line in listed["chats"]] == [size]
    assert calls == LIST
    marked, calls = crew.write("ben", "PUT", f"/v1/chats/{chat}/read", {"sequence": last})
    assert marked == {"sequence": last, "unread": 0}
    assert calls == {
        "memberships.check": 1,
        "messages.read_one": 1,
        "watermarks.raise_read": 1,
        "counters.read_many": 1,
    }
    assert crew.line("ben", chat)["unread"] == 0
    assert crew.line("anna", chat)["unread"] == 0, "a sender has read their own message"


@pytest.mark.parametrize("others", [OTHERS[:1], OTHERS])
def test_ap7_send_a_message(crew: CostRecorder, others: tuple[str, ...]) -> None:
    """One transaction, as required: the message and its idempotency key. The sender's row and the
    head of the group follow after the answer, for a group of any size, and never delay an acknowledgement."""
    chat = crew.group("Project", "anna", *others)
    crew.settle(chat, crew.send("anna", chat, "first"), "anna", *others)
    before = recorded_cost(crew.api.delivery)
    body = {"text": "Sounds good!", "client_message_id": "ap7"}
    sent, calls = crew.write("anna", "POST", f"/v1/chats/{chat}/messages", body)
    assert sent == {"id": f"{chat}.3", "sequence": 3}
    assert calls == {"messages.append_keyed": 1}
    assert REGISTRY["messages.append_keyed"].operation is Operation.TRANSACT_WRITE_ITEMS
    crew.settle(chat, 3, "anna", *others)
    behind = recorded_cost(crew.api.delivery) - before
    assert behind["chat_list.raise_row"] == 1, "the row of the sender"
    assert behind["counters.raise"] == 1, "one head for all members"
    assert not behind["memberships.list"], "the first message names the members"
    repeated = crew.ok("anna", "POST", f"/v1/chats/{chat}/messages", body)
    assert repeated == sent
    line = eventually(lambda: crew.line("ben", chat), "line")
    assert (line["last"]["text"], line["unread"]) == ("Sounds good!", 2)


def test_all_seven_access_patterns_are_tested() -> None:
    numbered = [name for name in globals() if name.startswith("test_ap")]
    assert sorted(name[5:8] for name in numbered) == [f"ap{n}" for n in range(1, 8)]
