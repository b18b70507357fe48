"""The delivery log of webhooks, in the table `webhooks`."""

from collections.abc import Sequence
from typing import Any, Final

from tidings.kernel.ids import ChatId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.codec import Item
from tidings.platform.dynamo.errors import translate_read_errors, translate_write_errors
from tidings.platform.dynamo.requests import Query
from tidings.schema.tables.items.webhooks import DELIVERIES, DELIVERY_KEY
from tidings.schema.tables.patterns import webhooks as patterns
from tidings.webhooks.model import Delivery, DeliveryOutcome, DeliveryPage, EndpointName, EventType

KEPT_S: Final = 7 * 86_400
_OPTIONAL = ("chat", "sequence", "status", "reason", "next_ms")


class DynamoDeliveryLog:
    def __init__(self, client: DynamoClient) -> None:
        self._client = client

    async def add(self, deliveries: Sequence[Delivery]) -> None:
        # A batch must not contain a key twice: of two attempts in the same millisecond, the later one is kept.
        items = {(item["endpoint"], item["item"]): item for item in map(_item, deliveries)}
        with translate_write_errors:
            await self._client.batch_write(
                patterns.PUT_DELIVERIES, puts=list(items.values()), repeatable=True
            )

    async def page(self, endpoint: EndpointName, limit: int, start: str | None) -> DeliveryPage:
        key = _partition(endpoint)
        query = Query(
            condition="endpoint = :e",
            values={":e": key},
            limit=limit,
            backward=True,
            start=None if start is None else {"endpoint": key, "item": start},
        )
        with translate_read_errors:
            page = await self._client.query(patterns.LIST_DELIVERIES, query)
        found = [_delivery_from(endpoint, item) for item in page.items]
        return DeliveryPage(found, None if page.start is None else page.start["item"])


def _partition(endpoint: EndpointName) -> str:
    return DELIVERIES.render(tenant=endpoint.tenant, endpoint=endpoint.id)


def _item(delivery: Delivery) -> dict[str, Any]:
    item: dict[str, Any] = {
        "endpoint": _partition(delivery.endpoint),
        "item": DELIVERY_KEY.render(at_ms=delivery.at_ms, event=delivery.event),
        "type": delivery.type.value,
        "attempt": delivery.attempt,
        "outcome": delivery.outcome.value,
        "latency_ms": delivery.latency_ms,
        "ttl": delivery.at_ms // 1000 + KEPT_S,
    }
    return item | {name: value for name in _OPTIONAL if (value := getattr(delivery, name))}


def _delivery_from(endpoint: EndpointName, item: Item) -> Delivery:
    at_ms, _, event = item["item"].partition("#")
    status, next_ms, chat = item.get("status"), item.get("next_ms"), item.get("chat")
    return Delivery(
        endpoint=endpoint,
        event=event,
        type=EventType(item["type"]),
        at_ms=int(at_ms),
        attempt=int(item["attempt"]),
        outcome=DeliveryOutcome(item["outcome"]),
        latency_ms=int(item["latency_ms"]),
        chat=None if chat is None else ChatId(chat),
        sequence=int(item.get("sequence", 0)),
        status=None if status is None else int(status),
        reason=item.get("reason", ""),
        next_ms=None if next_ms is None else int(next_ms),
    )
