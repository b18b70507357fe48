"""Logins, sessions and users over HTTP, on both engines."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fixtures.accounts_env import NUMBER, wrong_code
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv
from msgspec.structs import replace

from tidings.accounts.model import Phone, Scope
from tidings.accounts.store.users import DynamoUserStore
from tidings.api.services import ApiLimits
from tidings.app.wiring.rate_limits import RequestLimits
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import LimitKind, LimitPolicy

DEVICE = {"id": "laptop", "name": "Anna's laptop"}
RETRY = {"idempotency-key": "drawn-by-chance-0001"}


@asynccontextmanager
async def sending(api: RestApp) -> AsyncIterator[None]:
    """Run the queue of codes."""
    running = asyncio.create_task(api.accounts.outbox.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def log_in(api: RestApp) -> Any:
    anonymous = api.holder(None)
    asked = {"tenant": api.use_cases.tenant, "phone": NUMBER}
    challenge = (await anonymous.ok("POST", "/v1/login/phone", asked))["challenge"]
    answer = asked | {"challenge": challenge, "device": DEVICE, "code": await api.accounts.code()}
    return await anonymous.ok("POST", "/v1/login/phone/redeem", answer)


async def test_a_phone_logs_in_refreshes_and_out(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    async with sending(api):
        login = await log_in(api)
    assert (login["is_new"], login["user"]["phone"]) == (True, NUMBER)
    principal = await api.accounts.access.verify(login["tokens"]["access_token"])
    assert (principal.tenant, principal.user) == (use_cases.tenant, login["user"]["id"])
    anonymous, old = api.holder(None), {"refresh_token": login["tokens"]["refresh_token"]}
    new = await anonymous.ok("POST", "/v1/login/refresh", old, headers=RETRY)
    again = await anonymous.ok("POST", "/v1/login/refresh", old, headers=RETRY)
    assert new["refresh_token"] == again["refresh_token"] != old["refresh_token"]
    user = api.user(UserId(login["user"]["id"]))
    (session,) = (await user.ok("GET", "/v1/sessions"))["sessions"]
    assert (session["id"], session["device"]) == (new["session"], DEVICE)
    await user.ok("DELETE", f"/v1/sessions/{session['id']}")
    fresh = {"refresh_token": new["refresh_token"]}
    assert await anonymous.code("POST", "/v1/login/refresh", fresh) is Code.CREDENTIAL_INVALID


async def test_a_wrong_code_an_unknown_tenant_and_no_challenge_are_refused_alike(
    use_cases: UseCaseEnv,
) -> None:
    api = RestApp(use_cases)
    anonymous = api.holder(None)
    asked = {"tenant": use_cases.tenant, "phone": NUMBER}
    async with sending(api):
        challenge = (await anonymous.ok("POST", "/v1/login/phone", asked))["challenge"]
        answer = asked | {"challenge": challenge, "device": DEVICE, "code": await api.accounts.code()}
    redeem = ("POST", "/v1/login/phone/redeem")
    bad = [
        answer | {"code": wrong_code(answer["code"])},
        answer | {"challenge": "A" * 26},
        answer | {"tenant": "unknown"},
    ]
    answers = [await anonymous(*redeem, each) for each in bad]
    problems = {(each.status_code, each.json()["code"], each.json()["detail"]) for each in answers}
    assert problems == {(401, Code.CREDENTIAL_INVALID, "Invalid or expired credential.")}
    await anonymous.ok(*redeem, answer)
    assert await anonymous.code(*redeem, answer) is Code.CREDENTIAL_INVALID


async def test_login_codes_are_rate_limited_with_a_retry_time(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    api.accounts.limit(LimitKind.CODE_NUMBER, 1)
    asked = ("POST", "/v1/login/phone", {"tenant": use_cases.tenant, "phone": NUMBER})
    await api.holder(None).ok(*asked)
    limited = await api.holder(None)(*asked)
    assert (limited.status_code, limited.headers["retry-after"]) == (429, "60")
    assert limited.json()["retry_after_ms"] == 60_000


async def test_a_server_creates_users_who_change_their_own_profile(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    server, anna, ben = api.server(Scope.USERS), api.user(ANNA), api.user(BEN)
    new = {"id": ANNA, "phone": NUMBER, "display_name": "Anna"}
    await server.ok("POST", "/v1/users", new)
    assert await server.code("POST", "/v1/users", new | {"phone": None}) is Code.USER_EXISTS
    assert await server.code("POST", "/v1/users", {"id": BEN, "phone": NUMBER}) is Code.PHONE_TAKEN
    made = await server.ok("POST", "/v1/users", {})
    assert len(made["id"]) == 26
    for hostile in ("\x1b[2JAnna", "Anna\nroot", "\x9b2J", "\u202eannA"):
        refused = await anna.code("PATCH", "/v1/me", {"display_name": hostile})
        assert refused is Code.REQUEST_INVALID
    changed = await anna.ok("PATCH", "/v1/me", {"avatar_uri": "https://img.example.com/a.png"})
    assert (changed["display_name"], changed["avatar_uri"]) == ("Anna", "https://img.example.com/a.png")
    assert (await server.ok("PATCH", f"/v1/users/{ANNA}", {"avatar_uri": None})).get("avatar_uri") is None
    assert (await anna.ok("GET", "/v1/me"))["phone"] == NUMBER
    assert (await server.ok("GET", f"/v1/users/{ANNA}"))["phone"] == NUMBER
    assert "phone" not in await ben.ok("GET", f"/v1/users/{ANNA}")
    many = await ben.ok("GET", f"/v1/users?ids={ANNA}&ids={BEN}&ids={ANNA}")
    assert [user["id"] for user in many["users"]] == [ANNA]
    assert "phone" not in many["users"][0]
    assert (await ben.ok("GET", "/v1/me"))["id"] == BEN, "a valid token is enough, without a profile"


async def test_a_server_ends_the_sessions_of_its_own_users_only(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    async with sending(api):
        login = await log_in(api)
    at = f"/v1/users/{login['user']['id']}/sessions"
    other = api.holder(api.ring.server(TenantId(f"{use_cases.tenant}-other"), Scope.USERS))
    assert await other.code("DELETE", at) is Code.USER_NOT_FOUND
    server = api.server(Scope.USERS)
    assert len((await server.ok("GET", at))["sessions"]) == 1
    await server.ok("DELETE", at)
    refresh = {"refresh_token": login["tokens"]["refresh_token"]}
    assert await api.holder(None).code("POST", "/v1/login/refresh", refresh) is Code.CREDENTIAL_INVALID


class Charged(ApiLimits):
    """Records the charges for look-ups of phone numbers."""

    def __init__(self) -> None:
        self.tokens: list[tuple[UserId, int]] = []

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> None:
        del tenant
        self.tokens.append((user, tokens))


async def test_a_user_is_found_by_exact_number_where_the_tenant_allows_it(use_cases: UseCaseEnv) -> None:
    charged = Charged()
    api = RestApp(use_cases, limits=charged)
    server, anna = api.server(Scope.USERS), api.user(ANNA)
    await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER, "display_name": "Ben"})
    asked = ("POST", "/v1/user-search", {"phone_number": NUMBER})
    found = await anna.ok(*asked)
    assert (found["id"], found["display_name"], found.get("phone")) == (BEN, "Ben", None)
    assert charged.tokens == [(ANNA, 20)]

    unknown = await anna("POST", "/v1/user-search", {"phone_number": NUMBER[:-1]})
    await server.ok("PUT", f"/v1/users/{BEN}/suspension")
    suspended = await anna(*asked)
    assert unknown.status_code == suspended.status_code == 404
    assert problem_of(unknown) == problem_of(suspended)

    settings = api.accounts.tenants.settings
    api.accounts.tenants.settings = replace(settings, has_phone_search=False)
    assert await anna.code(*asked) is Code.FORBIDDEN


async def calls_of(use_cases: UseCaseEnv, doing: Awaitable[httpx.Response]) -> tuple[Any, dict[str, float]]:
    """Return the content of an answer, and how often it used each access pattern."""

    def booked() -> Counter[str]:
        return Counter(
            {row.pattern: int(row.value) for row in use_cases.client.ledger if row.name == "calls"}
        )

    before = booked()
    response = await doing
    return problem_of(response), dict(booked() - before)


async def test_a_user_who_opts_out_looks_like_an_unknown_number(use_cases: UseCaseEnv) -> None:
    """The number of reads is the same too: their duration could be measured."""
    api = RestApp(use_cases)
    server, anna, ben = api.server(Scope.USERS), api.user(ANNA), api.user(BEN)
    await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
    group = await anna.ok("POST", "/v1/chats", {"type": "group", "name": "us", "client_message_id": "one"})
    paths = ["/v1/user-search", f"/v1/chats/{group['id']}/members-by-phone"]
    assert (await ben.ok("PATCH", "/v1/me", {"phone_search": "nobody"}))["phone_search"] == "nobody"
    assert (await ben.ok("GET", "/v1/me"))["phone_search"] == "nobody"
    assert "phone_search" not in await anna.ok("GET", f"/v1/users/{BEN}")
    for path in paths:
        hidden = await calls_of(use_cases, anna("POST", path, {"phone_number": NUMBER}))
        unknown = await calls_of(use_cases, anna("POST", path, {"phone_number": NUMBER[:-1]}))
        assert hidden == unknown
        assert hidden[0]["code"] == Code.USER_NOT_FOUND

    theirs = ("PATCH", f"/v1/users/{BEN}", {"phone_search": "everyone"})
    assert await server.code(*theirs) is Code.REQUEST_INVALID, "it is the user's own choice"
    await ben.ok("PATCH", "/v1/me", {"phone_search": None})
    assert (await ben.ok("GET", "/v1/me"))["phone_search"] == "everyone"
    for path in paths:
        assert (await anna.ok("POST", path, {"phone_number": NUMBER}))["id"] == BEN


async def test_a_member_is_added_by_phone_as_the_search_would_find_them(use_cases: UseCaseEnv) -> None:
    charged = Charged()
    api = RestApp(use_cases, limits=charged)
    server, anna = api.server(Scope.USERS), api.user(ANNA)
    await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER, "display_name": "Ben"})
    group = await anna.ok("POST", "/v1/chats", {"type": "group", "name": "us", "client_message_id": "one"})
    chat = f"/v1/chats/{group['id']}"
    add = ("POST", f"{chat}/members-by-phone", {"phone_number": NUMBER, "client_message_id": "two"})
    for _ in range(2):
        added = await anna.ok(*add)
        assert (added["id"], added["display_name"], added.get("phone")) == (BEN, "Ben", None)
    members = (await anna.ok("GET", f"{chat}/members"))["members"]
    assert {member["user"] for member in members} == {ANNA, BEN}
    assert charged.tokens == [(ANNA, 20)] * 2

    settings = api.accounts.tenants.settings
    api.accounts.tenants.settings = replace(settings, has_phone_search=False)
    assert await anna.code(*add) is Code.FORBIDDEN


async def test_a_user_who_may_not_add_members_learns_nothing_about_a_number(use_cases: UseCaseEnv) -> None:
    charged = Charged()
    api = RestApp(use_cases, limits=charged)
    await api.server(Scope.USERS).ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
    made = {"type": "group", "name": "us", "members": [CLEO], "client_message_id": "one"}
    group = await api.user(ANNA).ok("POST", "/v1/chats", made)
    path = f"/v1/chats/{group['id']}/members-by-phone"
    for user, code in ((CLEO, Code.FORBIDDEN), (DORA, Code.CHAT_NOT_FOUND)):
        numbers = ({"phone_number": NUMBER}, {"phone_number": NUMBER[:-1]})
        known, unknown = [
            await calls_of(use_cases, api.user(user)("POST", path, number)) for number in numbers
        ]
        assert known == unknown
        assert known[0]["code"] == code
        assert "users.find_by_phone" not in known[1]
    assert charged.tokens == []


async def test_look_ups_are_limited_by_the_day(use_cases: UseCaseEnv) -> None:
    tenants, per_day = RestApp(use_cases).accounts.tenants, LimitPolicy(count=2, period_s=86_400, burst=2)
    policies = dict.fromkeys(LimitKind, LimitPolicy(count=1_000, period_s=1, burst=1_000))
    policies[LimitKind.PHONE_SEARCH] = per_day
    shared, local = LocalBuckets(use_cases.clock), LocalBuckets(use_cases.clock)
    limiter = RateLimiter(shared, local, policies, use_cases.clock)
    api = RestApp(use_cases, limits=RequestLimits(limiter, tenants))
    anna, cleo = api.user(ANNA), api.user(CLEO)
    group = await anna.ok("POST", "/v1/chats", {"type": "group", "name": "us", "client_message_id": "one"})
    search = ("POST", "/v1/user-search", {"phone_number": NUMBER})
    add = ("POST", f"/v1/chats/{group['id']}/members-by-phone", {"phone_number": NUMBER})
    assert [await anna.code(*each) for each in (search, add)] == [Code.USER_NOT_FOUND] * 2
    for each in (search, add):
        refused = await anna(*each)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 3600
    await anna.ok("GET", "/v1/chats")
    assert await cleo.code(*search) is Code.USER_NOT_FOUND, "each user has their own"


def problem_of(response: httpx.Response) -> dict[str, Any]:
    """Return all parts of an answer that depend on the number."""
    return {name: value for name, value in response.json().items() if name not in {"instance", "request_id"}}


async def test_a_wrong_user_in_the_index_of_numbers_is_not_trusted(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    server, anna = api.server(Scope.USERS), api.user(ANNA)
    await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
    rows = api.accounts.user_rows
    other = Phone(NUMBER[:-1] + "0")

    class Stale(DynamoUserStore):
        async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
            del tenant, phone
            return BEN

    rows.__class__ = Stale
    assert await anna.code("POST", "/v1/user-search", {"phone_number": other}) is Code.USER_NOT_FOUND
    assert (await anna.ok("POST", "/v1/user-search", {"phone_number": NUMBER}))["id"] == BEN
