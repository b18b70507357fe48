"""Events of inboxes: delivered, amended, redacted, counted; again if an earlier worker may have died before them."""

from contract.inboxes.conftest import OpenInboxes
from fixtures.inbox_env import DEFAULT

from tidings.app.wiring.inboxes import build_inboxes
from tidings.inboxes.deliverer import NotificationDeliverer
from tidings.inboxes.model import InboxKey, NotificationId, NotificationRow
from tidings.inboxes.ports import InboxEvent, NoInboxNotifier
from tidings.inboxes.store import DynamoInboxRepository

type Event = tuple[str, str, NotificationId | None]


class Recorder(NoInboxNotifier):
    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        self.events.append((inbox_key.user, event.value, notification))

    def take(self) -> list[Event]:
        events, self.events = sorted(self.events, key=str), []
        return events


async def test_every_change_of_an_inbox_is_reported_after_its_commit(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        recorder = Recorder()
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, notifier=recorder)
        sent = await at.send(["anna", "ben"])
        refs = at.chunks.take()
        for ref in refs:
            await at.cases.worker.process(ref)
        assert recorder.take() == [
            ("anna", "delivered", sent.notification),
            ("ben", "delivered", sent.notification),
        ]
        await at.cases.marker.read(at.owner("anna"), [sent.notification])
        assert recorder.take() == [("anna", "counted", None)]
        await at.cases.marker.read(at.owner("anna"), [sent.notification])
        assert recorder.take() == []
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "corrected"})
        await at.work()
        assert recorder.take() == [
            ("anna", "amended", sent.notification),
            ("ben", "amended", sent.notification),
        ]
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        await at.work()
        assert {each for each in recorder.take() if each[1] == "redacted"} == {
            ("anna", "redacted", sent.notification),
            ("ben", "redacted", sent.notification),
        }


async def test_the_next_worker_reports_a_delivery_of_a_worker_that_died(
    open_inboxes: OpenInboxes,
) -> None:
    async with open_inboxes() as at:
        recorder = Recorder()
        sent = await at.send(["anna"])
        row = NotificationRow(id=sent.notification, category=0, delivered_ms=None)
        deliverer = NotificationDeliverer(DynamoInboxRepository(at.client), at.clock, NoInboxNotifier())
        await deliverer.deliver(at.owner("anna"), row)
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, notifier=recorder)
        await at.work()
        assert recorder.take() == [("anna", "delivered", sent.notification)]
        assert await at.total("anna") == 1
