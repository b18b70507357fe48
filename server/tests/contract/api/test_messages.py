"""Messages over HTTP: sent once, read in pages, changed."""

from typing import Any

import httpx
from fixtures.rest_app import Caller, RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId


async def group(api: RestApp) -> tuple[Caller, Caller, str]:
    anna = api.user(ANNA)
    new = {"type": "group", "name": "us", "members": [BEN], "client_message_id": "g"}
    made = await anna.ok("POST", "/v1/chats", new)
    return anna, api.user(BEN), f"/v1/chats/{made['id']}"


def message_body(key: str, text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"text": text, "client_message_id": key, **more}


async def test_the_first_try_is_201_every_other_200_with_the_same_answer(use_cases: UseCaseEnv) -> None:
    anna, _, at = await group(RestApp(use_cases))
    first = await anna("POST", f"{at}/messages", message_body("m1"))
    again = await anna("POST", f"{at}/messages", message_body("m1"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json()["sequence"] == 2
    assert await anna.code("POST", f"{at}/messages", message_body("m1", "other")) is Code.IDEMPOTENCY_CONFLICT


async def test_a_non_member_gets_the_same_answer_for_existing_and_missing_chats(
    use_cases: UseCaseEnv,
) -> None:
    api = RestApp(use_cases)
    anna, _, at = await group(api)
    await anna.ok("POST", f"{at}/messages", message_body("k1"))
    absent = f"{at[:-6]}AAAAAA"
    bodies = [
        message_body("k1"),
        message_body("k1"),
        message_body("k1", "other"),
        message_body("k2", after=1),
        message_body("k3", after=9),
    ]
    for cleo in (api.user(CLEO), api.user(CLEO, TenantId("other"))):
        problems = [
            [_problem_of(await cleo("POST", f"{each}/messages", body)) for body in bodies]
            for each in (at, absent)
        ]
        assert problems[0] == problems[1]
        assert {answer["code"] for answer in problems[0]} == {Code.CHAT_NOT_FOUND}


def _problem_of(response: httpx.Response) -> dict[str, Any]:
    """Return the body and headers of an answer, without the values that identify the request."""
    own = {"instance", "request_id", "request-id"}
    everything = {**response.headers, **response.json(), "status": response.status_code}
    return {name: value for name, value in everything.items() if name not in own}


async def test_a_send_with_a_position_is_cheaper_and_the_position_is_checked_against_the_head(
    use_cases: UseCaseEnv,
) -> None:
    anna, _, at = await group(RestApp(use_cases))
    assert (await anna.ok("POST", f"{at}/messages", message_body("m1", after=1)))["sequence"] == 2
    assert (await anna("POST", f"{at}/messages", message_body("m1", after=1))).status_code == 200
    assert await anna.code("POST", f"{at}/messages", message_body("m2", after=9)) is Code.POSITION_AHEAD


async def test_the_header_is_the_key_when_the_body_has_none(use_cases: UseCaseEnv) -> None:
    anna, _, at = await group(RestApp(use_cases))
    where = ("POST", f"{at}/messages")
    first = await anna.ok(*where, {"text": "hi"}, headers={"idempotency-key": "h1"})
    assert await anna.ok(*where, {"text": "hi"}, headers={"idempotency-key": '"h1"'}) == first
    assert await anna.ok(*where, message_body("h1"), headers={"idempotency-key": "h1"}) == first
    both = await anna(*where, message_body("h1"), headers={"idempotency-key": "h2"})
    assert (both.status_code, both.json()["code"]) == (400, Code.REQUEST_INVALID)
    assert await anna.code(*where, {"text": "hi"}) is Code.REQUEST_INVALID
    assert await anna.code(*where, {"text": "hi"}, headers={"idempotency-key": "a#b"}) is Code.REQUEST_INVALID


async def test_history_pages_go_both_ways_and_return_their_range(use_cases: UseCaseEnv) -> None:
    anna, ben, at = await group(RestApp(use_cases))
    for n in range(6):
        await anna.ok("POST", f"{at}/messages", message_body(f"m{n}", f"text {n}"))
    newest = await ben.ok("GET", f"{at}/messages?limit=3")
    assert [entry["sequence"] for entry in newest["entries"]] == [7, 6, 5]
    assert newest["covered_range"] == {"after": 4, "up_to": 7}
    assert (newest["has_older"], newest["has_newer"]) == (True, False)
    older = await ben.ok("GET", f"{at}/messages?limit=10&before=5")
    assert [entry["kind"] for entry in older["entries"]] == ["message"] * 3 + ["create"]
    caught_up = await ben.ok("GET", f"{at}/messages?after=5")
    assert [entry["text"] for entry in caught_up["entries"]] == ["text 5", "text 4"]
    around = await ben.ok("GET", f"{at}/messages?around=4&limit=2")
    assert [entry["sequence"] for entry in around["entries"]] == [5, 4]
    assert await ben.code("GET", f"{at}/messages?before=5&after=1") is Code.REQUEST_INVALID


async def test_a_message_keeps_everything_it_was_sent_with(use_cases: UseCaseEnv) -> None:
    anna, ben, at = await group(RestApp(use_cases))
    first = await anna.ok("POST", f"{at}/messages", message_body("m1"))
    more = {
        "data": {"place": {"lat": 52.5, "tags": ["a", None, 3]}},
        "reply_to": first["sequence"],
        "mentions": [BEN],
        "content_type": "application/geo+json",
        "ttl_seconds": 3600,
    }
    sent = await anna.ok("POST", f"{at}/messages", message_body("m2", "here", **more))
    shown = await ben.ok("GET", f"/v1/messages/{sent['id']}")
    assert "client_message_id" not in shown
    assert {name: shown[name] for name in ("data", "reply_to", "mentions", "content_type")} == {
        name: more[name] for name in ("data", "reply_to", "mentions", "content_type")
    }
    assert shown["expires_at"] > shown["created_at"]
    assert (await anna.ok("GET", f"/v1/messages/{sent['id']}"))["client_message_id"] == "m2"


async def test_a_message_is_edited_reacted_to_and_redacted(use_cases: UseCaseEnv) -> None:
    anna, ben, at = await group(RestApp(use_cases))
    sent = await anna.ok("POST", f"{at}/messages", message_body("m1"))
    one = f"/v1/messages/{sent['id']}"
    assert (await anna.ok("PATCH", one, {"text": "better"}))["sequence"] == 3
    await ben.ok("PUT", f"{one}/reactions/👍")
    assert await ben.code("PUT", f"{one}/reactions/👍") is Code.NO_CHANGE
    shown = await ben.ok("GET", one)
    assert (shown["text"], "edited_at" in shown) == ("better", True)
    assert shown["reactions"] == [{"emoji": "👍", "count": 1, "users": ["ben"]}]
    await ben.ok("DELETE", f"{one}/reactions/👍")
    assert await ben.code("PATCH", one, {"text": "mine"}) is Code.FORBIDDEN
    assert await ben.code("DELETE", one) is Code.FORBIDDEN
    await anna.ok("DELETE", one)
    shown = await ben.ok("GET", one)
    assert (shown["state"], "text" in shown) == ("redacted", False)
    assert await anna.code("DELETE", one) is Code.NO_CHANGE
    assert await stranger_code(use_cases, one) is Code.MESSAGE_NOT_FOUND


async def stranger_code(use_cases: UseCaseEnv, path: str) -> Code:
    return await RestApp(use_cases).user(CLEO).code("GET", path)


async def test_content_has_its_bounds(use_cases: UseCaseEnv) -> None:
    anna, _, at = await group(RestApp(use_cases))
    where = ("POST", f"{at}/messages")
    assert await anna.code(*where, {"client_message_id": "e"}) is Code.CONTENT_INVALID
    big = {"data": {"blob": "x" * 5000}, "client_message_id": "b"}
    assert await anna.code(*where, big) is Code.CONTENT_TOO_LARGE
    deep: Any = {}
    for _ in range(9):
        deep = {"d": deep}
    assert await anna.code(*where, {"data": deep, "client_message_id": "d"}) is Code.CONTENT_INVALID
