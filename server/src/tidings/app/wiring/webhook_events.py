"""Build what queues the events of webhooks, for every process that changes users, inboxes, jobs or reads."""

from tidings.ephemeral.model import PresenceStatus, PresenceStore
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.tenants.key_ring import KeyRing
from tidings.webhooks.endpoints import EndpointDirectory
from tidings.webhooks.model import EventType
from tidings.webhooks.producer import EventProducer
from tidings.webhooks.store import DynamoEndpointStore, DynamoWebhookQueue


def make_endpoint_store(client: DynamoClient, keys: KeyRing) -> DynamoEndpointStore:
    return DynamoEndpointStore(client, keys, AuthenticatedRows(keys))


def make_event_producer(client: DynamoClient, keys: KeyRing, clock: Clock) -> EventProducer:
    directory = EndpointDirectory(make_endpoint_store(client, keys), clock)
    return EventProducer(directory, DynamoWebhookQueue(client, clock), clock)


class PresenceEvents:
    """Queues the events of a user's presence, if the tenant has an endpoint that chose them."""

    def __init__(self, presences: PresenceStore, events: EventProducer, grace_s: float) -> None:
        self._presences = presences
        self._events = events
        self._grace_s = grace_s

    async def report(self, tenant: TenantId, user: UserId) -> None:
        """Read the presence and queue it. A user who is offline is reported after the grace period: most reconnect sooner."""
        if await self._events.has_endpoint_for(tenant, EventType.PRESENCE_CHANGED):
            status = (await self._presences.read(tenant, [user]))[user].presence.status
            after_s = self._grace_s if status is PresenceStatus.OFFLINE else 0.0
            await self._events.presence_changed(tenant, user, status, after_s)
