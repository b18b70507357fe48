"""Logins, sessions and users over HTTP, on both engines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fixtures.door import NUMBER, wrong
from fixtures.house import House
from fixtures.stage import ANNA, BEN, Play, Stage
from msgspec.structs import replace

from tidings.accounts.model import Scope
from tidings.accounts.records import Phone
from tidings.accounts.store.users import DynamoUsers
from tidings.api.ports import NoLimits
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings.limits.model import Kind

DEVICE = {"id": "laptop", "name": "Anna's laptop"}
RETRY = {"idempotency-key": "drawn-by-chance-0001"}


@asynccontextmanager
async def sending(house: House) -> AsyncIterator[None]:
    """Somebody takes codes out of the outbox."""
    running = asyncio.create_task(house.door.outbox.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def log_in(house: House) -> Any:
    nobody = house.holder(None)
    asked = {"tenant": house.stage.tenant, "phone": NUMBER}
    challenge = (await nobody.ok("POST", "/v1/login/phone", asked))["challenge"]
    answer = asked | {"challenge": challenge, "device": DEVICE, "code": await house.door.code()}
    return await nobody.ok("POST", "/v1/login/phone/redeem", answer)


def test_a_phone_logs_in_refreshes_and_out(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        house = House(stage)
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


def test_a_wrong_code_an_unknown_tenant_and_no_challenge_are_refused_alike(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        house = House(stage)
        nobody = house.holder(None)
        asked = {"tenant": stage.tenant, "phone": NUMBER}
        async with sending(house):
            challenge = (await nobody.ok("POST", "/v1/login/phone", asked))["challenge"]
            answer = asked | {"challenge": challenge, "device": DEVICE, "code": await house.door.code()}
        redeem = ("POST", "/v1/login/phone/redeem")
        bad = [
            answer | {"code": wrong(answer["code"])},
            answer | {"challenge": "A" * 26},
            answer | {"tenant": "unknown"},
        ]
        answers = [await nobody(*redeem, each) for each in bad]
        told = {(each.status_code, each.json()["code"], each.json()["detail"]) for each in answers}
        assert told == {(401, Code.CREDENTIAL_INVALID, "This is not, or no longer, a way in.")}
        await nobody.ok(*redeem, answer)
        assert await nobody.code(*redeem, answer) is Code.CREDENTIAL_INVALID

    play(scene)


def test_codes_are_limited_and_it_is_told_for_how_long(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        house = House(stage)
        house.door.limit(Kind.CODE_NUMBER, 1)
        asked = ("POST", "/v1/login/phone", {"tenant": stage.tenant, "phone": NUMBER})
        await house.holder(None).ok(*asked)
        limited = await house.holder(None)(*asked)
        assert (limited.status_code, limited.headers["retry-after"]) == (429, "60")
        assert limited.json()["retry_after_ms"] == 60_000

    play(scene)


def test_a_server_makes_users_who_keep_their_own_profile(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        house = House(stage)
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


def test_a_server_ends_the_sessions_of_its_own_users_only(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        house = House(stage)
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


class Charged(NoLimits):
    """Notes what is charged beyond the request."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> None:
        del tenant, user
        self.tokens.append(tokens)


def test_a_user_is_found_by_exact_number_where_the_tenant_allows_it(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        charged = Charged()
        house = House(stage, limits=charged)
        server, anna = house.server(Scope.USERS), house.user(ANNA)
        await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER, "display_name": "Ben"})
        asked = ("POST", "/v1/user-search", {"phone_number": NUMBER})
        found = await anna.ok(*asked)
        assert (found["id"], found["display_name"], found.get("phone")) == (BEN, "Ben", None)
        assert charged.tokens == [20]

        unknown = await anna("POST", "/v1/user-search", {"phone_number": NUMBER[:-1]})
        await server.ok("PUT", f"/v1/users/{BEN}/suspension")
        suspended = await anna(*asked)
        assert unknown.status_code == suspended.status_code == 404
        assert told(unknown) == told(suspended)

        settings = house.door.tenants.settings
        house.door.tenants.settings = replace(settings, has_phone_search=False)
        assert await anna.code(*asked) is Code.FORBIDDEN

    play(scene)


def told(response: httpx.Response) -> dict[str, Any]:
    """Return everything that an answer tells about the number."""
    return {name: value for name, value in response.json().items() if name not in {"instance", "request_id"}}


def test_a_number_that_the_index_shows_for_another_user_is_not_believed(play: Play) -> None:
    async def scene(stage: Stage) -> None:
        house = House(stage)
        server, anna = house.server(Scope.USERS), house.user(ANNA)
        await server.ok("POST", "/v1/users", {"id": BEN, "phone": NUMBER})
        rows = house.door.user_rows
        other = Phone(NUMBER[:-1] + "0")

        class Stale(DynamoUsers):
            async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
                del tenant, phone
                return BEN

        rows.__class__ = Stale
        assert await anna.code("POST", "/v1/user-search", {"phone_number": other}) is Code.USER_NOT_FOUND
        assert (await anna.ok("POST", "/v1/user-search", {"phone_number": NUMBER}))["id"] == BEN

    play(scene)
