"""`tidings trace` and the API's message status answer the same, for every message of many random histories."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from fixtures.memory_chat_rows import MemoryChat, MemoryChatRowWriter, rows_of
from unit.delivery.scenarios import STEPS, USERS, EntryScenario

from tidings.delivery.model import ChatFlags, ChatRow, DeliveryStatus, LogPosition, WatermarkUpdate
from tidings.delivery.watermarks import MessageStatusReader
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.messages.model import Entry, EntryKind
from tidings.trace import rules
from tidings.trace.model import (
    Evidence,
    PartitionState,
    RecipientState,
    RowWithTimes,
    TraceOutcome,
    UserEvidence,
)

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))
HISTORIES = 150
HAVE_IT = {RecipientState.READ, RecipientState.DELIVERED}


@dataclass
class History:
    """Sends, replies, leaves and joins of several members; some of the entries are not delivered to rows yet."""

    scenario: EntryScenario = field(default_factory=EntryScenario)
    truth: MemoryChatRowWriter = field(default_factory=MemoryChatRowWriter)
    delivered: dict[UserId, int] = field(default_factory=dict)
    read: dict[UserId, int] = field(default_factory=dict)

    @classmethod
    async def by(cls, chance: random.Random) -> "History":
        history = cls()
        scenario = history.scenario
        scenario.inside = set(USERS[:2])
        scenario.add(EntryKind.CREATE, USERS[0], users=USERS[:2], member_count=2)
        for _ in range(chance.randint(3, 20)):
            scenario.go_on(chance.choice(STEPS), chance.choice)
            for marks in (history.delivered, history.read):
                if chance.random() < 0.3:
                    user = chance.choice(USERS)
                    marks[user] = max(marks.get(user, 0), chance.randint(1, len(scenario.log)))
        handled = scenario.log[: chance.choice((len(scenario.log), chance.randint(1, len(scenario.log))))]
        await rows_of(history.truth, history.chat).handle(CHAT, handled)
        return history

    @property
    def chat(self) -> MemoryChat:
        return self.scenario.chat

    def row(self, user: UserId) -> ChatRow | None:
        known = self.truth.rows.get(user)
        if known is None:
            return None
        return ChatRow(
            chat=CHAT.chat,
            known=known,
            delivered=self._mark(self.delivered.get(user)),
            read=self._mark(self.read.get(user)),
        )

    def _mark(self, sequence: int | None) -> LogPosition | None:
        return None if sequence is None else LogPosition(sequence, self.scenario.log[sequence - 1].ordinal)

    async def rows_of(self, chat: ChatKey, users: Sequence[UserId]) -> Mapping[UserId, ChatRow]:
        assert chat == CHAT
        return {user: row for user in users if (row := self.row(user)) is not None}

    async def raise_read(self, chat: ChatKey, user: UserId, position: LogPosition) -> WatermarkUpdate:
        raise NotImplementedError

    raise_delivered = raise_read

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> ChatRow:
        raise NotImplementedError


async def _evidence(history: History, message: Entry) -> Evidence:
    members = await history.chat.everyone(CHAT)
    people = [
        UserEvidence(user=each.user, membership=each, moved=_moved(history.row(each.user)))
        for each in members
    ]
    return Evidence(
        chat=CHAT,
        entry=message,
        now_ms=10**9,
        users=tuple(people),
        mark=len(history.scenario.log),
        topic=PartitionState(partition=0, end=1, committed=1),
    )


def _moved(row: ChatRow | None) -> RowWithTimes | None:
    return None if row is None else RowWithTimes(row, 1)


@pytest.mark.parametrize("seed", range(4))
async def test_trace_and_delivery_status_agree_for_every_message_and_member(seed: int) -> None:
    chance = random.Random(seed)
    implied = 0
    for _ in range(HISTORIES):
        history = await History.by(chance)
        statuses = MessageStatusReader(history.chat, history)
        for message in [entry for entry in history.scenario.now if entry.kind is EntryKind.MESSAGE]:
            [status] = await statuses.of(CHAT, message.sender, [message])
            trace = rules.build_trace(await _evidence(history, message))
            states = {each.user: each.state for each in trace.recipients}
            assert sorted(u for u, s in states.items() if s is RecipientState.READ) == list(status.read_by)
            assert sorted(u for u, s in states.items() if s in HAVE_IT) == list(status.delivered_to)
            if status.status is not DeliveryStatus.SENT and len(status.delivered_to) == _addressed(states):
                assert trace.outcome is TraceOutcome.ARRIVED
            implied += sum("implied" in each.verdict for each in trace.recipients)
    assert implied > HISTORIES // 4, "the histories hold too few replies to show the rule"


def _addressed(states: Mapping[UserId, RecipientState]) -> int:
    return sum(
        state not in {RecipientState.SENDER, RecipientState.NOT_RECIPIENT} for state in states.values()
    )
