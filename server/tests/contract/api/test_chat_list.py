"""The chat list, watermarks and delivery status over REST, on both engines."""

from typing import Any

from fixtures.rest_app import Caller, RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv

from tidings.kernel.errors import Code


async def group(api: RestApp, name: str, *texts: str) -> str:
    anna = api.user(ANNA)
    new = {"type": "group", "name": name, "members": [BEN, CLEO], "client_message_id": name}
    made = await anna.ok("POST", "/v1/chats", new)
    for n, text in enumerate(texts):
        body = {"text": text, "client_message_id": f"{name}-{n}"}
        await anna.ok("POST", f"/v1/chats/{made['id']}/messages", body)
    await api.settle()
    return str(made["id"])


async def listed(caller: Caller, query: str = "") -> list[Any]:
    page = await caller.ok("GET", f"/v1/chats?{query}")
    return [chat["name"] for chat in page["chats"]]


async def test_a_chat_is_listed_with_preview_unread_and_members(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    chat = await group(api, "one", "first", "Hey everyone!")
    page = await api.user(BEN).ok("GET", "/v1/chats")
    (line,) = page["chats"]
    assert (line["id"], line["type"], line["name"]) == (chat, "group", "one")
    assert (line["unread"], page["unread_chats"], line["member_count"]) == (2, 1, 3)
    assert line["members"] == [ANNA, CLEO]
    assert (line["last"]["text"], line["last"]["sender"]) == ("Hey everyone!", ANNA)
    assert (await api.user(ANNA).ok("GET", "/v1/chats"))["unread_chats"] == 0


async def test_a_chat_shows_its_newest_message_and_how_many_there_are(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    chat = await group(api, "one", "first", "Hey everyone!")
    shown = await api.user(BEN).ok("GET", f"/v1/chats/{chat}")
    (line,) = (await api.user(BEN).ok("GET", "/v1/chats"))["chats"]
    assert (shown["message_count"], line["message_count"]) == (2, 2)
    assert shown["last"] == line["last"]
    assert shown["last"]["text"] == "Hey everyone!"
    await api.user(ANNA).ok("DELETE", f"/v1/messages/{chat}.3")
    await api.settle()
    shown = await api.user(BEN).ok("GET", f"/v1/chats/{chat}")
    assert (shown["message_count"], shown["last"]["state"]) == (2, "redacted")


async def test_an_unread_count_is_explained_as_the_list_counts_it(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    ben = api.user(BEN)
    chat = await group(api, "one", "a", "b", "c")
    await ben.ok("PUT", f"/v1/chats/{chat}/read", {"sequence": 2})
    result = await ben.ok("GET", f"/v1/chats/{chat}/unread/explain")
    assert result == {
        "unread": (await ben.ok("GET", "/v1/chats"))["chats"][0]["unread"],
        "head": {"sequence": 4, "ordinal": 3},
        "read": {"sequence": 2, "ordinal": 1},
        "joined": {"sequence": 1, "ordinal": 0},
        "counts_after": "read",
    }
    assert result["unread"] == 2
    assert await api.user(DORA).code("GET", f"/v1/chats/{chat}/unread/explain") is Code.CHAT_NOT_FOUND


async def test_members_are_listed_with_when_they_joined_and_how_far_they_read(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben = api.user(ANNA), api.user(BEN)
    chat = await group(api, "one", "a", "b", "c")
    members = f"/v1/chats/{chat}/members"
    before = await anna.ok("GET", members)
    assert {each["user"]: each["read_sequence"] for each in before["members"]} == {
        ANNA: 4,
        BEN: 0,
        CLEO: 0,
    }
    assert all(each["joined_at"] and "read_at" not in each for each in before["members"])
    await ben.ok("PUT", f"/v1/chats/{chat}/read", {"sequence": 2})
    first = await anna.ok("GET", f"/v1/messages/{chat}.2/status")
    assert (first["read_by"], list(first["read_at"])) == ([BEN], [BEN])
    await ben.ok("PUT", f"/v1/chats/{chat}/read", {"sequence": 4})
    found = next(each for each in (await anna.ok("GET", members))["members"] if each["user"] == BEN)
    assert (found["delivered_sequence"], found["read_sequence"]) == (4, 4)
    third = await anna.ok("GET", f"/v1/messages/{chat}.4/status")
    assert third["read_at"] == {BEN: found["read_at"]}
    first = await anna.ok("GET", f"/v1/messages/{chat}.2/status")
    assert (first["read_by"], first["read_at"]) == ([BEN], {}), "the mark has moved on since it passed it"


async def test_pinned_chats_are_first_then_the_newest_and_pages_continue(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    ben = api.user(BEN)
    chats = [await group(api, name, "hi") for name in ("one", "two", "three")]
    assert await listed(ben) == ["three", "two", "one"]
    await ben.ok("PATCH", f"/v1/chats/{chats[0]}/settings", {"is_pinned": True})
    first = await ben.ok("GET", "/v1/chats?limit=2")
    assert [chat["name"] for chat in first["chats"]] == ["one", "three"]
    assert await listed(ben, f"limit=2&cursor={first['cursor']}") == ["two"]
    elsewhere = f"/v1/chats?limit=2&filter=unread&cursor={first['cursor']}"
    assert await ben.code("GET", elsewhere) is Code.CURSOR_INVALID
    assert await api.user(CLEO).code("GET", f"/v1/chats?cursor={first['cursor']}") is Code.CURSOR_INVALID


async def test_settings_filter_the_list_for_oneself_alone(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    ben = api.user(BEN)
    one, two = await group(api, "one", "hi"), await group(api, "two")
    await ben.ok("PATCH", f"/v1/chats/{one}/settings", {"muted_until": "2099-01-01T01:00:00+01:00"})
    await ben.ok("PATCH", f"/v1/chats/{two}/settings", {"is_archived": True})
    assert await listed(ben) == ["one"]
    assert await listed(ben, "filter=archived") == ["two"]
    assert await listed(ben, "filter=muted") == ["one"]
    assert await listed(ben, "filter=unread") == ["one"]
    assert await listed(api.user(CLEO), "filter=archived") == []
    muted = (await ben.ok("GET", "/v1/chats"))["chats"][0]
    assert muted["muted_until"] == "2099-01-01T00:00:00.000Z"
    await ben.ok("PATCH", f"/v1/chats/{one}/settings", {"muted_until": None})
    assert await listed(ben, "filter=muted") == []
    assert await ben.code("PATCH", f"/v1/chats/{one}/settings", {}) is Code.REQUEST_INVALID


async def test_reading_raises_the_watermark_and_the_delivery_status(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben, cleo = api.user(ANNA), api.user(BEN), api.user(CLEO)
    chat = await group(api, "one", "a", "b")
    at, last = f"/v1/chats/{chat}", f"/v1/messages/{chat}.3"
    assert (await anna.ok("GET", last))["status"] == "SENT"
    assert await ben.ok("PUT", f"{at}/read", {"sequence": 3}) == {"sequence": 3, "unread": 0}
    assert await ben.ok("PUT", f"{at}/read", {"sequence": 2}) == {"sequence": 3, "unread": 0}
    await cleo.ok("PUT", f"{at}/delivered", {"sequence": 3})
    result = await anna.ok("GET", f"{last}/status")
    assert result == {
        "sequence": 3,
        "status": "DELIVERED",
        "delivered_to": [BEN, CLEO],
        "read_by": [BEN],
        "read_at": {BEN: result["read_at"][BEN]},
        "has_receipts": True,
    }
    await cleo.ok("PUT", f"{at}/read", {"sequence": 3})
    page = await anna.ok("GET", f"{at}/messages?status=true")
    assert [entry.get("status") for entry in page["entries"]] == ["READ", "READ", None]
    without = await anna.ok("GET", f"{at}/messages")
    assert all("status" not in entry for entry in without["entries"])
    assert await ben.code("PUT", f"{at}/read", {"sequence": 9}) is Code.POSITION_AHEAD
    assert await anna.code("GET", f"/v1/messages/{chat}.1/status") is Code.MESSAGE_NOT_FOUND
