"""An unread count explained: equal to what the log says, over random histories, and derivable from its parts."""

import random

import pytest
from fixtures.memory_chat_rows import MemoryChatRowWriter, rows_of
from fixtures.reference_rows import expected
from unit.delivery.scenarios import USERS, pushes_of

from tidings.delivery import rules
from tidings.delivery.model import ChatRow, LogPosition, UnreadExplanation
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.model import EntryKind

CHAT = ChatKey(TenantId("acme"), ChatId("gX"))
HISTORIES = 400


async def faults(seed: int, without: str | None = None) -> int:
    """Return how often the parts, one of them left out, do not give what the log says."""
    chance, found = random.Random(seed), 0
    for _ in range(HISTORIES):
        scenario, truth = pushes_of(chance), MemoryChatRowWriter()
        await rows_of(truth, scenario.chat).handle(CHAT, scenario.log)
        for user, known in truth.rows.items():
            read = chance.randint(0, len(scenario.log))
            mark = LogPosition(read, scenario.log[read - 1].ordinal) if read else None
            row = ChatRow(chat=CHAT.chat, known=known, read=mark)
            explanation = rules.explain_unread(rules.with_head(row, truth.head, user))
            wanted = expected(user, scenario.log, read)
            assert wanted is not None
            assert explanation.unread == wanted.unread
            assert explanation.own is None or scenario.log[explanation.own.sequence - 1].sender == user
            assert explanation.joined is None or scenario.log[explanation.joined.sequence - 1].kind in {
                EntryKind.CREATE,
                EntryKind.JOIN,
            }
            found += _derived(explanation, without) != wanted.unread
    return found


def _derived(explanation: UnreadExplanation, without: str | None) -> int:
    parts = {"read": explanation.read, "own": explanation.own, "joined": explanation.joined}
    if explanation.counts_after is not None and without is None:
        counted = parts[explanation.counts_after]
        assert counted is not None
        assert counted.ordinal == max(mark.ordinal for mark in parts.values() if mark)
    seen = [mark.ordinal for name, mark in parts.items() if mark and name != without]
    return max(0, explanation.head.ordinal - max(seen, default=0))


@pytest.mark.parametrize("seed", range(2))
async def test_the_parts_give_the_count_that_the_log_gives(seed: int) -> None:
    assert len(USERS) > 2
    assert await faults(seed) == 0


@pytest.mark.parametrize("part", ["read", "own", "joined"])
async def test_an_explanation_that_lacks_a_part_is_noticed(part: str) -> None:
    assert await faults(1, without=part) > 0
