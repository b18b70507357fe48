"""`RouteExecutor` returns the same answers as FastAPI, which declares the routes."""

from typing import NamedTuple, cast

import httpx
import pytest
from contract.api.test_edge import api_without_engine
from fastapi import APIRouter
from fastapi.routing import APIRoute, request_response
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from hypothesis import given, settings
from hypothesis.strategies import DrawFn, composite, integers, sampled_from
from starlette.routing import Match

from tidings.api.app import ROUTERS
from tidings.api.auth import AuthenticatedRoute
from tidings.api.known_routes import KnownRoutes
from tidings.api.route_executor import make_executor

ROUTES = [route for router in ROUTERS for route in cast("list[APIRoute]", router.routes)]
JSON = {"content-type": "application/json"}


KNOWN = KnownRoutes(route for route in ROUTES if isinstance(route, AuthenticatedRoute))


@composite
def path_segments(draw: DrawFn) -> list[str]:
    """Return the path of a route with any values, sometimes with one segment replaced or added."""
    template = draw(sampled_from(ROUTES)).path.split("/")[1:]
    path = [draw(sampled_from(FREE)) if "{" in part else part for part in template]
    if draw(integers(0, 3)) == 0:
        at = draw(integers(0, len(path)))
        path[at : at + draw(integers(0, 1))] = [draw(sampled_from(FREE))]
    return path


class Sent(NamedTuple):
    method: str
    path: str
    content: bytes = b""
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


INVALID_READS = [
    "/v1/chats/a*b/messages",
    "/v1/chats/gX/messages?limit=0",
    "/v1/chats/gX/messages?limit=201&before=none",
    "/v1/chats/gX/messages?limit=x&limit=0",
    "/v1/chats/gX/messages?before=1&after=1",
    "/v1/chats/gX/messages?status=perhaps&colour=red&colour=blue",
    "/v1/chats/a*b/messages?limit=",
    "/v1/messages/gX.0",
    "/v1/messages/gX",
    "/v1/chats?filter=none",
    "/v1/chats?limit=101&cursor=" + "x" * 513,
    "/v1/chats?cursor=forged",
    "/v1/users/a%23b",
    "/v1/chats/gX/members?limit=-1",
]
SEND, READ, CREATE = "/v1/chats/gX/messages", "/v1/chats/gX/read", "/v1/chats"
INVALID_WRITES = [
    Sent("POST", SEND, b'{"text": 1, "after": "x", "colour": "red"}', JSON),
    Sent("POST", SEND, b'{"text": "hi", "client_message_id": "a#b"}', JSON),
    Sent("POST", SEND, b'{"text": "hi"}', JSON),
    Sent("POST", SEND, b'{"text": "hi", "client_message_id": "a"}', JSON | {"idempotency-key": "b"}),
    Sent("POST", SEND, b'{"text": "hi"}', JSON | {"idempotency-key": ""}),
    Sent("POST", SEND, b'{"text": "hi"}', JSON | {"idempotency-key": "x" * 200}),
    Sent("POST", "/v1/chats/a*b/messages", b'{"text": []}', JSON | {"idempotency-key": "a b"}),
    Sent("POST", SEND, b'{"text": "hi"}', {"content-type": "text/json"}),
    Sent("POST", SEND, b'{"text": []}', {"content-type": "application/vnd.api+json; charset=utf-8"}),
    Sent("POST", SEND, b'{"text": []}', {"content-type": "application/JSON"}),
    Sent("POST", SEND, b'{"text": []}', {"content-type": "application/jsonx"}),
    Sent("POST", SEND, b'{"text": []}', {"content-type": "json"}),
    Sent("POST", SEND, b"{}", {"content-type": "text/plain"}),
    Sent("POST", SEND, b"{}"),
    Sent("POST", SEND, b'{"text": "a", "text": "b"}', JSON),
    Sent("POST", SEND, b'{"text": "\\ud800"}', JSON),
    Sent("POST", SEND, b"[" * 40_000, JSON),
    Sent("POST", SEND, b'"' + b"x" * 70_000 + b'"', JSON),
    Sent("PUT", READ, b'{"sequence": -1}', JSON),
    Sent("PUT", READ, b'{"sequence": "7"}', JSON),
    Sent("PUT", READ, b'{"sequence": 1e400}', JSON),
    Sent("POST", CREATE, b'{"type": "circle"}', JSON),
    Sent("POST", CREATE, b'{"type": "group", "name": "", "members": ["a#b", 7]}', JSON),
    Sent("POST", CREATE, b'{"type": "direct"}', JSON),
    Sent("PUT", "/v1/messages/gX.2/reactions/%20", b"", {"idempotency-key": "a#b"}),
    Sent("POST", "/v1/inboxes/default/read?at_least=x&at_least=", b"{}", JSON),
]
OF_ANY_ROUTE = [b"", b"null", b"[]", b'"text"', b"7", b'{"colour": "red"}', b"{", b"\xff"]


def test_only_routes_with_repeated_parameters_are_executed_by_the_framework() -> None:
    others = {route.operation_id for route in ROUTES if make_executor(route) is None}
    public = {route.operation_id for route in ROUTES if not isinstance(route, AuthenticatedRoute)}
    assert others - public == {"list_users"}


SEGMENTS = sorted({part for route in ROUTES for part in route.path.split("/") if "{" not in part} - {""})
FREE = [*SEGMENTS, "gX", "a b", "ä", "", "{chat}", "x:y"]


