"""Digests on both engines: one entry and one count for several notifications, exact under concurrent deliveries and retries."""

import asyncio

import pytest
from contract.inboxes.conftest import OpenInboxes
from contract.inboxes.mutants import IgnoresVersions
from contract.inboxes.test_preferences import why
from fixtures.engines import Namespace
from fixtures.inbox_env import InboxEnv
from fixtures.notifications import NEWS, NotificationEnv
from fixtures.tables import REGION, Tables
from msgspec.structs import replace

from tidings.inboxes.config import InboxSpec
from tidings.inboxes.model import NotificationId
from tidings.inboxes.preferences import CategorySettings, Digest, Excess, Throttle
from tidings.inboxes.queries import VisibleNotification
from tidings.inboxes.store import DynamoInboxRepository
from tidings.platform.dynamo.open_client import open_client

WINDOW_S = 3_600


def with_digest(throttle: Throttle | None = None) -> InboxSpec:
    settings = CategorySettings(digest=Digest(window_s=WINDOW_S), throttle=throttle)
    return replace(NEWS, category_settings={"sport": settings})


async def like(at: NotificationEnv, name: str, key: str | None = None, **more: object) -> NotificationId:
    sent = await at.given("anna", message={"title": name}, category="sport", digest_key=key, **more)
    return sent.notification


async def shown(at: NotificationEnv) -> list[tuple[str, int]]:
    page = await at.cases.queries.page(at.owner("anna"), 100)
    return [_text(each) for each in page.notifications]


def _text(each: VisibleNotification) -> tuple[str, int]:
    return each.message["title"], each.row.gathered


async def test_concurrent_deliveries_and_retries_are_one_entry(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(with_digest())
        for number in range(6):
            await at.send(
                ["anna"], message={"title": f"like {number}"}, category="sport", digest_key="post:1"
            )
        refs = at.chunks.take()
        # Each chunk twice, as if a worker had died before its mark.
        await asyncio.gather(*(at.cases.worker.process(ref) for ref in refs * 2))
        counts = await at.cases.queries.counts(at.owner("anna"))
        assert (counts.total, counts.by_category, counts.unseen) == (1, {1: 1}, 1)
        assert await shown(at) == [("like 5", 6)]
        assert sorted(await why(at, "anna")) == ["delivered"] + ["digested"] * 5


async def race(tables: Tables, repository: type[DynamoInboxRepository]) -> None:
    """Deliver eight notifications with one key at the same time, each twice."""
    async with open_client(tables.url, REGION, tables.prefix) as client:
        env = InboxEnv(repository(client), Namespace().tenant)
        ids = [env.new_id() for _ in range(8)]
        await asyncio.gather(*(env.gather("anna", each, 1) for each in ids * 2))
        assert await env.counted("anna") == (1, {1: 1}, 1)
        [row] = await env.rows("anna")
        assert (row.gathered, row.content_id) == (8, ids[-1])


async def test_concurrent_senders_start_one_digest(tables: Tables) -> None:
    await race(tables, DynamoInboxRepository)


async def test_without_the_version_as_condition_the_race_is_noticed(tables_dynoxide: Tables) -> None:
    with pytest.raises((AssertionError, ValueError)):
        await race(tables_dynoxide, IgnoresVersions)


async def test_other_keys_and_categories_and_critical_ones_are_entries_of_their_own(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(with_digest())
        for name, key in (
            ("Anna", "post:1"),
            ("Ben", "post:2"),
            ("Cem", "post:1"),
            ("Dan", None),
            ("Eve", None),
        ):
            await like(at, name, key)
        await like(at, "Alarm", "post:1", is_critical=True)
        assert await shown(at) == [("Alarm", 0), ("Eve", 2), ("Ben", 1), ("Cem", 2)]
        await at.given("anna", category="weather", digest_key="post:1")
        assert await at.total("anna") == 5


async def test_a_digest_ends_when_it_is_read_and_with_its_window(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(with_digest())
        first = await at.given("anna", message={"title": "Anna"}, category="sport")
        await like(at, "Ben")
        await at.cases.marker.read(at.owner("anna"), [first.notification])
        assert await at.total("anna") == 0
        await like(at, "Cem")
        await like(at, "Dan")
        assert await shown(at) == [("Dan", 2), ("Ben", 2)]
        at.clock.ahead_ms += WINDOW_S * 1000
        await like(at, "Eve")
        assert await shown(at) == [("Eve", 1), ("Dan", 2), ("Ben", 2)]
        assert await at.total("anna") == 2


async def test_a_recalled_notification_leaves_the_digest(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(with_digest())
        names = {name: await like(at, name) for name in ("Anna", "Ben", "Cem")}
        for name, left in (("Cem", [("Ben", 2)]), ("Anna", [("Ben", 1)]), ("Ben", [])):
            for _ in range(2):
                await at.cases.recall.redact(at.tenant, "default", names[name])
                await at.work()
            assert await shown(at) == left
            assert await at.total("anna") == len(left)
        for each in names.values():
            [proof] = (await at.cases.proofs.page(at.tenant, "default", each)).proofs
            assert proof.delivered_ms is not None
            assert proof.vanished_ms is not None


async def test_the_throttle_limits_digests_and_not_their_notifications(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(with_digest(Throttle(limit=1, window_s=2 * WINDOW_S, excess=Excess.DROP)))
        for name in ("Anna", "Ben"):
            await like(at, name, "post:1")
        await like(at, "Cem", "post:2")
        assert await shown(at) == [("Ben", 2)]
        assert await why(at, "anna") == ["throttled", "digested", "delivered"]
