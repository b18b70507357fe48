"""`GET /v1/search`."""

from fixtures.engines import Namespace
from fixtures.media_env import MediaEnv, open_bucket
from fixtures.rest_app import RestApp
from fixtures.search import SearchEnv
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv
from msgspec.structs import replace

from tidings.accounts.model import Principal
from tidings.api.services import ApiLimits, RateLimitState
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId


async def seeded(use_cases: UseCaseEnv, limits: ApiLimits | None = None) -> tuple[RestApp, SearchEnv, str]:
    api = RestApp(use_cases, limits=limits)
    search = SearchEnv(use_cases, api.search_index.index)
    chat = await use_cases.group(BEN)
    for number in range(5):
        await use_cases.send(chat, (ANNA, BEN)[number % 2], f"Café number {number}")
    await search.handle()
    return api, search, chat.chat


async def test_a_result_has_the_message_its_chat_and_marked_matches(use_cases: UseCaseEnv) -> None:
    api, _, chat = await seeded(use_cases)
    found = await api.user(BEN).ok("GET", "/v1/search?q=cafe 3")
    [result] = found["results"]
    assert result["chat"] == chat
    assert (result["message"]["text"], result["message"]["sender"]) == ("Café number 3", "ben")
    assert result["message"]["client_message_id"], "on the caller's own messages"
    assert result["highlights"] == [
        {"text": "Café", "is_match": True},
        {"text": " number ", "is_match": False},
        {"text": "3", "is_match": True},
    ]
    assert "cursor" not in found


async def test_messages_with_attachments_are_found_with_and_without_words(
    use_cases: UseCaseEnv, s3: str, space: Namespace
) -> None:
    api, search, chat = await seeded(use_cases)
    where = ChatKey(use_cases.tenant, ChatId(chat))
    async with open_bucket(s3, space) as bucket:
        media = MediaEnv(use_cases, bucket)
        await media.message(where, await media.put(where))
    await search.handle()
    ben = api.user(BEN)
    for params in ("has=attachment", "q=look&has=attachment", f"q=look&chat={chat}&has=attachment"):
        [result] = (await ben.ok("GET", f"/v1/search?{params}"))["results"]
        assert result["message"]["text"] == "look"
        assert result["highlights"] == [{"text": "look", "is_match": "q=" in params}]
    assert await ben.ok("GET", "/v1/search?q=cafe&has=attachment") == {"results": []}
    assert await api.user(CLEO).ok("GET", "/v1/search?has=attachment") == {"results": []}
    for params in ("", "has=link", "q=has:attachment&has="):
        assert await ben.code("GET", f"/v1/search?{params}") is Code.REQUEST_INVALID


async def test_filters_and_pages(use_cases: UseCaseEnv) -> None:
    api, _, chat = await seeded(use_cases)
    anna = api.user(ANNA)

    async def texts(params: str) -> list[str]:
        found = await anna.ok("GET", f"/v1/search?q=cafe&{params}")
        return [each["message"]["text"][-1] for each in found["results"]]

    assert await texts("from=ben") == ["3", "1"]
    assert await texts(f"chat={chat}") == ["4", "3", "2", "1", "0"]
    assert await texts("chat=g-other") == []
    assert await texts("before=2020-01-01T00:00:00Z") == []
    assert await texts("after=2020-01-01T00:00:00Z") == ["4", "3", "2", "1", "0"]
    assert await texts("after=0001-01-01T00:00:00Z&before=9999-12-31T23:59:59Z") == ["4", "3", "2", "1", "0"]
    assert await texts("after=9999-12-31T23:59:59Z") == await texts("before=0001-01-01T00:00:00Z") == []
    first = await anna.ok("GET", "/v1/search?q=cafe&limit=2")
    second = await anna.ok("GET", f"/v1/search?q=cafe&limit=2&cursor={first['cursor']}")
    assert [each["message"]["text"][-1] for each in first["results"] + second["results"]] == list("4321")
    for other in (f"q=other&cursor={first['cursor']}", f"q=cafe&from=ben&cursor={first['cursor']}"):
        assert await anna.code("GET", f"/v1/search?{other}") is Code.CURSOR_INVALID
    assert await api.user(CLEO).ok("GET", "/v1/search?q=cafe") == {"results": []}
    assert await api.user(CLEO).ok("GET", f"/v1/search?q=cafe&chat={chat}") == {"results": []}


async def test_invalid_queries_and_a_tenant_without_search(use_cases: UseCaseEnv) -> None:
    api, _, _ = await seeded(use_cases)
    anna = api.user(ANNA)
    for params in ("", "q=", "q=…", "q=a*", "q=x&limit=51", "q=x&before=1", "q=x&from=a b"):
        assert await anna.code("GET", f"/v1/search?{params}") is Code.REQUEST_INVALID, params
    tenants = api.accounts.tenants
    tenants.settings = replace(tenants.settings, has_search=False)
    assert await anna.code("GET", "/v1/search?q=cafe") is Code.SEARCH_OFF


async def test_a_search_is_charged_to_the_user(use_cases: UseCaseEnv) -> None:
    charged: list[tuple[UserId | None, int]] = []

    class Limits(ApiLimits):
        async def charge(
            self, tenant: TenantId, user: UserId | None, tokens: int, /
        ) -> RateLimitState | None:
            del tenant
            charged.append((user, tokens))
            return None

        async def admit(
            self, address: str, principal: Principal | None, user: UserId | None, /
        ) -> RateLimitState | None:
            del address, principal, user
            return None

    api, _, _ = await seeded(use_cases, Limits())
    await api.user(BEN).ok("GET", "/v1/search?q=cafe")
    assert charged == [(BEN, 4)]
