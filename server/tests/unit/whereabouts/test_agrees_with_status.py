"""`tidings trace` and the API's message status answer the same, for every message of many random histories."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from fixtures.memory_rows import MemoryChat, MemoryTruth, rows_of
from unit.delivery.stories import STEPS, USERS, Story

from tidings.delivery.model import Mark, Raised, Row, Tick
from tidings.delivery.status import Statuses
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry, Kind
from tidings.whereabouts import rules
from tidings.whereabouts.model import Evidence, Moved, Outcome, Person, State, Topic

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))
HISTORIES = 150
HAVE_IT = {State.READ, State.DELIVERED}


@dataclass
class History:
    """Sends, replies, leaves and joins of several members; some of the entries are not delivered to rows yet."""

    story: Story = field(default_factory=Story)
    truth: MemoryTruth = field(default_factory=MemoryTruth)
    delivered: dict[UserId, int] = field(default_factory=dict)
    read: dict[UserId, int] = field(default_factory=dict)

    @classmethod
    async def by(cls, chance: random.Random) -> "History":
        history = cls()
        story = history.story
        story.inside = set(USERS[:2])
        story.add(Kind.CREATE, USERS[0], users=USERS[:2], member_count=2)
        for _ in range(chance.randint(3, 20)):
            story.go_on(chance.choice(STEPS), chance.choice)
            for marks in (history.delivered, history.read):
                if chance.random() < 0.3:
                    user = chance.choice(USERS)
                    marks[user] = max(marks.get(user, 0), chance.randint(1, len(story.log)))
        handled = story.log[: chance.choice((len(story.log), chance.randint(1, len(story.log))))]
        await rows_of(history.truth, history.chat).handle(CHAT, handled)
        return history

    @property
    def chat(self) -> MemoryChat:
        return self.story.chat

    def row(self, user: UserId) -> Row | None:
        known = self.truth.rows.get(user)
        if known is None:
            return None
        return Row(
            chat=CHAT.chat,
            known=known,
            delivered=self._mark(self.delivered.get(user)),
            read=self._mark(self.read.get(user)),
        )

    def _mark(self, sequence: int | None) -> Mark | None:
        return None if sequence is None else Mark(sequence, self.story.log[sequence - 1].ordinal)

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, Row]:
        assert chat == CHAT
        return {user: row for user in users if (row := self.row(user)) is not None}

    async def raise_read(self, chat: ChatKey, user: UserId, mark: Mark) -> Raised:
        raise NotImplementedError

    raise_delivered = raise_read


async def _evidence(history: History, message: Entry) -> Evidence:
    members = await history.chat.everyone(CHAT)
    people = [
        Person(user=each.user, membership=each, moved=_moved(history.row(each.user))) for each in members
    ]
    return Evidence(
        chat=CHAT,
        entry=message,
        now_ms=10**9,
        people=tuple(people),
        mark=len(history.story.log),
        topic=Topic(partition=0, end=1, committed=1),
    )


def _moved(row: Row | None) -> Moved | None:
    return None if row is None else Moved(row, 1)


@pytest.mark.parametrize("seed", range(4))
async def test_both_say_the_same_of_every_message_and_member(seed: int) -> None:
    chance = random.Random(seed)
    implied = 0
    for _ in range(HISTORIES):
        history = await History.by(chance)
        statuses = Statuses(history.chat, history)
        for message in [entry for entry in history.story.now if entry.kind is Kind.MESSAGE]:
            [told] = await statuses.of(CHAT, message.sender, [message])
            trace = rules.trace(await _evidence(history, message))
            states = {each.user: each.state for each in trace.recipients}
            assert sorted(u for u, s in states.items() if s is State.READ) == list(told.read_by)
            assert sorted(u for u, s in states.items() if s in HAVE_IT) == list(told.delivered_to)
            if told.tick is not Tick.SENT and len(told.delivered_to) == _addressed(states):
                assert trace.outcome is Outcome.ARRIVED
            implied += sum("implied" in each.verdict for each in trace.recipients)
    assert implied > HISTORIES // 4, "the histories hold too few replies to show the rule"


def _addressed(states: Mapping[UserId, State]) -> int:
    return sum(state not in {State.WROTE, State.NOT_FOR} for state in states.values())
