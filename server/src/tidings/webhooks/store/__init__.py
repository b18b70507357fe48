"""Webhooks in DynamoDB: endpoints, the queue and the delivery log."""

from tidings.webhooks.store.deliveries import DynamoDeliveryLog
from tidings.webhooks.store.disabled import DynamoDisabledEndpoints
from tidings.webhooks.store.endpoints import DynamoEndpointStore
from tidings.webhooks.store.queue import DynamoWebhookQueue

__all__ = ["DynamoDeliveryLog", "DynamoDisabledEndpoints", "DynamoEndpointStore", "DynamoWebhookQueue"]
