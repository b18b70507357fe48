"""A limit by category on both engines: exact under concurrent deliveries and retries, explained, not for critical ones."""

import asyncio

import pytest
from contract.inboxes.conftest import OpenInboxes
from contract.inboxes.test_preferences import why
from fixtures.notifications import NEWS
from msgspec.structs import replace

from tidings.inboxes.config import InboxSpec
from tidings.inboxes.preferences import CategorySettings, Excess, Throttle


def limited(limit: int, excess: Excess) -> InboxSpec:
    throttle = Throttle(limit=limit, window_s=3_600, excess=excess)
    return replace(NEWS, category_settings={"sport": CategorySettings(throttle=throttle)})


@pytest.mark.parametrize(("excess", "listed"), [(Excess.SILENT, 12), (Excess.DROP, 5)])
async def test_concurrent_deliveries_count_exactly_up_to_the_limit(
    open_inboxes: OpenInboxes, excess: Excess, listed: int
) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(limited(5, excess))
        for _ in range(12):
            await at.send(["anna"], category="sport")
        refs = at.chunks.take()
        # Each chunk twice, as if a worker had died before its mark.
        await asyncio.gather(*(at.cases.worker.process(ref) for ref in refs * 2))
        counts = await at.cases.queries.counts(at.owner("anna"))
        assert (counts.total, counts.by_category, counts.unseen) == (5, {1: 5}, 5)
        assert len(await at.messages("anna")) == listed
        assert sorted(await why(at, "anna")) == ["delivered"] * 5 + ["throttled"] * 7


async def test_a_new_window_other_categories_and_critical_ones_are_delivered(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(limited(1, Excess.DROP))
        for _ in range(2):
            await at.given("anna", category="sport")
        assert await at.total("anna") == 1
        await at.given("anna", category="weather")
        await at.given("anna", category="sport", is_critical=True)
        assert await at.total("anna") == 3
        await at.cases.marker.read_all(at.owner("anna"))
        await at.given("anna", category="sport")
        assert await at.total("anna") == 0, "a mark keeps the window"
        at.clock.ahead_ms += 3_600_000
        for _ in range(2):
            await at.given("anna", category="sport")
        assert await at.total("anna") == 1


async def test_a_silent_one_counts_if_the_user_marks_it_as_unread(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.make_inbox(limited(1, Excess.SILENT))
        await at.given("anna", category="sport")
        silent = await at.given("anna", category="sport")
        assert (await at.cases.marker.reopen(at.owner("anna"), [silent.notification])).total == 2
        assert await why(at, "anna") == ["unread_again", "delivered"]
