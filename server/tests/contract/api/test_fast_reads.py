"""The fast path of GET routes returns the same answers as the framework."""

from typing import cast

import pytest
from contract.api.test_edge import _call, api_without_engine
from fastapi.routing import APIRoute, request_response

from tidings.api.app import ROUTERS

READS = {
    route.operation_id: route
    for router in ROUTERS
    for route in cast("list[APIRoute]", router.routes)
    if "GET" in (route.methods or ())
}
FRAMEWORKS = request_response(READS["get_me"].get_route_handler())
UNFIT = [
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
    "/v1/chats?cursor=unsigned",
    "/v1/users/a%23b",
    "/v1/chats/gX/members?limit=-1",
]


def test_every_read_uses_the_fast_path_except_pages_and_those_with_repeated_parameters_or_headers() -> None:
    longer = {name for name, route in READS.items() if route.app.__qualname__ == FRAMEWORKS.__qualname__}
    assert longer == {"list_users", "count_notifications", "show_unsubscribe"}


@pytest.mark.parametrize("path", UNFIT)
async def test_invalid_requests_have_one_problem_format(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api, sent = api_without_engine(), {"request-id": "r-1"}
    short = await _call(api, "GET", path, sent)
    for route in READS.values():
        monkeypatch.setattr(route, "app", request_response(route.get_route_handler()))
    long = await _call(api, "GET", path, sent)
    assert (short.status_code, short.json()) == (long.status_code, long.json())
    assert short.status_code == 400
    assert dict(short.headers) == dict(long.headers)
