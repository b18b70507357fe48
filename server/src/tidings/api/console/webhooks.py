"""Webhook endpoints: their state, the delivery log, and what waits for them."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.console.policy import ConsoleRoute, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import TenantInPath
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.webhooks import (
    DeliveriesResponse,
    EndpointInPath,
    QueuedResponse,
    QueueResponse,
    ReplayBody,
    WebhookAttemptResponse,
    WebhookResponse,
    WebhooksResponse,
)
from tidings.kernel.ids import TenantId
from tidings.operators.model import Role
from tidings.webhooks.model import EndpointId, EndpointName, EndpointStatus

router = APIRouter(prefix="/admin/v1/tenants/{tenant}/webhooks", route_class=ConsoleRoute, tags=["webhooks"])


@router.get("", **allow("list_webhooks", Role.VIEWER, is_recorded=False))
async def list_webhooks(call: AsOperator, tenant: TenantInPath) -> WebhooksResponse:
    """List the endpoints of a tenant, oldest first. There are at most 20."""
    found = await call.context.services.webhooks.list(tenant)
    return WebhooksResponse(endpoints=[WebhookResponse.of(each) for each in found])


@router.get("/{endpoint}", **allow("get_webhook", Role.VIEWER, is_recorded=False))
async def get_webhook(call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath) -> WebhookResponse:
    """Get an endpoint, without its secret."""
    return WebhookResponse.of(await call.context.services.webhooks.read(_name(tenant, endpoint)))


@router.get("/{endpoint}/deliveries", **allow("list_webhook_deliveries", Role.VIEWER, is_recorded=False))
async def list_webhook_deliveries(
    call: AsOperator,
    tenant: TenantInPath,
    endpoint: EndpointInPath,
    asked: Annotated[PageParams, Query()],
) -> DeliveriesResponse:
    """List the attempts of the last seven days, newest first."""
    cursors = call.context.cursors.of(tenant, None, f"deliveries {call.operator.id}", endpoint)
    start = cursors.read(asked.cursor)
    page = await call.context.services.webhooks.deliveries(_name(tenant, endpoint), asked.limit, start)
    return DeliveriesResponse.of(page, cursors.write(page.next))


@router.get("/{endpoint}/queue", **allow("list_webhook_queue", Role.VIEWER, is_recorded=False))
async def list_webhook_queue(
    call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath
) -> QueueResponse:
    """List what waits for an endpoint: the first 1,000 items."""
    found = await call.context.services.webhooks.waiting(_name(tenant, endpoint))
    return QueueResponse(waiting=[QueuedResponse.of(each) for each in found])


@router.post("/{endpoint}/test", **allow("test_webhook", Role.OPERATOR, is_recorded=True))
async def test_webhook(
    call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath
) -> WebhookAttemptResponse:
    """Send a test event at once, and return the answer of the endpoint."""
    event, attempt = await call.context.services.webhooks.test(_name(tenant, endpoint))
    return WebhookAttemptResponse.of(event, attempt)


@router.post("/{endpoint}/retry", **allow("retry_webhook", Role.OPERATOR, is_recorded=True, status_code=204))
async def retry_webhook(call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath) -> None:
    """Make the next attempt of everything that waits for the endpoint within seconds."""
    await call.context.services.webhooks.retry(_name(tenant, endpoint))


@router.post(
    "/{endpoint}/replay",
    **allow("replay_webhook", Role.OPERATOR, needs_reason=True, is_recorded=True, status_code=204),
)
async def replay_webhook(
    call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath, body: ReplayBody
) -> None:
    """Send all events since a time again. They have the same ids."""
    await call.context.services.webhooks.replay(_name(tenant, endpoint), body.since_ms)


@router.post(
    "/{endpoint}/enable", **allow("enable_webhook", Role.OPERATOR, needs_reason=True, is_recorded=True)
)
async def enable_webhook(call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath) -> WebhookResponse:
    """Enable an endpoint. It receives events from now on."""
    return await _set_status(call, _name(tenant, endpoint), EndpointStatus.ENABLED)


@router.post(
    "/{endpoint}/disable", **allow("disable_webhook", Role.OPERATOR, needs_reason=True, is_recorded=True)
)
async def disable_webhook(
    call: AsOperator, tenant: TenantInPath, endpoint: EndpointInPath
) -> WebhookResponse:
    """Disable an endpoint. It receives no events until it is enabled."""
    return await _set_status(call, _name(tenant, endpoint), EndpointStatus.DISABLED)


async def _set_status(call: AsOperator, name: EndpointName, status: EndpointStatus) -> WebhookResponse:
    return WebhookResponse.of(await call.context.services.webhooks.update(name, status=status))


def _name(tenant: TenantId, endpoint: str) -> EndpointName:
    return EndpointName(tenant, EndpointId(endpoint))
