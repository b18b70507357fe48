"""Webhook endpoints, for a tenant's server."""

from typing import Annotated

from fastapi import APIRouter, Query

from tidings.api.auth import AsWebhooksServer, AuthenticatedRequest, AuthenticatedRoute
from tidings.api.openapi import OF_BODIES, route_options
from tidings.api.schemas.before_send import BeforeSendBody, BeforeSendResponse
from tidings.api.schemas.chats import PageParams
from tidings.api.schemas.webhooks import (
    CreateWebhookBody,
    DeliveriesResponse,
    EndpointInPath,
    QueuedResponse,
    QueueResponse,
    ReplayBody,
    RotateSecretBody,
    UpdateWebhookBody,
    WebhookAttemptResponse,
    WebhookResponse,
    WebhookSecretResponse,
    WebhooksResponse,
    event_types,
)
from tidings.kernel.errors import Code
from tidings.webhooks.model import EndpointId, EndpointName

router = APIRouter(prefix="/v1/webhooks", route_class=AuthenticatedRoute, tags=["webhooks"])

_UNKNOWN, _KEYS = Code.WEBHOOK_NOT_FOUND, Code.KEYS_UNAVAILABLE
_OF_WRITES = (*OF_BODIES, _KEYS, Code.OUTCOME_UNKNOWN, Code.WRITE_CONFLICT)
_READ = ("tenants.read_hook", "tenants.list_data_keys")
_CHANGE = (*_READ, "tenants.put_hook")
_DELETE = ("tenants.delete_hook", "webhooks.list_queue", "webhooks.drop_queue", "webhooks.delete_disabled")


@router.post(
    "",
    **route_options(
        "create_webhook",
        *_OF_WRITES,
        touches=("tenants.list_hooks", *_CHANGE),
        status_code=201,
        summary="Create a webhook endpoint",
    ),
)
async def create_webhook(call: AsWebhooksServer, body: CreateWebhookBody) -> WebhookSecretResponse:
    """Create an endpoint. It receives events from up to ten seconds later. The secret is not shown again."""
    created = await call.edge.services.webhooks.create(call.tenant, body.settings())
    return WebhookSecretResponse.of(created)


@router.get(
    "",
    **route_options(
        "list_webhooks",
        _KEYS,
        Code.CURSOR_INVALID,
        touches=("tenants.list_hooks", "tenants.list_data_keys"),
        summary="List webhook endpoints",
    ),
)
async def list_webhooks(call: AsWebhooksServer, asked: Annotated[PageParams, Query()]) -> WebhooksResponse:
    """List the tenant's endpoints, oldest first."""
    cursors = call.edge.cursors.of(call.tenant, None, "webhooks")
    after = cursors.read(asked.cursor) or ""
    found = [each for each in await call.edge.services.webhooks.list(call.tenant) if each.name.id > after]
    page = found[: asked.limit]
    return WebhooksResponse(
        endpoints=[WebhookResponse.of(each) for each in page],
        cursor=cursors.write(page[-1].name.id) if len(found) > len(page) else None,
    )


@router.get(
    "/{endpoint}",
    **route_options("get_webhook", _UNKNOWN, _KEYS, touches=_READ, summary="Get a webhook endpoint"),
)
async def get_webhook(call: AsWebhooksServer, endpoint: EndpointInPath) -> WebhookResponse:
    """Get an endpoint, without its secret."""
    return WebhookResponse.of(await call.edge.services.webhooks.read(_name(call, endpoint)))


@router.patch(
    "/{endpoint}",
    **route_options(
        "update_webhook",
        *_OF_WRITES,
        _UNKNOWN,
        touches=(*_CHANGE, "webhooks.delete_disabled"),
        summary="Change a webhook endpoint",
    ),
)
async def update_webhook(
    call: AsWebhooksServer, endpoint: EndpointInPath, body: UpdateWebhookBody
) -> WebhookResponse:
    """Change an endpoint, or enable it again. Workers use the change within ten seconds."""
    changed = await call.edge.services.webhooks.update(
        _name(call, endpoint),
        url=body.url,
        events=None if body.events is None else event_types(body.events),
        description=body.description,
        status=body.new_status,
    )
    return WebhookResponse.of(changed)


@router.delete(
    "/{endpoint}",
    **route_options(
        "delete_webhook",
        _UNKNOWN,
        *_OF_WRITES,
        touches=(
            *_READ,
            *_DELETE,
        ),
        status_code=204,
        summary="Delete a webhook endpoint",
    ),
)
async def delete_webhook(call: AsWebhooksServer, endpoint: EndpointInPath) -> None:
    """Delete an endpoint. Events that wait for it are dropped."""
    await call.edge.services.webhooks.delete(_name(call, endpoint))


@router.post(
    "/{endpoint}/secret",
    **route_options(
        "rotate_webhook_secret",
        *_OF_WRITES,
        _UNKNOWN,
        touches=_CHANGE,
        summary="Rotate the secret of a webhook endpoint",
    ),
)
async def rotate_webhook_secret(
    call: AsWebhooksServer, endpoint: EndpointInPath, body: RotateSecretBody
) -> WebhookSecretResponse:
    """Create a new secret. Events have a signature of the former secret too, for `overlap_seconds`."""
    rotated = await call.edge.services.webhooks.rotate(_name(call, endpoint), body.overlap_seconds)
    return WebhookSecretResponse.of(rotated)


