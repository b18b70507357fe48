"""Inbox operations that the state machine does not reach: many expiries, different clocks, races, costs."""

import asyncio
from collections import Counter

import pytest
from fixtures.engines import Namespace
from fixtures.inbox_env import InboxEnv
from fixtures.tables import REGION, Tables

from tidings.capacity.operations import NOTIFY
from tidings.inboxes.model import NotificationId
from tidings.inboxes.ports import DeliveryOutcome
from tidings.inboxes.queries import NotificationFilter
from tidings.inboxes.rules import DAY_MS
from tidings.inboxes.store import DynamoInboxRepository
from tidings.kernel.ids import encode_ulid
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client


class Opened(InboxEnv):
    def __init__(self, client: DynamoClient, tenant: str = "") -> None:
        super().__init__(DynamoInboxRepository(client), tenant or Namespace().tenant)
        self.client = client
        self._before: Counter[str] = Counter()

    def spent(self) -> Counter[str]:
        """Return the calls by access pattern since the last call of this method."""
        now = Counter({row.pattern: int(row.value) for row in self.client.ledger if row.name == "calls"})
        since, self._before = now - self._before, now
        return since


async def test_counts_stay_exact_when_many_expire_together(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        end_ms = at.clock.at_ms + 1_500
        for number in range(205):
            await at.new("anna", category=number % 3, expires_ms=end_ms + number % 2)
        await at.new("anna", category=1)
        assert await at.counted("anna") == (206, {1: 69, 2: 68}, 206)
        at.clock.at_ms += 10_000
        assert await at.counted("anna") == (1, {1: 1}, 1)
        at.spent()
        assert await at.counted("anna") == (1, {1: 1}, 1)
        assert at.spent() == {"inbox.read_counts": 1}


async def test_entries_below_a_mark_all_are_not_settled_again(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        for number in range(120):
            await at.new("anna", expires_ms=at.clock.at_ms + 5_000 + number)
        await at.marker.read_all(at.inbox_key("anna"))
        await at.new("anna")
        at.clock.at_ms += 60_000
        assert await at.counted("anna") == (1, {}, 1)


async def test_a_late_clock_subtracts_nothing_twice(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        ahead = Opened(client)
        behind = Opened(client, ahead.tenant)
        notification = await ahead.new("anna", expires_ms=ahead.clock.at_ms + 5_000)
        await ahead.new("anna")
        ahead.clock.at_ms += 10_000
        await ahead.marker.see_all(ahead.inbox_key("anna"))
        assert (await behind.counted("anna"))[0] == 1
        await behind.marker.read(behind.inbox_key("anna"), [notification])
        await behind.withdrawer.withdraw(behind.inbox_key("anna"), notification, 0)
        assert (await behind.counted("anna"))[0] == (await ahead.counted("anna"))[0] == 1


async def test_a_sender_whose_clock_is_behind_adds_nothing_below_a_mark_all(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        at.delivery_clock.at_ms -= 3_600_000
        await at.new("anna")
        await at.marker.read_all(at.inbox_key("anna"))
        await at.new("anna")
        assert (await at.counted("anna"))[0] == 1


async def test_concurrent_changes_lose_nothing(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        owner = at.inbox_key("anna")
        ids = [await at.new("anna", category=1) for _ in range(12)]
        await asyncio.gather(
            *(at.marker.read(owner, [notification]) for notification in ids[:4]),
            *(at.marker.archive(owner, [notification]) for notification in ids[4:6]),
            *(at.deliver("anna", at.new_id(), 2) for _ in range(6)),
            at.withdrawer.withdraw(owner, ids[6], 1),
            at.marker.see_all(owner),
        )
        total, by_category, _ = await at.counted("anna")
        assert (total, by_category) == (11, {1: 5, 2: 6})
        assert len(await at.listed("anna", NotificationFilter(is_unread=True))) == 11


async def test_concurrent_deliveries_to_one_user_are_all_counted(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        gifts = await asyncio.gather(*(at.deliver("anna", at.new_id(), 1) for _ in range(25)))
        assert gifts == [DeliveryOutcome.DELIVERED] * 25
        assert await at.counted("anna") == (25, {1: 25}, 25)


async def test_notifications_beyond_their_retention_are_deleted_and_not_counted(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        at.retention_days = 2
        old = await at.new("anna", category=1)
        at.clock.at_ms = at.delivery_clock.at_ms = at.clock.at_ms + DAY_MS
        new = await at.new("anna", category=1)
        at.clock.at_ms = at.delivery_clock.at_ms = at.clock.at_ms + DAY_MS + 3_600_000
        assert await at.counted("anna") == (1, {1: 1}, 1)
        assert await at.listed("anna") == [new]
        assert await at.repository.rows(at.inbox_key("anna"), [old]) == {}
        assert await at.deliver("anna", old, 1) is DeliveryOutcome.LATE
        at.spent()
        await at.counted("anna")
        assert at.spent() == {"inbox.read_counts": 1}


async def test_reading_the_inbox_of_an_unknown_user_writes_nothing(tables: Tables) -> None:
    async with open_client(tables.url, REGION, tables.prefix) as client:
        at = Opened(client)
        at.retention_days = 30
        assert await at.counted("nobody") == (0, {}, 0)
        assert await at.listed("nobody") == []
        await at.queries.explain(at.inbox_key("nobody"), 10)
        await at.marker.read(at.inbox_key("nobody"), [NotificationId(encode_ulid(at.clock.at_ms, 1))])
        await at.marker.read_all(at.inbox_key("nobody"))
        await at.marker.see_all(at.inbox_key("nobody"))
        assert at.spent().keys() == {"inbox.read_counts", "inbox.read_rows", "inbox.read_row"}


@pytest.mark.parametrize("expires", [False, True], ids=["for good", "expires"])
async def test_each_operation_has_its_documented_cost(tables_dynoxide: Tables, *, expires: bool) -> None:
    """A delivery is 4 write units, 6 with an expiry; counts are one call; a mark of all up to now is two."""
    async with open_client(tables_dynoxide.url, REGION, tables_dynoxide.prefix, measure=True) as client:
        at = Opened(client)
        end_ms = at.clock.at_ms + 10**9 if expires else None
        ids = []
        for _ in range(3):
            at.clock.at_ms += 1_000
            at.delivery_clock.at_ms += 1_000
            ids.append(await at.new("anna", 1, end_ms))
        assert at.spent() == {"inbox.deliver": 3}
        units = client.ledger["inbox.deliver"].measured_table_units
        assert units == 3 * (6 if expires else NOTIFY.writes["inbox"])
        await at.counted("anna")
        assert at.spent() == {"inbox.read_counts": 1}
        await at.marker.read(at.inbox_key("anna"), ids[:1])
        again = 1 if expires else 0
        assert at.spent() == {
            "inbox.read_counts": 1 + again,
            "inbox.read_row": 1,
            "inbox.mark_row": 1,
        }
        await at.marker.read_all(at.inbox_key("anna"))
        marked = at.spent()
        assert (marked["inbox.mark_all"], marked["inbox.read_rows"]) == (1, 0)
        assert marked["inbox.read_counts"] == 1 + again
