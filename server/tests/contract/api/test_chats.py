"""Chats, members and blocks over HTTP, on both engines."""

from fixtures.accounts_env import NO_LIMITS
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv

from tidings.accounts.model import Scope
from tidings.app.wiring.rate_limits import RequestLimits
from tidings.kernel.errors import Code
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import LimitKind, LimitPolicy


async def test_a_group_is_created_managed_and_handed_over(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben = api.user(ANNA), api.user(BEN)
    new = {"type": "group", "name": "us", "members": [BEN, CLEO], "client_message_id": "k1"}
    made = await anna.ok("POST", "/v1/chats", new)
    assert await anna.ok("POST", "/v1/chats", new) == made
    at = f"/v1/chats/{made['id']}"
    shown = await ben.ok("GET", at)
    assert shown == {
        "id": made["id"],
        "type": "group",
        "name": "us",
        "member_count": 3,
        "created_by": "anna",
        "role": "member",
        "is_frozen": False,
        "slow_mode_seconds": 0,
        "join_rule": "closed",
        "is_muted": False,
        "message_count": 0,
    }
    assert (await anna.ok("PATCH", at, {"name": "all"}))["name"] == "all"
    assert await ben.code("PATCH", at, {"name": "mine"}) is Code.FORBIDDEN
    await anna.ok("POST", f"{at}/members", {"users": [DORA]})
    await anna.ok("PUT", f"{at}/members/{BEN}/role", {"role": "admin"})
    await ben.ok("DELETE", f"{at}/members/{DORA}")
    await anna.ok("PUT", f"{at}/owner", {"user": BEN})
    await anna.ok("DELETE", f"{at}/members/{ANNA}")
    members = await ben.ok("GET", f"{at}/members")
    assert members == {"members": [{"user": "ben", "role": "owner"}, {"user": "cleo", "role": "member"}]}
    assert await anna.code("GET", at) is Code.NOT_A_MEMBER


async def test_members_are_listed_in_pages_without_former_members(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna = api.user(ANNA)
    users = [f"u{n}" for n in range(7)]
    made = await anna.ok(
        "POST", "/v1/chats", {"type": "group", "name": "us", "members": users}, headers=key("g")
    )
    at = f"/v1/chats/{made['id']}/members"
    for user in users[1:4]:
        await anna.ok("DELETE", f"{at}/{user}")
    seen, cursor = list[str](), ""
    while True:
        page = await anna.ok("GET", f"{at}?limit=2{cursor}")
        seen += [member["user"] for member in page["members"]]
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
    assert seen == ["anna", "u0", "u4", "u5", "u6"]


async def test_many_members_are_added_by_a_job(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben = api.user(ANNA), api.user(BEN)
    users = [f"u{n:03d}" for n in range(120)]
    new = {"type": "group", "name": "us", "members": [BEN, *users[:100]], "client_message_id": "k1"}
    made = await anna("POST", "/v1/chats", new)
    chat, job = made.json()["id"], made.json()["job"]
    assert (made.status_code, made.headers["location"]) == (202, f"/v1/chats/{chat}/member-jobs/{job}")
    assert (await anna("POST", "/v1/chats", new)).json() == made.json()
    assert (await anna.ok("GET", made.headers["location"]))["state"] == "running"
    await api.work()
    done = await anna.ok("GET", made.headers["location"])
    assert (done["state"], done["total"], done["done"], done["failed"]) == ("done", 6, 6, 0)
    added = await anna("POST", f"/v1/chats/{chat}/members", {"users": users})
    assert added.status_code == 202
    await api.work()
    assert (await anna.ok("GET", added.headers["location"]))["done"] == 120
    assert (await anna.ok("GET", f"/v1/chats/{chat}"))["member_count"] == 122
    assert await ben.code("GET", added.headers["location"]) is Code.FORBIDDEN
    shown = await api.server(Scope.NOTIFICATIONS).ok("GET", f"/v1/jobs/{job}")
    assert (shown["kind"], shown["chat"]) == ("add_members", chat)


async def test_the_tenants_limit_of_members_bounds_groups_and_bodies(use_cases: UseCaseEnv) -> None:
    use_cases.max_members = 100
    anna = RestApp(use_cases).user(ANNA)
    new = {"type": "group", "name": "us", "client_message_id": "k1"}
    users = [f"{n:064d}" for n in range(1_500)]
    assert await anna.code("POST", "/v1/chats", {**new, "members": users[:100]}) is Code.CHAT_FULL
    assert await anna.code("POST", "/v1/chats", {**new, "members": users}) is Code.REQUEST_TOO_LARGE
    chat = (await anna.ok("POST", "/v1/chats", {**new, "members": users[:99]}))["id"]
    at = f"/v1/chats/{chat}/members"
    assert await anna.code("POST", at, {"users": users[:101]}) is Code.CHAT_FULL
    assert await anna.code("POST", at, {"users": users}) is Code.REQUEST_TOO_LARGE
    use_cases.max_members = 1_501
    assert (await anna("POST", at, {"users": users})).status_code == 202


async def test_a_direct_chat_exists_only_for_its_two_members(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    made = await api.user(ANNA).ok("POST", "/v1/chats", {"type": "direct", "user": BEN})
    assert await api.user(BEN).ok("POST", "/v1/chats", {"type": "direct", "user": ANNA}) == made
    assert (await api.user(BEN).ok("GET", f"/v1/chats/{made['id']}"))["type"] == "direct"
    assert await api.user(CLEO).code("GET", f"/v1/chats/{made['id']}") is Code.CHAT_NOT_FOUND
    assert await api.user(CLEO).code("GET", "/v1/chats/dNOSUCH") is Code.CHAT_NOT_FOUND
    assert (
        await api.user(ANNA).code("POST", "/v1/chats", {"type": "direct", "user": ANNA})
        is Code.REQUEST_INVALID
    )


async def test_a_user_creates_a_bounded_number_of_chats_and_finds_those_that_exist(
    use_cases: UseCaseEnv,
) -> None:
    policies = NO_LIMITS | {LimitKind.CHAT_USER: LimitPolicy(count=1, period_s=3_600, burst=2)}
    buckets = LocalBuckets(use_cases.clock)
    limiter = RateLimiter(buckets, buckets, policies, use_cases.clock)
    api = RestApp(use_cases, limits=RequestLimits(limiter, RestApp(use_cases).accounts.tenants))
    anna, ben = api.user(ANNA), api.user(BEN)
    new = {"type": "group", "name": "us", "members": [BEN], "client_message_id": "k1"}
    direct, group = ("POST", "/v1/chats", {"type": "direct", "user": BEN}), ("POST", "/v1/chats", new)
    made = [await anna.ok(*each) for each in (direct, group)]

    more = [
        ("POST", "/v1/chats", {"type": "direct", "user": CLEO}),
        ("POST", "/v1/chats", new | {"client_message_id": "k2"}),
    ]
    for each in more:
        refused = await anna(*each)
        assert (refused.status_code, refused.json()["code"]) == (429, Code.RATE_LIMITED)
        assert int(refused.headers["retry-after"]) > 3_000
    assert [await anna.ok(*each) for each in (direct, group)] == made, "chats that exist are not counted"
    for each in more:
        await ben.ok(*each)


async def test_a_block_silences_and_is_listed_until_it_is_undone(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben = api.user(ANNA), api.user(BEN)
    made = await anna.ok("POST", "/v1/chats", {"type": "direct", "user": BEN})
    await anna.ok("PUT", f"/v1/blocks/{BEN}")
    await anna.ok("PUT", f"/v1/blocks/{CLEO}")
    body = {"text": "hi", "client_message_id": "m1"}
    assert await ben.code("POST", f"/v1/chats/{made['id']}/messages", body) is Code.BLOCKED
    first = await anna.ok("GET", "/v1/blocks?limit=1")
    rest = await anna.ok("GET", f"/v1/blocks?limit=1&cursor={first['cursor']}")
    assert first["users"] + rest["users"] == [BEN, CLEO]
    assert (await ben.ok("GET", "/v1/blocks"))["users"] == []
    await anna.ok("DELETE", f"/v1/blocks/{BEN}")
    await ben.ok("POST", f"/v1/chats/{made['id']}/messages", body | {"client_message_id": "m2"})


def key(name: str) -> dict[str, str]:
    return {"idempotency-key": name}
