"""What is told of inboxes, by whom: given, amended, redacted, counted; again if it was done before and perhaps not told."""

from contract.inboxes.conftest import Act
from fixtures.inbox_env import DEFAULT
from fixtures.notifications import NotificationEnv

from tidings.app.wiring.inboxes import build_inboxes
from tidings.inboxes.chunk_worker import NotificationDeliverer
from tidings.inboxes.model import InboxKey, NotificationId, NotificationRow
from tidings.inboxes.ports import InboxEvent, NoInboxNotifier
from tidings.inboxes.store import DynamoInboxRepository

type Told = tuple[str, str, NotificationId | None]


class Recorder(NoInboxNotifier):
    def __init__(self) -> None:
        self.told: list[Told] = []

    def notify(
        self, inbox_key: InboxKey, event: InboxEvent, notification: NotificationId | None = None, /
    ) -> None:
        self.told.append((inbox_key.user, event.value, notification))

    def take(self) -> list[Told]:
        told, self.told = sorted(self.told, key=str), []
        return told


def test_everything_that_happens_to_an_inbox_is_told_after_it_was_written(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
        heard = Recorder()
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, notifier=heard)
        sent = await at.send(["anna", "ben"])
        refs = at.chunks.take()
        for ref in refs:
            await at.cases.worker.process(ref)
        assert heard.take() == [
            ("anna", "delivered", sent.notification),
            ("ben", "delivered", sent.notification),
        ]
        await at.cases.marker.read(at.owner("anna"), [sent.notification])
        assert heard.take() == [("anna", "counted", None)]
        await at.cases.marker.read(at.owner("anna"), [sent.notification])
        assert heard.take() == []
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notification, {"title": "corrected"})
        await at.work()
        assert heard.take() == [("anna", "amended", sent.notification), ("ben", "amended", sent.notification)]
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notification)
        await at.work()
        assert {each for each in heard.take() if each[1] == "redacted"} == {
            ("anna", "redacted", sent.notification),
            ("ben", "redacted", sent.notification),
        }

    act(scene)


def test_what_a_worker_gave_who_died_before_he_told_is_told_by_the_next(act: Act) -> None:
    async def scene(at: NotificationEnv) -> None:
        heard = Recorder()
        sent = await at.send(["anna"])
        row = NotificationRow(id=sent.notification, category=0, delivered_ms=None)
        deliverer = NotificationDeliverer(DynamoInboxRepository(at.client), at.clock, NoInboxNotifier())
        await deliverer.deliver(at.owner("anna"), row)
        at.cases = build_inboxes(at.client, at.ring, at.clock, at.chunks, notifier=heard)
        await at.work()
        assert heard.take() == [("anna", "delivered", sent.notification)]
        assert await at.total("anna") == 1

    act(scene)
