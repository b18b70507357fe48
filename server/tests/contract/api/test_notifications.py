"""Inboxes over REST, on both engines: send, read, mark, recall and explain."""

from typing import Any

from fixtures.rest_app import Caller, RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.accounts.model import Scope
from tidings.kernel.errors import Code

INBOX = "/v1/inboxes/default"
NEWS = {
    "title": "News",
    "categories": ["sport", "weather"],
    "payload_schema": {"type": "object", "required": ["title"]},
}


async def opened(use_cases: UseCaseEnv) -> tuple[RestApp, Caller, Caller]:
    api = RestApp(use_cases)
    server = api.server(Scope.NOTIFICATIONS)
    await server.ok("PUT", INBOX, NEWS)
    return api, server, api.user(ANNA)


async def send(api: RestApp, server: Caller, *users: str, **more: Any) -> Any:
    sent = await server.ok(
        "POST", f"{INBOX}/notifications", {"user_ids": list(users), "message": {"title": "hi"}, **more}
    )
    await api.work()
    return sent


async def test_an_inbox_is_set_up_and_shown(use_cases: UseCaseEnv) -> None:
    _, server, _ = await opened(use_cases)
    again = await server.ok("PUT", INBOX, NEWS | {"title": "The news", "retention_days": 30})
    assert (again["title"], again["version"], again["schema_version"]) == ("The news", 2, 1)
    assert await server.ok("GET", INBOX) == again
    assert (await server.ok("GET", "/v1/inboxes"))["inboxes"] == [again]
    other = await server.ok("PUT", "/v1/inboxes/alerts", NEWS)
    first = await server.ok("GET", "/v1/inboxes?limit=1")
    rest = await server.ok("GET", f"/v1/inboxes?limit=5&cursor={first['cursor']}")
    assert ([*first["inboxes"], *rest["inboxes"]], rest.get("cursor")) == ([other, again], None)
    assert await server.code("GET", "/v1/inboxes/other") is Code.INBOX_NOT_FOUND
    faulty = NEWS | {"payload_schema": {"type": "nonsense"}}
    assert await server.code("PUT", INBOX, faulty) is Code.REQUEST_INVALID


async def test_a_new_inbox_has_the_defaults_of_its_tenant_and_others_are_unchanged(
    use_cases: UseCaseEnv,
) -> None:
    _, server, _ = await opened(use_cases)
    path, kept = "/v1/inbox-defaults", ("retention_days", "known_users")
    assert await server.ok("GET", path) == {"known_users": False, "version": 0}
    await server.ok("PUT", path, {"retention_days": 90, "known_users": True})
    made = await server.ok("PUT", "/v1/inboxes/new", {"title": "New"})
    assert [made.get(name) for name in kept] == [90, True]
    own = {"title": "Own", "retention_days": None, "known_users": False}
    for body in (own, {"title": "Own"}):
        created = await server.ok("PUT", "/v1/inboxes/own", body)
        assert [created.get(name) for name in kept] == [None, False], "what is not said stays"
    old = await server.ok("PUT", INBOX, NEWS)
    assert [old.get(name) for name in kept] == [None, False], "it was there before"
    again = await server.ok("PUT", path, {})
    assert (again.get("retention_days"), again["known_users"], again["version"]) == (None, False, 2)
    assert (await server.ok("PUT", "/v1/inboxes/new", {"title": "New"}))["retention_days"] == 90
    assert await server.code("PUT", path, {"retention_days": 0}) is Code.REQUEST_INVALID


