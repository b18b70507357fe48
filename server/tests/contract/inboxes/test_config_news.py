"""A changed inbox is invalidated in the caches of other processes, with one Redis node and with a cluster."""

from typing import override

from fixtures.loops import eventually, until
from fixtures.redis_cluster import Connect, Servers

from tidings.inboxes.config import Inbox, InboxSpec
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService
from tidings.inboxes.model import InboxId
from tidings.inboxes.store import DynamoInboxStore, RedisConfigInvalidation
from tidings.kernel.cache import CachePolicy
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId

ACME = TenantId("acme")
HOUR = CachePolicy(fresh_s=3_600.0)


class MemoryInboxStore(DynamoInboxStore):
    """Inboxes in memory."""

    def __init__(self) -> None:
        self.inboxes: dict[tuple[TenantId, InboxId], Inbox] = {}

    @override
    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        return self.inboxes.get((tenant, inbox))

    @override
    async def write(self, tenant: TenantId, inbox: Inbox) -> bool:
        self.inboxes[tenant, inbox.id] = inbox
        return True


async def test_a_change_invalidates_the_caches_of_other_processes(servers: Servers, connect: Connect) -> None:
    store = MemoryInboxStore()
    async with connect(servers) as publishing, connect(servers) as subscribing:
        cache = InboxConfigCache(store, SystemClock(), HOUR)
        RedisConfigInvalidation(subscribing).subscribe(cache.evict)
        service = InboxConfigService(
            store, SystemClock(), on_change=RedisConfigInvalidation(publishing).publish
        )
        await service.set(ACME, "default", lambda _: InboxSpec(title="0"))
        assert (await cache.of(ACME, "default")).title == "0"

        async def assert_invalidated() -> None:
            """Change the inbox again: the subscription may be confirmed only after the first change."""
            title = f"{int(store.inboxes[ACME, InboxId('default')].title) + 1}"
            await service.set(ACME, "default", lambda _: InboxSpec(title=title))
            await until(lambda: not cache._cache._present, 1.0)
            assert (await cache.of(ACME, "default")).title == title

        await eventually(assert_invalidated, AssertionError, 60)


async def test_a_change_succeeds_while_redis_is_unavailable(servers: Servers, connect: Connect) -> None:
    store = MemoryInboxStore()
    async with connect(servers) as redis:
        closed = RedisConfigInvalidation(redis)
    service = InboxConfigService(store, SystemClock(), on_change=closed.publish)
    changed = await service.set(ACME, "default", lambda _: InboxSpec(title="News"))
    assert changed.title == "News"
