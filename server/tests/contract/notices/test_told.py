"""What is told of inboxes, by whom: given, amended, redacted, counted; again if it was done before and perhaps not told."""

from contract.notices.conftest import Act
from fixtures.inboxes import DEFAULT
from fixtures.notices import Notices

from tidings.notices.give import Give
from tidings.notices.model import NoticeId, Owner, Row
from tidings.notices.ports import News, Nobody
from tidings.notices.store import DynamoShelf
from tidings.run.inboxes import join_notices

type Told = tuple[str, str, NoticeId | None]


class Recorder:
    def __init__(self) -> None:
        self.told: list[Told] = []

    def tell(self, owner: Owner, news: News, notice: NoticeId | None = None, /) -> None:
        self.told.append((owner.user, news.value, notice))

    def take(self) -> list[Told]:
        told, self.told = sorted(self.told, key=str), []
        return told


def test_everything_that_happens_to_an_inbox_is_told_after_it_was_written(act: Act) -> None:
    async def scene(at: Notices) -> None:
        heard = Recorder()
        at.cases = join_notices(at.client, at.ring, at.clock, at.chunks, live=heard)
        sent = await at.send(["anna", "ben"])
        refs = at.chunks.take()
        for ref in refs:
            await at.cases.work(ref)
        assert heard.take() == [("anna", "given", sent.notice), ("ben", "given", sent.notice)]
        await at.cases.mark.read(at.owner("anna"), [sent.notice])
        assert heard.take() == [("anna", "counted", None)]
        await at.cases.mark.read(at.owner("anna"), [sent.notice])
        assert heard.take() == []
        await at.cases.recall.amend(at.tenant, DEFAULT, sent.notice, {"title": "corrected"})
        await at.work()
        assert heard.take() == [("anna", "amended", sent.notice), ("ben", "amended", sent.notice)]
        await at.cases.recall.redact(at.tenant, DEFAULT, sent.notice)
        await at.work()
        assert {each for each in heard.take() if each[1] == "redacted"} == {
            ("anna", "redacted", sent.notice),
            ("ben", "redacted", sent.notice),
        }

    act(scene)


def test_what_a_worker_gave_who_died_before_he_told_is_told_by_the_next(act: Act) -> None:
    async def scene(at: Notices) -> None:
        heard = Recorder()
        sent = await at.send(["anna"])
        row = Row(id=sent.notice, category=0, delivered_ms=None)
        await Give(DynamoShelf(at.client), at.clock, Nobody())(at.owner("anna"), row)
        at.cases = join_notices(at.client, at.ring, at.clock, at.chunks, live=heard)
        await at.work()
        assert heard.take() == [("anna", "given", sent.notice)]
        assert await at.total("anna") == 1

    act(scene)