async def test_a_notification_is_listed_counted_and_marked(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    first = await send(api, server, ANNA, BEN, category="sport", sender="editor", label="All")
    second = await send(api, server, ANNA)
    page = await anna.ok("GET", f"{INBOX}/notifications")
    assert [each["id"] for each in page["notifications"]] == [second["id"], first["id"]]
    assert page["counts"] == {"unread": 2, "unseen": 2, "categories": {"sport": 1, "weather": 0}}
    shown = page["notifications"][1]
    assert (shown["category"], shown["sender"], shown["label"]) == ("sport", "editor", "All")
    assert (shown["message"], shown["is_read"]) == ({"title": "hi"}, False)
    marked = await anna.ok("POST", f"{INBOX}/read", {"ids": [first["id"]]})
    assert (marked["unread"], marked["categories"]["sport"]) == (1, 0)
    assert (await anna.ok("POST", f"{INBOX}/unread", {"ids": [first["id"]]}))["unread"] == 2
    assert (await anna.ok("POST", f"{INBOX}/seen"))["unseen"] == 0
    assert (await anna.ok("POST", f"{INBOX}/archive", {"ids": [second["id"]]}))["unread"] == 1
    archive = await anna.ok("GET", f"{INBOX}/notifications?archived=true")
    assert [each["id"] for each in archive["notifications"]] == [second["id"]]
    assert (await anna.ok("POST", f"{INBOX}/restore", {"ids": [second["id"]]}))["unread"] == 2
    assert (await anna.ok("POST", f"{INBOX}/read", {"category": "sport"}))["unread"] == 1
    unread = await anna.ok("GET", f"{INBOX}/notifications?unread=true")
    assert [each["id"] for each in unread["notifications"]] == [second["id"]]
    assert (await anna.ok("POST", f"{INBOX}/read", {}))["unread"] == 0
    assert (await api.user(BEN).ok("GET", f"{INBOX}/counts"))["unread"] == 1


async def test_pages_continue_and_a_filter_keeps_its_cursor(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    ids = [(await send(api, server, ANNA, category="sport"))["id"] for _ in range(5)]
    page = await anna.ok("GET", f"{INBOX}/notifications?limit=2&category=sport")
    await send(api, server, ANNA, category="sport")
    found = [each["id"] for each in page["notifications"]]
    while "cursor" in page:
        page = await anna.ok("GET", f"{INBOX}/notifications?limit=2&category=sport&cursor={page['cursor']}")
        found += [each["id"] for each in page["notifications"]]
    assert found == ids[::-1]
    first = await anna.ok("GET", f"{INBOX}/notifications?limit=2")
    elsewhere = f"{INBOX}/notifications?limit=2&unread=true&cursor={first['cursor']}"
    assert await anna.code("GET", elsewhere) is Code.CURSOR_INVALID
    assert await anna.code("GET", f"{INBOX}/notifications?category=cooking") is Code.REQUEST_INVALID


async def test_counts_that_did_not_change_are_not_sent_again(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    await send(api, server, ANNA)
    etag = (await anna("GET", f"{INBOX}/counts")).headers["etag"]
    bearer = {"authorization": f"Bearer {api.ring.user(use_cases.tenant, ANNA)}", "if-none-match": etag}
    same = await raw(api, f"{INBOX}/counts", bearer)
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    await send(api, server, ANNA)
    other = await raw(api, f"{INBOX}/counts", bearer)
    assert (other.status_code, other.json()["unread"]) == (200, 2)


async def raw(api: RestApp, path: str, headers: dict[str, str]) -> Any:
    import httpx  # noqa: PLC0415 - here alone an answer is looked at that is neither success nor problem

    transport = httpx.ASGITransport(app=api.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        return await client.get(path, headers=headers)


async def test_counts_contain_the_time_of_the_next_expiry(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    await send(api, server, ANNA, expires_at="2099-12-31T00:00:00Z")
    counts = await anna.ok("GET", f"{INBOX}/counts")
    assert (counts["unread"], counts["next_change_at"]) == (1, "2099-12-31T00:00:00.000Z")
    use_cases.clock.ahead_ms = 80 * 365 * 86_400_000
    assert (await anna.ok("GET", f"{INBOX}/counts"))["unread"] == 0
    late = {"user_ids": [ANNA], "message": {"title": "hi"}, "expires_at": "2020-01-01T00:00:00Z"}
    assert await server.code("POST", f"{INBOX}/notifications", late) is Code.REQUEST_INVALID


async def test_a_repeat_is_answered_by_the_first_answer(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    body, key = {"user_ids": [ANNA], "message": {"title": "hi"}}, {"Idempotency-Key": "one"}
    first = await server("POST", f"{INBOX}/notifications", body, headers=key)
    again = await server("POST", f"{INBOX}/notifications", body, headers=key)
    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    await api.work()
    assert (await anna.ok("GET", f"{INBOX}/counts"))["unread"] == 1
    other = {"user_ids": [BEN], "message": {"title": "hi"}}
    assert (
        await server.code("POST", f"{INBOX}/notifications", other, headers=key) is Code.IDEMPOTENCY_CONFLICT
    )


async def test_a_hundred_thousand_users_fit_into_one_request(use_cases: UseCaseEnv) -> None:
    _, server, _ = await opened(use_cases)
    users = [f"user-with-a-rather-long-name-{number:06d}" for number in range(100_000)]
    sent = await server.ok("POST", f"{INBOX}/notifications", {"user_ids": users, "message": {"title": "hi"}})
    job = await server.ok("GET", f"/v1/jobs/{sent['job']}")
    assert (job["total"], job["done"], job["state"]) == (100_000, 0, "running")
    one_more = {"user_ids": [*users, "one-more"], "message": {"title": "hi"}}
    assert await server.code("POST", f"{INBOX}/notifications", one_more) is Code.REQUEST_INVALID


async def test_a_job_is_paused_resumed_and_listed(use_cases: UseCaseEnv) -> None:
    api, server, _ = await opened(use_cases)
    sent = await server.ok("POST", f"{INBOX}/notifications", {"user_ids": [ANNA], "message": {"title": "hi"}})
    job = f"/v1/jobs/{sent['job']}"
    assert (await server.ok("POST", f"{job}/pause"))["state"] == "paused"
    await api.work()
    assert (await server.ok("GET", job))["done"] == 0
    assert (await server.ok("POST", f"{job}/resume"))["state"] == "running"
    await api.work()
    shown = await server.ok("GET", job)
    assert (shown["state"], shown["done"], shown["failed"]) == ("done", 1, 0)
    assert (await server.ok("GET", "/v1/jobs"))["jobs"] == [shown]
    assert await server.code("POST", f"{job}/cancel") is Code.NO_CHANGE
    assert await server.code("GET", "/v1/jobs/01JCQ4Z7N3V5X9B2M8K6T1R0WD") is Code.JOB_NOT_FOUND


async def test_a_notification_is_amended_and_recalled_with_proof(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    sent = await send(api, server, ANNA, BEN)
    notification = f"{INBOX}/notifications/{sent['id']}"
    assert (await server.ok("PATCH", notification, {"message": {"title": "corrected"}}))["version"] == 2
    (shown,) = (await anna.ok("GET", f"{INBOX}/notifications"))["notifications"]
    assert (shown["message"], shown["version"]) == ({"title": "corrected"}, 2)
    await anna.ok("POST", f"{INBOX}/read", {"ids": [sent["id"]]})
    recalled = await server.ok("DELETE", notification)
    assert (await anna.ok("GET", f"{INBOX}/notifications"))["notifications"] == []
    await api.work()
    assert (await server.ok("GET", f"/v1/jobs/{recalled['job']}"))["state"] == "done"
    assert (await api.user(BEN).ok("GET", f"{INBOX}/counts"))["unread"] == 0
    proof = (await server.ok("GET", f"{notification}/recipients"))["users"]
    assert [("read_at" in each, "removed_at" in each) for each in proof] == [(True, True), (False, True)]
    assert await server.code("PATCH", notification, {"message": {"title": "no"}}) is Code.NO_CHANGE


async def test_a_notification_is_found_by_its_host_system_id(use_cases: UseCaseEnv) -> None:
    _, server, _ = await opened(use_cases)
    body = {
        "user_ids": [ANNA, BEN],
        "message": {"title": "x"},
        "host_system_id": "order-7",
        "is_unique": True,
    }
    sent = await server.ok("POST", f"{INBOX}/notifications", body)
    found = await server.ok("GET", f"{INBOX}/sent/order-7")
    assert (found["id"], found["job"], found["total"]) == (sent["id"], sent["job"], 2)
    assert "redacted_at" not in found
    await server.ok("DELETE", f"{INBOX}/notifications/{sent['id']}")
    assert "redacted_at" in await server.ok("GET", f"{INBOX}/sent/order-7")
    assert await server.code("GET", f"{INBOX}/sent/order-8") is Code.NOTIFICATION_NOT_FOUND


async def test_a_count_is_explained(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    read, marked, again, unread = [(await send(api, server, ANNA))["id"] for _ in range(4)]
    await anna.ok("POST", f"{INBOX}/read", {"ids": [read]})
    await anna.ok("POST", f"{INBOX}/read", {})
    await anna.ok("POST", f"{INBOX}/unread", {"ids": [again]})
    new = (await send(api, server, ANNA))["id"]
    result = await server.ok("GET", f"{INBOX}/users/{ANNA}/explain")
    why = {each["id"]: (each["why"], each["is_counted"]) for each in result["notifications"]}
    assert why == {
        read: ("read", False),
        marked: ("marked_all", False),
        again: ("unread_again", True),
        unread: ("marked_all", False),
        new: ("delivered", True),
    }
    assert result["counts"]["unread"] == 2
