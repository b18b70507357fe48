"""Broadcasts over REST, on both engines: send, estimate, roll out, recall, and read."""

from typing import Any

from contract.api.test_notifications import INBOX, opened
from fixtures.rest_app import Caller
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code

HI = {"message": {"title": "hi"}}
SENDS = f"{INBOX}/broadcasts"
ESTIMATE = "/v1/inboxes/default/broadcast-estimate"


async def unread(caller: Caller) -> int:
    counts: dict[str, Any] = await caller.ok("GET", f"{INBOX}/counts")
    found: int = counts["unread"]
    return found


async def test_a_broadcast_is_listed_for_all_users_and_marked_like_a_notification(
    use_cases: UseCaseEnv,
) -> None:
    api, server, anna = await opened(use_cases)
    sent = await server.ok("POST", SENDS, HI | {"category": "sport", "label": "All"})
    assert (sent["sequence"], sent["jobs"]) == (1, [])
    (shown,) = (await anna.ok("GET", f"{INBOX}/notifications"))["notifications"]
    assert (shown["id"], shown["category"], shown["label"]) == (sent["id"], "sport", "All")
    marked = await anna.ok("POST", f"{INBOX}/read", {"ids": [sent["id"]]})
    assert (marked["unread"], marked["broadcasts_up_to"]) == (0, 1)
    assert await unread(api.user(BEN)) == 1
    (shown,) = (await anna.ok("GET", f"{INBOX}/notifications"))["notifications"]
    assert shown["is_read"]


async def test_a_repeat_of_a_broadcast_is_answered_by_the_first_answer(use_cases: UseCaseEnv) -> None:
    _, server, anna = await opened(use_cases)
    key = {"Idempotency-Key": "one"}
    first = await server("POST", SENDS, HI, headers=key)
    again = await server("POST", SENDS, HI, headers=key)
    assert (first.status_code, again.status_code, again.json()) == (201, 200, first.json())
    assert await unread(anna) == 1


async def test_a_read_may_require_the_state_of_an_earlier_answer(use_cases: UseCaseEnv) -> None:
    _, server, anna = await opened(use_cases)
    sent = await server.ok("POST", SENDS, HI)
    at_least = f"at_least={sent['sequence']}"
    assert (await anna.ok("GET", f"{INBOX}/counts?{at_least}"))["unread"] == 1
    assert len((await anna.ok("GET", f"{INBOX}/notifications?{at_least}"))["notifications"]) == 1
    assert (await anna.ok("POST", f"{INBOX}/seen?{at_least}"))["unseen"] == 0
    too_far = await anna.code("GET", f"{INBOX}/counts?at_least=7")
    assert too_far is Code.POSITION_AHEAD


async def test_counts_have_another_etag_after_a_broadcast(use_cases: UseCaseEnv) -> None:
    _, server, anna = await opened(use_cases)
    before = (await anna("GET", f"{INBOX}/counts")).headers["etag"]
    sent = await server.ok("POST", SENDS, HI)
    after = (await anna("GET", f"{INBOX}/counts")).headers["etag"]
    await server.ok("DELETE", f"{INBOX}/notifications/{sent['id']}")
    last = (await anna("GET", f"{INBOX}/counts")).headers["etag"]
    assert len({before, after, last}) == 3


async def test_a_ramp_is_halted_and_a_recall_is_proven(use_cases: UseCaseEnv) -> None:
    _, server, anna = await opened(use_cases)
    sent = await server.ok("POST", SENDS, HI | {"ramp": [{"percent": 10}]})
    one = f"{SENDS}/{sent['id']}"
    assert (await server.ok("POST", f"{one}/ramp", {"percent": 40}))["percent"] == 40
    assert (await server.ok("POST", f"{one}/halt"))["is_halted"]
    assert await server.code("POST", f"{one}/ramp", {"percent": 90}) is Code.NO_CHANGE
    recalled = await server.ok("DELETE", f"{INBOX}/notifications/{sent['id']}")
    assert recalled["job"] == ""
    proof = await server.ok("GET", one)
    assert (proof["percent"], proof["redacted_at"]) == (40, recalled["redacted_at"])
    assert proof["hidden_by"] > proof["redacted_at"]
    assert await unread(anna) == 0
    other = f"{SENDS}/01JCQ4Z7N3V5X9B2M8K6T1R0WD"
    assert await server.code("GET", other) is Code.NOTIFICATION_NOT_FOUND


