"""Preferences on both engines: recipients, counts, and retries."""

import asyncio

from contract.inboxes.conftest import OpenInboxes
from contract.inboxes.test_broadcast import send as broadcast
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NEWS, NotificationEnv
from fixtures.use_cases import code_of
from msgspec.structs import replace

from tidings.inboxes.preferences import CategorySettings, Channel, ChoiceChanges
from tidings.kernel.errors import Code
from tidings.schema.tables.patterns import inboxes as patterns

OFF: ChoiceChanges = {Channel.INBOX: False}
ON: ChoiceChanges = {Channel.INBOX: True}
DEFAULT_AGAIN: ChoiceChanges = {Channel.INBOX: None}


async def choose(
    at: NotificationEnv, user: str, general: ChoiceChanges | None = None, **categories: ChoiceChanges
) -> None:
    await at.cases.preferences.change(at.owner(user), general or {}, categories)


async def why(at: NotificationEnv, user: str) -> list[str]:
    return [each.why.value for each in (await at.cases.queries.explain(at.owner(user), 50)).reasons]


async def test_a_category_that_the_user_switched_off_is_neither_listed_nor_counted(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await choose(at, "anna", sport=OFF)
        sent = await at.given("anna", "ben", category="sport")
        await at.given("anna", category="weather", message={"title": "rain"})
        counts = await at.cases.queries.counts(at.owner("anna"))
        assert (counts.total, counts.by_category, counts.unseen) == (1, {2: 1}, 1)
        assert await at.messages("anna") == [{"title": "rain"}]
        assert await at.total("ben") == 1
        progress = await at.cases.jobs.progress(at.tenant, sent.job)
        assert (progress.done, progress.failed) == (2, 0)
        assert await why(at, "anna") == ["delivered", "channel_off"]


async def test_the_layers_of_the_tenant_apply_to_users_without_choices(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        only_sport = replace(
            NEWS,
            channels={Channel.INBOX: False},
            category_settings={"sport": CategorySettings(channels={Channel.INBOX: True})},
        )
        await at.make_inbox(only_sport)
        await choose(at, "ben", weather=ON)
        for category in ("sport", "weather", None):
            await at.given("anna", "ben", category=category)
        assert (await at.total("anna"), await at.total("ben")) == (1, 2)


async def test_a_critical_notification_reaches_users_who_switched_everything_off(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        await choose(at, "anna", OFF, sport=OFF)
        await at.given("anna", category="sport")
        assert await at.total("anna") == 0
        await at.given("anna", category="sport", is_critical=True)
        assert await at.total("anna") == 1
        await at.make_inbox(replace(NEWS, category_settings={"sport": CategorySettings(is_critical=True)}))
        await at.given("anna", category="sport")
        assert await at.total("anna") == 2


async def test_a_retry_decides_as_the_first_attempt_did(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await choose(at, "anna", sport=OFF)
        await at.send(["anna", "ben"], category="sport")
        (ref,) = at.chunks.take()
        job = await at.cases.job_store.read(at.tenant, ref.job)
        assert job is not None
        content = await at.cases.recall.find(at.tenant, DEFAULT, job.notification)  # type: ignore[arg-type]
        users = await at.cases.job_store.chunk(at.tenant, ref.job, 0)
        # The worker dies before it marks the chunk as done, and both users change their preferences.
        await at.cases.worker._process_users(job, 0, content, users)
        await choose(at, "anna", sport=ON)
        await choose(at, "ben", sport=OFF)
        await at.cases.worker.process(ref)
        assert (await at.total("anna"), await at.total("ben")) == (0, 1)
        assert [len(await at.messages(user)) for user in ("anna", "ben")] == [0, 1]


async def test_preferences_hide_and_show_broadcasts_at_read(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await broadcast(at, category="sport")
        await broadcast(at, category="sport", is_critical=True)
        assert await at.total("anna") == 2
        await choose(at, "anna", sport=OFF)
        assert (await at.total("anna"), await at.total("ben")) == (1, 2)
        assert len(await at.messages("anna")) == 1
        assert sorted(await why(at, "anna")) == ["channel_off", "delivered"]
        await choose(at, "anna", sport=DEFAULT_AGAIN)
        assert await at.total("anna") == 2
        await at.make_inbox(replace(NEWS, channels={Channel.INBOX: False}))
        assert await at.total("anna") == 0


async def test_a_recall_of_an_excluded_notification_changes_no_count(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        await at.given("anna", category="weather")
        await at.cases.marker.read_all(at.owner("anna"))
        await at.given("anna", category="weather")
        await choose(at, "anna", sport=OFF)
        sent = await at.given("anna", category="sport")
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        await at.work()
        assert await at.total("anna") == 1
        (proof,) = (await at.cases.proofs.page(at.tenant, DEFAULT, sent.notification)).proofs
        assert (proof.delivered_ms, proof.read_ms, proof.vanished_ms is not None) == (None, None, True)


async def test_concurrent_changes_of_one_user_are_all_kept(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        changes: list[ChoiceChanges] = [{channel: False} for channel in Channel]
        await asyncio.gather(*(choose(at, "anna", each) for each in changes))
        await choose(at, "anna", dict.fromkeys(Channel, False))
        found = await at.cases.preferences.read(at.owner("anna"))
        assert (found.choices.channels, found.choices.version) == (
            dict.fromkeys(Channel, False),
            len(Channel),
        )
        assert await code_of(choose(at, "anna", unknown=OFF)) is Code.REQUEST_INVALID


async def test_a_chunk_reads_all_preferences_in_one_call_and_a_critical_one_none(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:

        def calls(name: str) -> int:
            found = [each for each in at.client.ledger if each.pattern == name and each.name == "calls"]
            return int(sum(each.value for each in found))

        reads = patterns.READ_PREFERENCES.name
        before = calls(reads)
        await at.given(*(f"user{number}" for number in range(100)))
        assert calls(reads) - before == 1
        await at.given("anna", is_critical=True)
        assert calls(reads) - before == 1
