"""Operators see why an endpoint receives nothing, and repair it."""

from fixtures.console_app import ConsoleApp

from tidings.kernel.errors import Code
from tidings.operators.model import Role
from tidings.webhooks.model import Attempt, EndpointSettings


async def test_a_disabled_endpoint_is_found_tested_and_enabled(console: ConsoleApp) -> None:
    operator = await console.caller(Role.OPERATOR, console.tenant)
    path = f"/admin/v1/tenants/{console.tenant}/webhooks"
    settings = EndpointSettings(url="https://app.example/events", description="orders")
    endpoint = (await console.services.webhooks.create(console.tenant, settings)).name.id
    (listed,) = (await operator("GET", path)).json()["endpoints"]
    assert (listed["id"], listed["status"], "secret" in listed) == (endpoint, "enabled", False)
    one = f"{path}/{endpoint}"
    console.rest.webhook_transport.answer = lambda _: Attempt(
        latency_ms=3, status=503, reason="the endpoint answered 503"
    )
    tested = (await operator("POST", f"{one}/test")).json()
    assert (tested["is_delivered"], tested["status"]) == (False, 503)
    (attempt,) = (await operator("GET", f"{one}/deliveries")).json()["deliveries"]
    assert (attempt["type"], attempt["reason"]) == ("test", "the endpoint answered 503")
    assert (await operator("POST", f"{one}/disable")).json()["status"] == "disabled"
    assert (await operator("POST", f"{one}/enable")).json()["status"] == "enabled"
    assert (await operator("POST", f"{one}/retry")).status_code == 204
    assert (await operator("POST", f"{one}/replay", {"since": "2020-01-01T00:00:00Z"})).json()["code"] == (
        Code.REQUEST_INVALID
    )
    assert (await operator("GET", f"{one}/queue")).json() == {"waiting": []}
    assert (await operator("GET", f"{path}/01JCQ4Z7N3V5X9B2M8K6T1R0WD")).json()["code"] == (
        Code.WEBHOOK_NOT_FOUND
    )
    recorded = [each.operation for each in await console.records(console.tenant, 50) if each.outcome]
    assert recorded[::-1] == [
        *("test_webhook", "disable_webhook", "enable_webhook", "retry_webhook", "replay_webhook")
    ]