async def test_a_scheduled_broadcast_is_a_job_that_can_be_cancelled(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    starts_at = format_ms(use_cases.clock.now_ms() + 3_600_000)
    sent = await server.ok("POST", SENDS, HI | {"starts_at": starts_at})
    assert "sequence" not in sent
    job = await server.ok("GET", f"/v1/jobs/{sent['jobs'][0]}")
    assert (job["kind"], job["starts_at"]) == ("broadcast", starts_at)
    assert (await server.ok("POST", f"/v1/jobs/{job['id']}/cancel"))["state"] == "cancelled"
    await api.work()
    assert await unread(anna) == 0


async def test_segments_and_profiles_are_set_and_read(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    made = await server.ok("PUT", "/v1/segments/pros", {"predicate": {"attribute": "plan", "is": "pro"}})
    uploaded = await server.ok("POST", "/v1/segments/vip/users", {"users": [BEN]})
    assert (uploaded["kind"], uploaded["active"], uploaded["newest"]) == ("list", 0, 1)
    active = await server.ok("POST", "/v1/segments/vip/activate", {"version": 1})
    listed = (await server.ok("GET", "/v1/segments"))["segments"]
    assert listed == [made, active] == [await server.ok("GET", f"/v1/segments/{n}") for n in ("pros", "vip")]
    first = await server.ok("GET", "/v1/segments?limit=1")
    second = await server.ok("GET", f"/v1/segments?limit=1&cursor={first['cursor']}")
    assert [*first["segments"], *second["segments"]] == listed
    profile = {"attributes": {"plan": "pro"}, "created_at": "2020-01-01T00:00:00Z"}
    assert (await server.ok("PUT", f"/v1/users/{ANNA}/profile", profile))["attributes"] == {"plan": "pro"}
    assert (await server.ok("GET", f"/v1/users/{BEN}/profile"))["lists"] == {"vip": 1}
    await server.ok("POST", SENDS, HI | {"segment": "pros"})
    await server.ok("POST", SENDS, HI | {"segment": "vip"})
    assert [await unread(each) for each in (anna, api.user(BEN))] == [1, 1]
    result = await server.ok("GET", f"{INBOX}/users/{ANNA}/explain")
    assert [each["why"] for each in result["notifications"]] == ["not_targeted", "delivered"]
    faulty = {"predicate": {"attribute": "plan", "like": "p%"}}
    assert await server.code("PUT", "/v1/segments/pros", faulty) is Code.REQUEST_INVALID
    assert await server.code("POST", SENDS, HI | {"segment": "nobody"}) is Code.SEGMENT_NOT_FOUND


async def test_reach_and_cost_are_estimated_before_a_send(use_cases: UseCaseEnv) -> None:
    _, server, _ = await opened(use_cases)
    result = await server.ok("POST", ESTIMATE, {})
    assert (result["reach"], result["sampled"], result["write_units"]) == (0, 0, 6)
    assert await server.code("POST", ESTIMATE, {"segment": "x"}) is Code.SEGMENT_NOT_FOUND


async def test_the_first_api_sends_to_everyone_without_copies(use_cases: UseCaseEnv) -> None:
    api, server, anna = await opened(use_cases)
    admin, users = (f"/stack/{part}/v1/{use_cases.tenant}/default/messages" for part in ("admin", "users"))
    everyone = {"audiences": {"kind": "everyone", "label": "All"}, "message": {"title": "hi"}}
    sent = await server.ok("POST", f"{admin}/post", everyone)
    assert (api.chunks.refs, sent["sequence"], sent["recipients"]) == ([], 1, 0)
    (row,) = (await anna.ok("GET", f"{users}/last/5"))["messages"]
    assert (row["id"], row["audiences"]["kind"], row["readat"]) == (sent["id"], "everyone", None)
    marked = await anna.ok("PUT", f"{users}/read/", {"ids": [sent["id"]]})
    assert marked["unread"] == 0
    await server.ok("DELETE", f"{admin}/redact", {"id": sent["id"]})
    assert (await anna.ok("GET", f"{users}/last/5"))["messages"] == []
    named = {"audiences": {"kind": "everyone", "uids": [ANNA]}, "message": {"title": "hi"}}
    assert await server.code("POST", f"{admin}/post", named) is Code.REQUEST_INVALID