@router.post(
    "/{endpoint}/test",
    **route_options(
        "test_webhook",
        _UNKNOWN,
        _KEYS,
        Code.OUTCOME_UNKNOWN,
        touches=(*_READ, "webhooks.put_deliveries"),
        summary="Send a test event",
    ),
)
async def test_webhook(call: AsWebhooksServer, endpoint: EndpointInPath) -> WebhookAttemptResponse:
    """Send an event of type `test` at once, and return the answer of the endpoint."""
    event, attempt = await call.edge.services.webhooks.test(_name(call, endpoint))
    return WebhookAttemptResponse.of(event, attempt)


@router.post(
    "/{endpoint}/retry",
    **route_options(
        "retry_webhook",
        _UNKNOWN,
        _KEYS,
        Code.OUTCOME_UNKNOWN,
        touches=(*_READ, "webhooks.note_backlog"),
        status_code=204,
        summary="Retry waiting events now",
    ),
)
async def retry_webhook(call: AsWebhooksServer, endpoint: EndpointInPath) -> None:
    """Make the next attempt of everything that waits for the endpoint within seconds."""
    await call.edge.services.webhooks.retry(_name(call, endpoint))


@router.post(
    "/{endpoint}/replay",
    **route_options(
        "replay_webhook",
        *OF_BODIES,
        _UNKNOWN,
        _KEYS,
        Code.OUTCOME_UNKNOWN,
        touches=(*_READ, "webhooks.queue_items", "webhooks.note_backlog"),
        status_code=204,
        summary="Send past events again",
    ),
)
async def replay_webhook(call: AsWebhooksServer, endpoint: EndpointInPath, body: ReplayBody) -> None:
    """Send all events since a time again. They have the same ids, and may arrive after newer events of their chat."""
    await call.edge.services.webhooks.replay(_name(call, endpoint), body.since_ms)


@router.get(
    "/{endpoint}/deliveries",
    **route_options(
        "list_webhook_deliveries",
        _UNKNOWN,
        _KEYS,
        Code.CURSOR_INVALID,
        touches=(*_READ, "webhooks.list_deliveries"),
        summary="List deliveries",
    ),
)
async def list_webhook_deliveries(
    call: AsWebhooksServer, endpoint: EndpointInPath, asked: Annotated[PageParams, Query()]
) -> DeliveriesResponse:
    """List the attempts of the last seven days, newest first."""
    cursors = call.edge.cursors.of(call.tenant, None, "deliveries", endpoint)
    start = cursors.read(asked.cursor)
    page = await call.edge.services.webhooks.deliveries(_name(call, endpoint), asked.limit, start)
    return DeliveriesResponse.of(page, cursors.write(page.next))


@router.get(
    "/{endpoint}/queue",
    **route_options(
        "list_webhook_queue",
        _UNKNOWN,
        _KEYS,
        touches=(*_READ, "webhooks.list_queue"),
        summary="List waiting events",
    ),
)
async def list_webhook_queue(call: AsWebhooksServer, endpoint: EndpointInPath) -> QueueResponse:
    """List what waits for the endpoint, and when the next attempt is."""
    waiting = await call.edge.services.webhooks.waiting(_name(call, endpoint))
    return QueueResponse(waiting=[QueuedResponse.of(each) for each in waiting])


hook_router = APIRouter(prefix="/v1/before-send-hook", route_class=AuthenticatedRoute, tags=["webhooks"])

_SETTINGS = ("tenants.read_settings", *_READ)
_SET = (*_SETTINGS, "tenants.update_settings", *_CHANGE)


@hook_router.put(
    "",
    **route_options(
        "set_before_send_hook",
        *_OF_WRITES,
        _UNKNOWN,
        touches=("tenants.list_hooks", "webhooks.delete_disabled", *_SET),
        summary="Set the before-send hook",
    ),
)
async def set_before_send_hook(call: AsWebhooksServer, body: BeforeSendBody) -> BeforeSendResponse:
    """Create or change the hook that may change or refuse messages. Processes use it within 30 seconds."""
    endpoint, hook, is_new = await call.edge.services.before_send.set(
        call.tenant, body.url, body.timeout_ms, body.on_failure
    )
    return BeforeSendResponse.of(endpoint, hook, has_secret=is_new)


@hook_router.get(
    "",
    **route_options(
        "get_before_send_hook", _UNKNOWN, _KEYS, touches=_SETTINGS, summary="Get the before-send hook"
    ),
)
async def get_before_send_hook(call: AsWebhooksServer) -> BeforeSendResponse:
    """Get the hook, without its secret."""
    return BeforeSendResponse.of(*await call.edge.services.before_send.read(call.tenant))


@hook_router.delete(
    "",
    **route_options(
        "delete_before_send_hook",
        _UNKNOWN,
        *_OF_WRITES,
        touches=(
            *_SET,
            *_DELETE,
        ),
        status_code=204,
        summary="Remove the before-send hook",
    ),
)
async def delete_before_send_hook(call: AsWebhooksServer) -> None:
    """Remove the hook. Within 30 seconds, messages are stored without it."""
    await call.edge.services.before_send.remove(call.tenant)


def _name(call: AuthenticatedRequest, endpoint: EndpointId) -> EndpointName:
    return EndpointName(call.tenant, endpoint)
