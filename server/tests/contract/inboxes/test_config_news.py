"""That an inbox was changed is known at once to processes that keep it for an hour, on one node and on a cluster."""

from collections.abc import Sequence

from fixtures.loops import eventually, until
from fixtures.redis_cluster import Connect, Servers

from tidings.inboxes.config import Inbox, InboxSpec
from tidings.inboxes.config_service import InboxConfigCache, InboxConfigService
from tidings.inboxes.model import InboxId
from tidings.inboxes.store import RedisConfigInvalidation
from tidings.kernel.cache import CachePolicy
from tidings.kernel.clock import SystemClock
from tidings.kernel.ids import TenantId

ACME = TenantId("acme")
HOUR = CachePolicy(fresh_s=3_600.0)


class Configured:
    """The table: what was written last."""

    def __init__(self) -> None:
        self.inboxes: dict[tuple[TenantId, InboxId], Inbox] = {}

    async def read(self, tenant: TenantId, inbox: InboxId) -> Inbox | None:
        return self.inboxes.get((tenant, inbox))

    async def listed(self, tenant: TenantId) -> Sequence[Inbox]:
        return [inbox for (owner, _), inbox in self.inboxes.items() if owner == tenant]

    async def write(self, tenant: TenantId, inbox: Inbox) -> bool:
        self.inboxes[tenant, inbox.id] = inbox
        return True


async def test_a_change_is_heard_of_by_who_keeps_the_inbox(servers: Servers, connect: Connect) -> None:
    table = Configured()
    async with connect(servers) as here, connect(servers) as there:
        reader = InboxConfigCache(table, SystemClock(), HOUR)
        RedisConfigInvalidation(there).listen(reader.evict)
        changing = InboxConfigService(table, SystemClock(), invalidation=RedisConfigInvalidation(here))
        await changing.set(ACME, "default", lambda _: InboxSpec(title="0"))
        assert (await reader.of(ACME, "default")).title == "0"

        async def is_known() -> None:
            """The subscription may stand a moment later than the first change: that is what the bound is for."""
            title = f"{int(table.inboxes[ACME, InboxId('default')].title) + 1}"
            await changing.set(ACME, "default", lambda _: InboxSpec(title=title))
            await until(lambda: not reader._cache._present, 1.0)
            assert (await reader.of(ACME, "default")).title == title

        await eventually(is_known, AssertionError, 60)


async def test_a_change_is_made_though_nobody_can_be_told(servers: Servers, connect: Connect) -> None:
    table = Configured()
    async with connect(servers) as redis:
        news = RedisConfigInvalidation(redis)
    made = await InboxConfigService(table, SystemClock(), invalidation=news).set(
        ACME, "default", lambda _: InboxSpec(title="News")
    )
    assert made.title == "News"
