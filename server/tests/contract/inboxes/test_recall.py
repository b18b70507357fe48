"""Redaction and amendment of notifications that were sent, and the proof of a recall."""

from contract.inboxes.conftest import Act
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NotificationEnv
from fixtures.use_cases import code_of

from tidings.kernel.errors import Code


def test_an_amended_notification_says_the_new_words_and_stays_read_or_unread(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
        sent = await at.given("anna", "ben")
        await at.cases.marker.read(at.owner("ben"), [sent.notification])
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "corrected"})
        assert await at.messages("anna") == await at.messages("ben") == [{"title": "corrected"}]
        assert [await at.total(user) for user in ("anna", "ben")] == [1, 0]
        faulty = at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"text": "?"})
        assert await code_of(faulty) is Code.CONTENT_INVALID

    act(scene)


def test_a_redacted_notification_vanishes_at_once_and_leaves_the_counts(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
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

    act(scene)


def test_a_chunk_that_comes_after_the_recall_gives_nothing(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
        sent = await at.send(["anna"])
        late = at.chunks.take()
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        await at.work()
        for ref in late:
            await at.cases.worker.process(ref)
        assert (await at.total("anna"), await at.messages("anna")) == (0, [])

    act(scene)


def test_a_recall_is_proven_for_each_user(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
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

    act(scene)


def test_a_notification_of_another_inbox_or_tenant_is_not_found(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
        sent = await at.given("anna")
        elsewhere = at.cases.recall.redact(at.tenant, "other", sent.notification)
        assert await code_of(elsewhere) is Code.NOTIFICATION_NOT_FOUND
        stranger = at.cases.recall.redact(type(at.tenant)("nobody"), DEFAULT, sent.notification)
        assert await code_of(stranger) is Code.NOTIFICATION_NOT_FOUND

    act(scene)