@settings(max_examples=2_000, deadline=None)
@given(path=path_segments(), method=sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]))
def test_paths_have_the_routes_of_the_framework(path: list[str], method: str) -> None:
    scope = {"type": "http", "method": method, "path": "/".join(["", *path])}
    expected = next(
        (
            (route, child["path_params"])
            for route in ROUTES
            for match, child in [route.matches(scope)]
            if match is Match.FULL
        ),
        None,
    )
    found = KNOWN.find(method, scope["path"])
    if found is not None:
        assert found == expected
    elif expected is not None:
        assert getattr(expected[0], "handler", None) is None, "the framework executes only what it must"


def test_a_fixed_segment_precedes_a_parameter() -> None:
    router = APIRouter(route_class=AuthenticatedRoute)

    async def answer() -> None: ...

    async def answer_one(thing: str) -> None: ...

    router.add_api_route("/things/known", answer)
    router.add_api_route("/things/{thing}", answer_one)
    fixed, free = cast("list[AuthenticatedRoute]", router.routes)
    fixed.handler = free.handler = next(
        route.handler for route in ROUTES if isinstance(route, AuthenticatedRoute) and route.handler
    )
    known = KnownRoutes([free, fixed])
    assert known.find("GET", "/things/known") == (fixed, {})
    assert known.find("GET", "/things/other") == (free, {"thing": "other"})


@pytest.mark.parametrize("path", INVALID_READS)
async def test_invalid_reads_have_one_answer(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await _compare(Sent("GET", path), monkeypatch)
    assert found.status_code == 400


@pytest.mark.parametrize("sent", INVALID_WRITES, ids=range(len(INVALID_WRITES)))
async def test_invalid_writes_have_one_answer(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await _compare(sent, monkeypatch)
    assert found.status_code in {400, 413}


@pytest.mark.parametrize("content", OF_ANY_ROUTE)
async def test_a_body_of_the_wrong_type_has_one_answer_at_every_route(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [
        Sent(method, route.path.format_map(_AnyName()), content, JSON)
        for route in ROUTES
        if route.body_field is not None and isinstance(route, AuthenticatedRoute)
        for method in route.methods or ()
    ]
    assert len(sent) > 30
    api = api_without_engine()
    short = [await _answer(api, each) for each in sent]
    _use_framework(monkeypatch)
    assert short == [await _answer(api, each) for each in sent]


async def test_valid_requests_have_one_answer(use_cases: UseCaseEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    api = RestApp(use_cases)
    short = await _conversation(api, "one")
    _use_framework(monkeypatch)
    long = await _conversation(api, "two")
    assert [each.status_code for each in short] == [201, 201, 201, 200, 200, 204, 200, 409, 200]
    assert [_shape(each) for each in short] == [_shape(each) for each in long]


async def _conversation(api: RestApp, name: str) -> list[httpx.Response]:
    """Call routes of each kind: with status, repeated, without content, refused."""
    group = {"type": "group", "name": name, "members": [BEN], "client_message_id": name}
    made = await _send(api, "POST", "/v1/chats", group)
    chat = f"/v1/chats/{made.json()['id']}"
    said = {"text": "hi", "client_message_id": f"{name}-1"}
    sent = await _send(api, "POST", f"{chat}/messages", said)
    message = f"/v1/messages/{sent.json()['id']}"
    return [
        made,
        await _send(api, "POST", "/v1/chats", group),
        sent,
        await _send(api, "POST", f"{chat}/messages", said),
        await _send(api, "PUT", f"{chat}/read", {"sequence": sent.json()["sequence"]}),
        await _send(api, "PATCH", f"{chat}/settings", {"is_pinned": True}),
        await _send(api, "PUT", f"{message}/reactions/%F0%9F%91%8D"),
        await _send(api, "PUT", f"{chat}/read", {"sequence": 1_000}),
        await _send(api, "GET", message),
    ]


def _shape(found: httpx.Response) -> object:
    """Return what is the same for another chat: the names of all fields and headers."""
    body = found.json() if found.content else None
    return found.status_code, sorted(found.headers), found.headers.get("content-type"), sorted(body or ())


class _AnyName(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return {"tenant": "acme", "user": ANNA}.get(name, "gX")


def _use_framework(monkeypatch: pytest.MonkeyPatch) -> None:
    for route in ROUTES:
        monkeypatch.setattr(route, "app", request_response(route.get_route_handler()))
        monkeypatch.setattr(route, "handler", None, raising=False)


async def _compare(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> httpx.Response:
    api = api_without_engine()
    short = await _request(api, sent)
    _use_framework(monkeypatch)
    long = await _request(api, sent)
    assert (short.status_code, short.json()) == (long.status_code, long.json())
    assert dict(short.headers) == dict(long.headers)
    return short


async def _answer(api: RestApp, sent: Sent) -> object:
    found = await _request(api, sent)
    return sent.method, sent.path, found.status_code, found.json(), dict(found.headers)


async def _send(api: RestApp, method: str, path: str, body: object = None) -> httpx.Response:
    content = httpx.Request(method, "http://api", json=body).content if body is not None else b""
    return await _request(api, Sent(method, path, content, JSON if content else {}))


async def _request(api: RestApp, sent: Sent) -> httpx.Response:
    """Send a request as anna, without validating the answer against the OpenAPI document."""
    bearer = api.ring.user(api.use_cases.tenant, ANNA)
    transport = httpx.ASGITransport(app=api.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        headers = {"authorization": f"Bearer {bearer}", "request-id": "r-1"} | sent.headers
        return await client.request(sent.method, sent.path, headers=headers, content=sent.content)
