"""Redaction and amendment of notifications that were sent, and the proof of a recall."""

from contract.inboxes.conftest import OpenInboxes
from fixtures.inbox_env import DEFAULT
from fixtures.use_cases import code_of

from tidings.kernel.errors import Code


async def test_an_amended_notification_has_the_new_content_and_stays_read_or_unread(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        sent = await at.given("anna", "ben")
        await at.cases.marker.read(at.owner("ben"), [sent.notification])
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "corrected"})
        assert await at.messages("anna") == await at.messages("ben") == [{"title": "corrected"}]
        assert [await at.total(user) for user in ("anna", "ben")] == [1, 0]
        faulty = at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"text": "?"})
        assert await code_of(faulty) is Code.CONTENT_INVALID


async def test_a_redacted_notification_is_hidden_immediately_and_not_counted(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        sent = await at.given("anna", "ben")
        await at.given("anna")
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "corrected"})
        recalled = await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        assert await at.messages("ben") == []
        await at.work()
        assert await at.state(recalled.job) == "done"
        assert [await at.total(user) for user in ("anna", "ben")] == [1, 0]
        assert await at.messages("anna") == [{"title": "hello"}]
        again = await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        assert again == recalled
        changed = at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "no"})
        assert await code_of(changed) is Code.NO_CHANGE


async def test_a_chunk_after_the_recall_delivers_nothing(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.send(["anna"])
        late = at.chunks.take()
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        await at.work()
        for ref in late:
            await at.cases.worker.process(ref)
        assert (await at.total("anna"), await at.messages("anna")) == (0, [])


async def test_a_recall_is_proven_for_each_user(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.send(["anna", "ben", "cleo"])
        for ref in at.chunks.take():
            await at.cases.worker.process(ref)
        await at.cases.marker.read(at.owner("anna"), [sent.notification])
        await at.cases.marker.read_all(at.owner("ben"))
        recalled = await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        before = await at.cases.proofs.page(at.tenant, DEFAULT, sent.notification)
        assert all(each.vanished_ms is None for each in before.proofs)
        await at.work()
        page = await at.cases.proofs.page(at.tenant, DEFAULT, sent.notification)
        assert page.next_chunk is None
        assert [each.user for each in page.proofs] == ["anna", "ben", "cleo"]
        assert all(each.delivered_ms is not None for each in page.proofs)
        assert [each.read_ms is not None for each in page.proofs] == [True, True, False]
        assert all((each.vanished_ms or 0) >= recalled.at_ms for each in page.proofs)


async def test_a_notification_of_another_inbox_or_tenant_is_not_found(open_inboxes: OpenInboxes) -> None:
    async with open_inboxes() as at:
        sent = await at.given("anna")
        elsewhere = at.cases.recall.redact(at.tenant, "other", sent.notification)
        assert await code_of(elsewhere) is Code.NOTIFICATION_NOT_FOUND
        of_other_tenant = at.cases.recall.redact(type(at.tenant)("nobody"), DEFAULT, sent.notification)
        assert await code_of(of_other_tenant) is Code.NOTIFICATION_NOT_FOUND
