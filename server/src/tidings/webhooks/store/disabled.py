"""The list of disabled webhook endpoints, in the table `webhooks`."""

from collections.abc import Sequence
from typing import Any, Final

from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.errors import translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.webhooks import BACKLOG_KEY, DISABLED
from tidings.schema.tables.patterns import webhooks as patterns
from tidings.webhooks.model import DisabledEndpoint, EndpointId, EndpointName

_KEPT_S: Final = 30 * 86_400


class DynamoDisabledEndpoints:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def add(self, endpoint: EndpointName, reason: str, at_ms: int) -> None:
        item = _key(endpoint) | {"reason": reason, "at_ms": at_ms, "ttl": at_ms // 1000 + _KEPT_S}
        with translate_write_errors:
            await self._client.put(patterns.PUT_DISABLED, item, repeatable=True)

    async def remove(self, endpoint: EndpointName) -> None:
        with translate_write_errors:
            await self._client.delete(patterns.DELETE_DISABLED, _key(endpoint), repeatable=True)

    async def list(self, limit: int) -> Sequence[DisabledEndpoint]:
        query = Query(condition="endpoint = :s", values={":s": DISABLED.render()}, limit=limit)
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_DISABLED, query)
        return [
            DisabledEndpoint(
                EndpointName(TenantId(tenant), EndpointId(endpoint)), item["reason"], int(item["at_ms"])
            )
            for item in page.items
            for tenant, _, endpoint in [item["item"].partition("#")]
        ]


def _key(endpoint: EndpointName) -> dict[str, Any]:
    return {
        "endpoint": DISABLED.render(),
        "item": BACKLOG_KEY.render(tenant=endpoint.tenant, endpoint=endpoint.id),
    }
