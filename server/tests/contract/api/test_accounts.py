"""Logins, sessions and users over HTTP, on both engines."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fixtures.accounts_env import NUMBER, wrong_code
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, RunUseCases, UseCaseEnv
from msgspec.structs import replace

from tidings.accounts.model import Phone, Scope
from tidings.accounts.store.users import DynamoUserStore
from tidings.api.services import NoApiLimits
from tidings.app.wiring.rate_limits import RequestLimits
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings.limits.limiter import LocalBuckets, RateLimiter
from tidings.limits.model import LimitKind, LimitPolicy

DEVICE = {"id": "laptop", "name": "Anna's laptop"}
RETRY = {"idempotency-key": "drawn-by-chance-0001"}


@asynccontextmanager
async def sending(house: RestApp) -> AsyncIterator[None]:
    """Somebody takes codes out of the outbox."""
    running = asyncio.create_task(house.door.outbox.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def log_in(house: RestApp) -> Any:
    nobody = house.holder(None)
    asked = {"tenant": house.stage.tenant, "phone": NUMBER}
    challenge = (await nobody.ok("POST", "/v1/login/phone", asked))["challenge"]
    answer = asked | {"challenge": challenge, "device": DEVICE, "code": await house.door.code()}
    return await nobody.ok("POST", "/v1/login/phone/redeem", answer)


def test_a_phone_logs_in_refreshes_and_out(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        async with sending(house):
            login = await log_in(house)
        assert (login["is_new"], login["user"]["phone"]) == (True, NUMBER)
        principal = await house.door.access.verify(login["tokens"]["access_token"])
        assert (principal.tenant, principal.user) == (stage.tenant, login["user"]["id"])
        nobody, old = house.holder(None), {"refresh_token": login["tokens"]["refresh_token"]}
        new = await nobody.ok("POST", "/v1/login/refresh", old, headers=RETRY)
        again = await nobody.ok("POST", "/v1/login/refresh", old, headers=RETRY)
        assert new["refresh_token"] == again["refresh_token"] != old["refresh_token"]
        user = house.user(UserId(login["user"]["id"]))
        (session,) = (await user.ok("GET", "/v1/sessions"))["sessions"]
        assert (session["id"], session["device"]) == (new["session"], DEVICE)
        await user.ok("DELETE", f"/v1/sessions/{session['id']}")
        fresh = {"refresh_token": new["refresh_token"]}
        assert await nobody.code("POST", "/v1/login/refresh", fresh) is Code.CREDENTIAL_INVALID

    play(scene)


def test_a_wrong_code_an_unknown_tenant_and_no_challenge_are_refused_alike(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        nobody = house.holder(None)
        asked = {"tenant": stage.tenant, "phone": NUMBER}
        async with sending(house):
            challenge = (await nobody.ok("POST", "/v1/login/phone", asked))["challenge"]
            answer = asked | {"challenge": challenge, "device": DEVICE, "code": await house.door.code()}
        redeem = ("POST", "/v1/login/phone/redeem")
        bad = [
            answer | {"code": wrong_code(answer["code"])},
            answer | {"challenge": "A" * 26},
            answer | {"tenant": "unknown"},
        ]
        answers = [await nobody(*redeem, each) for each in bad]
        told = {(each.status_code, each.json()["code"], each.json()["detail"]) for each in answers}
        assert told == {(401, Code.CREDENTIAL_INVALID, "Invalid or expired credential.")}
        await nobody.ok(*redeem, answer)
        assert await nobody.code(*redeem, answer) is Code.CREDENTIAL_INVALID

    play(scene)


def test_codes_are_limited_and_it_is_told_for_how_long(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        house.door.limit(LimitKind.CODE_NUMBER, 1)
        asked = ("POST", "/v1/login/phone", {"tenant": stage.tenant, "phone": NUMBER})
        await house.holder(None).ok(*asked)
        limited = await house.holder(None)(*asked)
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "60")
        assert limited.json()["retry_after_ms"] == 60_000

    play(scene)


def test_a_server_makes_users_who_keep_their_own_profile(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        server, anna, ben = house.server(Scope.USERS), house.user(ANNA), house.user(BEN)
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

    play(scene)


def test_a_server_ends_the_sessions_of_its_own_users_only(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        async with sending(house):
            login = await log_in(house)
        at = f"/v1/users/{login['user']['id']}/sessions"
        other = house.holder(house.ring.server(TenantId(f"{stage.tenant}-other"), Scope.USERS))
        assert await other.code("DELETE", at) is Code.USER_NOT_FOUND
        server = house.server(Scope.USERS)
        assert len((await server.ok("GET", at))["sessions"]) == 1
        await server.ok("DELETE", at)
        refresh = {"refresh_token": login["tokens"]["refresh_token"]}
        assert await house.holder(None).code("POST", "/v1/login/refresh", refresh) is Code.CREDENTIAL_INVALID

    play(scene)


class Charged(NoApiLimits):
    """Notes what is charged for looking up phone numbers."""

    def __init__(self) -> None:
        self.tokens: list[tuple[UserId, int]] = []

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> None:
        del tenant
        self.tokens.append((user, tokens))


def test_a_user_is_found_by_exact_number_where_the_tenant_allows_it(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        charged = Charged()
        house = RestApp(stage, limits=charged)
        server, anna = house.server(Scope.USERS), house.user(ANNA)
        await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER, "display_name": "Ben"})
        asked = ("POST", "/v1/user-search", {"phone_number": NUMBER})
        found = await anna.ok(*asked)
        assert (found["id"], found["display_name"], found.get("phone")) == (BEN, "Ben", None)
        assert charged.tokens == [(ANNA, 20)]

        unknown = await anna("POST", "/v1/user-search", {"phone_number": NUMBER[:-1]})
        await server.ok("PUT", f"/v1/users/{BEN}/suspension")
        suspended = await anna(*asked)
        assert unknown.status_code == suspended.status_code == 404
        assert told(unknown) == told(suspended)

        settings = house.door.tenants.settings
        house.door.tenants.settings = replace(settings, has_phone_search=False)
        assert await anna.code(*asked) is Code.FORBIDDEN

    play(scene)


async def calls_of(stage: UseCaseEnv, doing: Awaitable[httpx.Response]) -> tuple[Any, dict[str, float]]:
    """What an answer tells, and which access patterns it took how often."""

    def booked() -> Counter[str]:
        return Counter({row.pattern: int(row.value) for row in stage.client.ledger if row.name == "calls"})

    before = booked()
    response = await doing
    return told(response), dict(booked() - before)


def test_a_user_who_opts_out_is_like_a_number_that_nobody_has(play: RunUseCases) -> None:
    """Also by how often the tables are asked, which takes time that could be measured."""

    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        server, anna, ben = house.server(Scope.USERS), house.user(ANNA), house.user(BEN)
        await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
        group = await anna.ok(
            "POST", "/v1/chats", {"type": "group", "name": "us", "client_message_id": "one"}
        )
        paths = ["/v1/user-search", f"/v1/chats/{group['id']}/members-by-phone"]
        assert (await ben.ok("PATCH", "/v1/me", {"phone_search": "nobody"}))["phone_search"] == "nobody"
        assert (await ben.ok("GET", "/v1/me"))["phone_search"] == "nobody"
        assert "phone_search" not in await anna.ok("GET", f"/v1/users/{BEN}")
        for path in paths:
            hidden = await calls_of(stage, anna("POST", path, {"phone_number": NUMBER}))
            unknown = await calls_of(stage, anna("POST", path, {"phone_number": NUMBER[:-1]}))
            assert hidden == unknown
            assert hidden[0]["code"] == Code.USER_NOT_FOUND

        theirs = ("PATCH", f"/v1/users/{BEN}", {"phone_search": "everyone"})
        assert await server.code(*theirs) is Code.REQUEST_INVALID, "it is the user's own choice"
        await ben.ok("PATCH", "/v1/me", {"phone_search": None})
        assert (await ben.ok("GET", "/v1/me"))["phone_search"] == "everyone"
        for path in paths:
            assert (await anna.ok("POST", path, {"phone_number": NUMBER}))["id"] == BEN

    play(scene)


def test_a_member_is_added_by_phone_as_the_search_would_find_them(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        charged = Charged()
        house = RestApp(stage, limits=charged)
        server, anna = house.server(Scope.USERS), house.user(ANNA)
        await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER, "display_name": "Ben"})
        group = await anna.ok(
            "POST", "/v1/chats", {"type": "group", "name": "us", "client_message_id": "one"}
        )
        chat = f"/v1/chats/{group['id']}"
        add = ("POST", f"{chat}/members-by-phone", {"phone_number": NUMBER, "client_message_id": "two"})
        for _ in range(2):
            added = await anna.ok(*add)
            assert (added["id"], added["display_name"], added.get("phone")) == (BEN, "Ben", None)
        members = (await anna.ok("GET", f"{chat}/members"))["members"]
        assert {member["user"] for member in members} == {ANNA, BEN}
        assert charged.tokens == [(ANNA, 20)] * 2

        settings = house.door.tenants.settings
        house.door.tenants.settings = replace(settings, has_phone_search=False)
        assert await anna.code(*add) is Code.FORBIDDEN

    play(scene)


def test_who_may_not_add_members_learns_nothing_of_a_number(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        charged = Charged()
        house = RestApp(stage, limits=charged)
        await house.server(Scope.USERS).ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
        made = {"type": "group", "name": "us", "members": [CLEO], "client_message_id": "one"}
        group = await house.user(ANNA).ok("POST", "/v1/chats", made)
        path = f"/v1/chats/{group['id']}/members-by-phone"
        for user, code in ((CLEO, Code.FORBIDDEN), (DORA, Code.CHAT_NOT_FOUND)):
            numbers = ({"phone_number": NUMBER}, {"phone_number": NUMBER[:-1]})
            known, unknown = [
                await calls_of(stage, house.user(user)("POST", path, number)) for number in numbers
            ]
            assert known == unknown
            assert known[0]["code"] == code
            assert "users.find_by_phone" not in known[1]
        assert charged.tokens == []

    play(scene)


def test_look_ups_are_limited_by_the_day(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        tenants, per_day = RestApp(stage).door.tenants, LimitPolicy(count=2, period_s=86_400, burst=2)
        policies = dict.fromkeys(LimitKind, LimitPolicy(count=1_000, period_s=1, burst=1_000))
        policies[LimitKind.PHONE_SEARCH] = per_day
        shared, local = LocalBuckets(stage.clock), LocalBuckets(stage.clock)
        limiter = RateLimiter(shared, local, policies, stage.clock)
        house = RestApp(stage, limits=RequestLimits(limiter, tenants))
        anna, cleo = house.user(ANNA), house.user(CLEO)
        group = await anna.ok(
            "POST", "/v1/chats", {"type": "group", "name": "us", "client_message_id": "one"}
        )
        search = ("POST", "/v1/user-search", {"phone_number": NUMBER})
        add = ("POST", f"/v1/chats/{group['id']}/members-by-phone", {"phone_number": NUMBER})
        assert [await anna.code(*each) for each in (search, add)] == [Code.USER_NOT_FOUND] * 2
        for each in (search, add):
            refused = await anna(*each)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) > 3600
        await anna.ok("GET", "/v1/chats")
        assert await cleo.code(*search) is Code.USER_NOT_FOUND, "each user has their own"

    play(scene)


def told(response: httpx.Response) -> dict[str, Any]:
    """Return everything that an answer tells about the number."""
    return {name: value for name, value in response.json().items() if name not in {"instance", "request_id"}}


def test_a_number_that_the_index_shows_for_another_user_is_not_believed(play: RunUseCases) -> None:
    async def scene(stage: UseCaseEnv) -> None:
        house = RestApp(stage)
        server, anna = house.server(Scope.USERS), house.user(ANNA)
        await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
        rows = house.door.user_rows
        other = Phone(NUMBER[:-1] + "0")

        class Stale(DynamoUserStore):
            async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
                del tenant, phone
                return BEN

        rows.__class__ = Stale
        assert await anna.code("POST", "/v1/user-search", {"phone_number": other}) is Code.USER_NOT_FOUND
        assert (await anna.ok("POST", "/v1/user-search", {"phone_number": NUMBER}))["id"] == BEN

    play(scene)
