"""Behaviour of the API independent of routes: credentials, limits, request ids, headers, internal errors."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from fixtures.rest_app import OPTIONS, RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from structlog.testing import capture_logs

from tidings.accounts.model import Principal, Scope
from tidings.api.services import ApiLimits, RateLimitState
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings.kernel.security import AllowedOrigins


async def test_a_server_acts_for_the_user_that_it_names(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    server, bare = api.server(Scope.ACT_AS_USER), api.server(Scope.USERS)
    as_anna = {"tidings-user": ANNA}
    made = await server.ok("POST", "/v1/chats", {"type": "direct", "user": BEN}, headers=as_anna)
    assert (await api.user(ANNA).ok("GET", f"/v1/chats/{made['id']}"))["created_by"] == "anna"
    assert await server.code("POST", "/v1/chats", {"type": "direct", "user": BEN}) is Code.REQUEST_INVALID
    assert await bare.code("GET", "/v1/blocks", headers=as_anna) is Code.FORBIDDEN
    assert await server.code("GET", "/v1/blocks", headers={"tidings-user": "a#b"}) is Code.REQUEST_INVALID
    ben = api.user(BEN)
    assert await ben.code("GET", "/v1/blocks", headers=as_anna) is Code.FORBIDDEN
    await ben.ok("GET", "/v1/blocks", headers={"tidings-user": BEN})


async def test_bodies_are_bounded_and_unknown_fields_refused(use_cases: UseCaseEnv) -> None:
    anna = RestApp(use_cases).user(ANNA)
    where = ("POST", "/v1/chats")
    assert await anna.code(*where, {"type": "direct", "user": "x" * 90_000}) is Code.REQUEST_TOO_LARGE
    assert await anna.code(*where, content=b"[" * 40_000, headers=JSON) is Code.REQUEST_TOO_LARGE
    assert (
        await anna.code(*where, content=b'{"type": "direct", "user": "b", "user": "c"}', headers=JSON)
        is INVALID
    )
    assert await anna.code(*where, content=b"{", headers=JSON) is INVALID
    assert await anna.code(*where, content=b'{"type": "direct", "user": "ben"}') is INVALID
    assert await anna.code(*where) is INVALID
    unknown = await anna(*where, {"type": "direct", "user": "ben", "colour": "red"})
    assert unknown.json()["errors"] == [
        {"location": "body", "pointer": "/colour", "detail": "Unknown field."}
    ]
    assert await anna.code("GET", "/v1/blocks?colour=red") is INVALID
    many = {
        "type": "group",
        "name": "n",
        "members": [f"u{n}" for n in range(1001)],
        "client_message_id": "k",
    }
    assert await anna.code("POST", "/v1/chats", many) is Code.CHAT_FULL


JSON = {"content-type": "application/json"}
REFERENCE = Path(__file__).parents[4] / "docs/reference/rest.md"
INVALID = Code.REQUEST_INVALID


@pytest.mark.parametrize("name", ["a#b", "a*b", "a/b", "a b", "", "x" * 65, "tab\t", "ünicode", 7, None])
async def test_an_id_that_would_change_a_key_is_refused(name: object) -> None:
    """Without an engine: a request that reaches the use cases fails the test."""
    response = await _post(api_without_engine(), "/v1/chats", {"type": "direct", "user": name})
    assert (response.status_code, response.json()["code"]) == (400, INVALID)
    assert response.json()["errors"][0]["pointer"] == "/user"


@pytest.mark.parametrize(
    "path", ["/v1/chats/a%23b", "/v1/chats/a*b", "/v1/messages/g1.0", "/v1/messages/g1.x"]
)
async def test_an_id_in_a_path_has_the_same_rules(path: str) -> None:
    response = await _call(api_without_engine(), "GET", path)
    assert (response.status_code, response.json()["code"]) == (400, INVALID)


async def test_unknown_paths_are_reported_as_problems_too() -> None:
    api = api_without_engine()
    missing = await _call(api, "GET", "/v1/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, Code.ENDPOINT_NOT_FOUND)
    wrong = await _call(api, "DELETE", "/v1/chats")
    assert (wrong.status_code, wrong.json()["code"]) == (405, Code.METHOD_NOT_ALLOWED)
    assert wrong.headers["allow"] == "GET, POST"
    several = await _call(api, "PUT", "/v1/chats/g1")
    assert several.headers["allow"] == "GET, PATCH"


async def test_an_internal_error_is_logged_and_returned_without_details() -> None:
    with capture_logs() as lines:
        response = await _call(api_without_engine(), "GET", "/v1/chats/g1", {"request-id": "my-own.1"})
    assert (response.status_code, response.json()["code"]) == (500, Code.INTERNAL)
    assert response.json()["request_id"] == response.headers["request-id"] == "my-own.1"
    assert "Unreachable" not in response.text
    (line,) = [line for line in lines if line["event"] == "request failed"]
    assert "exc_info" in line


async def test_a_request_id_that_is_unsafe_in_logs_is_replaced() -> None:
    response = await _call(api_without_engine(), "GET", "/v1/nothing", {"request-id": "a b\x1b[31m"})
    assert len(response.headers["request-id"]) == 26


async def test_limits_are_in_headers_and_rejections_are_429() -> None:
    api = api_without_engine(_OneLeft())
    first = await _call(api, "GET", "/v1/nothing")
    assert "ratelimit" not in first.headers
    limited = await _call(api, "GET", "/v1/blocks")
    assert (limited.status_code, limited.json()["code"]) == (429, Code.RATE_LIMITED)
    assert limited.headers["ratelimit"] == '"user";r=0;t=30'
    assert limited.headers["ratelimit-policy"] == '"user";q=10;w=60'
    assert limited.headers["retry-after"] == "2"
    assert limited.json()["retry_after_ms"] == 1_500
    assert limited.json()["retryable"] is True


@pytest.mark.parametrize(
    "unfit", [{"authorization": "Bearer forged"}, {"authorization": ""}, {"tidings-user": "#"}]
)
async def test_rejected_requests_are_counted_by_address(unfit: dict[str, str]) -> None:
    limits = _OneLeft()
    api = api_without_engine(limits)
    refused = await _call(api, "GET", "/v1/blocks", unfit)
    assert refused.status_code in {400, 401}
    assert limits.asked == [("127.0.0.1", None)]


async def test_credentials_from_a_blocked_address_are_not_verified() -> None:
    limits = _OneLeft()
    limits.is_full = True
    api = api_without_engine(limits)
    for bearer in ({}, {"authorization": "Bearer forged"}):
        refused = await _call(api, "GET", "/v1/blocks", bearer)
        assert (refused.status_code, refused.json()["code"]) == (429, Code.RATE_LIMITED)
    assert limits.asked == []


async def test_a_recently_valid_credential_is_verified_from_a_blocked_address() -> None:
    limits = _OneLeft()
    api = api_without_engine(limits)
    assert (await _call(api, "GET", "/v1/blocks")).status_code == 429
    limits.is_full, limits.asked = True, []
    assert (await _call(api, "GET", "/v1/blocks", {"authorization": "Bearer x"})).status_code == 429
    assert limits.asked == [], "a stranger's credential is not looked at"
    await _call(api, "GET", "/v1/blocks")
    assert limits.asked == [("127.0.0.1", ANNA)], "that of anna is, and counted by her own buckets"


async def test_naming_many_users_takes_more_than_one_token() -> None:
    limits = _OneLeft()
    limits.lets_all_in = True
    api = api_without_engine(limits)
    key, many = {"idempotency-key": "k"}, [f"user-{number}" for number in range(99)]
    group = await _call(api, "POST", "/v1/chats", key, json={"type": "group", "name": "x", "members": many})
    added = await _call(api, "POST", f"/v1/chats/{'0' * 26}/members", json={"users": many})
    assert [each.json()["code"] for each in (group, added)] == [Code.RATE_LIMITED] * 2
    assert limits.charged == [(ANNA, 24), (ANNA, 24)]


PAGE = "http://localhost:3000"


async def test_a_web_page_of_an_allowed_origin_may_call() -> None:
    api = api_without_engine(allowed_origins=AllowedOrigins.parse(["http://localhost:*"]))
    asked = {"origin": PAGE, "access-control-request-method": "PATCH"}
    asked["access-control-request-headers"] = "authorization,content-type,idempotency-key"
    preflight = await _call(api, "OPTIONS", "/v1/chats", asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == PAGE
    assert "PATCH" in preflight.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in preflight.headers
    refused = await _call(api, "GET", "/v1/me", {"origin": PAGE, "authorization": "Bearer x"})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE)
    assert "Retry-After" in refused.headers["access-control-expose-headers"]
    foreign = await _call(api, "OPTIONS", "/v1/chats", asked | {"origin": "https://evil.example"})
    assert (foreign.status_code, "access-control-allow-origin" in foreign.headers) == (400, False)


async def test_without_allowed_origins_no_web_page_may_call() -> None:
    asked = {"origin": PAGE, "access-control-request-method": "GET"}
    answer = await _call(api_without_engine(), "OPTIONS", "/v1/chats", asked)
    assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (405, False)


async def test_the_link_of_a_problem_leads_to_a_page() -> None:
    api = api_without_engine()
    problem = (await _call(api, "GET", "/v1/nowhere")).json()
    page = await _call(api, "GET", problem["type"])
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "No route has this path." in page.text
    for code in Code:
        assert (await _call(api, "GET", TidingsError(code, "").docs)).status_code == 200, code
    assert (await _call(api, "GET", "/errors/none")).status_code == 404
    assert "/errors/chat_full" in (await _call(api, "GET", "/errors")).text


async def test_answers_are_neither_cached_nor_framed() -> None:
    api = api_without_engine()
    answer = await _call(api, "GET", "/v1/nowhere")
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == (
        "no-store",
        "nosniff",
    )
    page = await _call(api, "GET", "/docs")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "script-src 'self' 'sha256-" in page.headers["content-security-policy"]
    assert '"persistAuthorization": true' in page.text


async def test_the_root_leads_to_the_explorer_which_can_be_closed() -> None:
    root = await _call(api_without_engine(), "GET", "/")
    assert (root.status_code, root.headers["location"]) == (307, "/docs")
    closed = api_without_engine(serve_docs=False)
    for path in ("/", "/docs", "/openapi.json", "/docs/assets/swagger-ui.css"):
        assert (await _call(closed, "GET", path)).status_code == 404, path


async def test_every_answer_and_the_description_have_the_newest_feature_level_of_the_reference() -> None:
    table = REFERENCE.read_text().partition("### Changes by level")[2]
    newest = max(map(int, re.findall(r"^\| (\d+) \|", table, re.MULTILINE)))
    api = api_without_engine(allowed_origins=AllowedOrigins.parse([PAGE]))
    for path in ("/openapi.json", "/v1/nothing", "/"):
        answer = await _call(api, "GET", path, {"origin": PAGE})
        assert answer.headers["tidings-feature-level"] == str(newest), path
        assert "Tidings-Feature-Level" in answer.headers["access-control-expose-headers"]
    document = await _call(api, "GET", "/openapi.json")
    assert document.json()["info"]["x-feature-level"] == newest


async def test_the_explorer_and_the_description_are_served_without_the_internet() -> None:
    api = api_without_engine()
    page = await _call(api, "GET", "/docs")
    assert page.status_code == 200
    assert "https://" not in page.text
    script = await _call(api, "GET", "/docs/assets/swagger-ui-bundle.js")
    assert (script.status_code, len(script.content) > 500_000) == (200, True)
    document = await _call(api, "GET", "/openapi.json")
    assert document.json()["openapi"].startswith("3.1")


class _OneLeft(ApiLimits):
    """Admits every anonymous request, and refuses authenticated ones."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, UserId | None]] = []
        self.is_full = False
        self.lets_all_in = False
        self.charged: list[tuple[UserId | None, int]] = []

    def is_blocked(self, address: str, /) -> RateLimitState | None:
        del address
        return _allowance(is_allowed=False) if self.is_full else None

    async def admit(
        self, address: str, principal: Principal | None, user: UserId | None, /
    ) -> RateLimitState:
        self.asked.append((address, user))
        return _allowance(is_allowed=principal is None or self.lets_all_in)

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> RateLimitState:
        del tenant
        self.charged.append((user, tokens))
        return _allowance(is_allowed=False)

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> RateLimitState:
        del tenant, user
        return _allowance(is_allowed=True)

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> RateLimitState:
        return await self.charge(tenant, user, tokens)


def _allowance(*, is_allowed: bool) -> RateLimitState:
    return RateLimitState(
        policy="user",
        limit=10,
        remaining=0,
        reset_s=30,
        window_s=60,
        is_allowed=is_allowed,
        retry_after_ms=1_500,
    )


class _Unreachable:
    """Replaces an engine: every use of it is an error."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"unexpected use of an engine: {name}")


def api_without_engine(limits: _OneLeft | None = None, **options: Any) -> RestApp:
    use_cases = UseCaseEnv(_Unreachable(), "acme", Path("none"))  # type: ignore[arg-type]  # never used
    return RestApp(use_cases, replace(OPTIONS, **options), limits)


async def _call(
    api: RestApp, method: str, path: str, headers: dict[str, str] | None = None, **more: object
) -> httpx.Response:
    """Send a request as anna, without validating the answer against the OpenAPI document."""
    bearer = api.ring.user(api.use_cases.tenant, ANNA)
    transport = httpx.ASGITransport(app=api.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        sent = {"authorization": f"Bearer {bearer}"} | (headers or {})
        return await client.request(method, path, headers=sent, json=more.get("json"))


async def _post(api: RestApp, path: str, body: object) -> httpx.Response:
    return await _call(api, "POST", path, json=body)
