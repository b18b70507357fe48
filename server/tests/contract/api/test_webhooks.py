"""Webhook endpoints over REST. The caller checks every answer against the OpenAPI document."""

from datetime import UTC, datetime, timedelta

import pytest
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, UseCaseEnv
from fixtures.webhook_receiver import verify
from fixtures.webhooks import OK, failing

from tidings.accounts.model import Scope
from tidings.kernel.errors import Code
from tidings.tenants.model import TenantSettings
from tidings.tenants.store import DynamoTenantStore

URL = "https://app.example/tidings"
OTHER = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"


async def test_an_endpoint_is_created_changed_and_deleted(use_cases: UseCaseEnv) -> None:
    rest = RestApp(use_cases)
    server = rest.server(Scope.WEBHOOKS)
    made = await server.ok("POST", "/v1/webhooks", {"url": URL, "events": ["message.created"]})
    assert made["secret"].startswith("whsec_")
    path = f"/v1/webhooks/{made['id']}"
    shown = await server.ok("GET", path)
    assert "secret" not in shown
    assert (shown["url"], shown["events"], shown["status"]) == (URL, ["message.created"], "enabled")
    changed = await server.ok("PATCH", path, {"status": "disabled", "description": "ours"})
    assert (changed["status"], changed["description"], changed["url"]) == ("disabled", "ours", URL)
    rotated = await server.ok("POST", f"{path}/secret", {"overlap_seconds": 60})
    assert rotated["secret"] not in {None, made["secret"]}
    await server.ok("DELETE", path)
    assert await server.code("GET", path) is Code.WEBHOOK_NOT_FOUND


async def test_endpoints_are_listed_in_pages(use_cases: UseCaseEnv) -> None:
    rest = RestApp(use_cases)
    server = rest.server(Scope.WEBHOOKS)
    ids = [(await server.ok("POST", "/v1/webhooks", {"url": URL}))["id"] for _ in range(3)]
    first = await server.ok("GET", "/v1/webhooks?limit=2")
    second = await server.ok("GET", f"/v1/webhooks?limit=2&cursor={first['cursor']}")
    assert [each["id"] for each in first["endpoints"] + second["endpoints"]] == sorted(ids)
    assert "cursor" not in second
    assert await server.code("GET", "/v1/webhooks?cursor=x") is Code.CURSOR_INVALID


async def test_a_test_shows_the_answer_and_is_logged(use_cases: UseCaseEnv) -> None:
    rest = RestApp(use_cases)
    server = rest.server(Scope.WEBHOOKS)
    made = await server.ok("POST", "/v1/webhooks", {"url": URL})
    path = f"/v1/webhooks/{made['id']}"
    rest.webhook_transport.answer = lambda _: failing(500)
    failed = await server.ok("POST", f"{path}/test")
    assert (failed["is_delivered"], failed["status"]) == (False, 500)
    rest.webhook_transport.answer = lambda _: OK
    good = await server.ok("POST", f"{path}/test")
    assert good["is_delivered"]
    assert verify(made["secret"], rest.webhook_transport.requests[-1])["id"] == good["event"]
    first = await server.ok("GET", f"{path}/deliveries?limit=1")
    second = await server.ok("GET", f"{path}/deliveries?limit=1&cursor={first['cursor']}")
    assert {each["event"] for each in first["deliveries"] + second["deliveries"]} == {
        failed["event"], good["event"],
    }  # fmt: skip


async def test_a_replay_and_a_retry_are_accepted_and_waiting_events_are_listed(use_cases: UseCaseEnv) -> None:
    rest = RestApp(use_cases)
    server = rest.server(Scope.WEBHOOKS)
    made = await server.ok("POST", "/v1/webhooks", {"url": URL})
    path = f"/v1/webhooks/{made['id']}"
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    await server.ok("POST", f"{path}/replay", {"since": since})
    await server.ok("POST", f"{path}/retry")
    [item] = (await server.ok("GET", f"{path}/queue"))["waiting"]
    assert item["kind"] == "replay"
    early = (datetime.now(UTC) - timedelta(hours=49)).isoformat()
    assert await server.code("POST", f"{path}/replay", {"since": early}) is Code.REQUEST_INVALID


@pytest.mark.parametrize(
    "body",
    [
        {"url": "http://app.example/"},
        {"url": "https://u:p@app.example/"},
        {"url": URL, "events": []},
        {"url": URL, "events": ["test"]},
        {"url": URL, "unknown": 1},
        {},
    ],
)
async def test_an_invalid_endpoint_is_refused(use_cases: UseCaseEnv, body: dict[str, object]) -> None:
    rest = RestApp(use_cases)
    server = rest.server(Scope.WEBHOOKS)
    assert await server.code("POST", "/v1/webhooks", body) is Code.REQUEST_INVALID


async def test_only_an_api_key_with_the_scope_manages_endpoints(use_cases: UseCaseEnv) -> None:
    rest = RestApp(use_cases)
    for caller in (rest.user(ANNA), rest.server(Scope.NOTIFICATIONS, Scope.USERS, Scope.ACT_AS_USER)):
        for method, path in (
            ("POST", "/v1/webhooks"),
            ("GET", "/v1/webhooks"),
            ("GET", f"/v1/webhooks/{OTHER}/deliveries"),
            ("POST", f"/v1/webhooks/{OTHER}/test"),
        ):
            body = {"url": URL} if path == "/v1/webhooks" and method == "POST" else None
            assert await caller.code(method, path, body) is Code.FORBIDDEN


async def test_the_before_send_hook_is_set_changed_and_removed(use_cases: UseCaseEnv) -> None:
    rest = RestApp(use_cases)
    server, path = rest.server(Scope.WEBHOOKS), "/v1/before-send-hook"
    tenants = DynamoTenantStore(use_cases.client, use_cases.authentic)
    await tenants.create(use_cases.tenant, TenantSettings(name="Acme"), use_cases.clock.now_ms())
    assert await server.code("GET", path) is Code.WEBHOOK_NOT_FOUND
    made = await server.ok("PUT", path, {"url": URL})
    assert made["secret"].startswith("whsec_")
    changed = await server.ok("PUT", path, {"url": URL, "timeout_ms": 200, "on_failure": "refuse"})
    assert (changed["endpoint"], "secret" in changed) == (made["endpoint"], False)
    shown = await server.ok("GET", path)
    assert (shown["timeout_ms"], shown["on_failure"]) == (200, "refuse")
    assert await server.code("PUT", path, {"url": URL, "timeout_ms": 10}) is Code.REQUEST_INVALID
    await server.ok("DELETE", path)
    assert await server.code("DELETE", path) is Code.WEBHOOK_NOT_FOUND
    assert (await server.ok("GET", "/v1/webhooks"))["endpoints"] == []
