"""Simpler rules that are wrong, each with the shortest schedule that shows it.

The decisions are in docs/adr/0009-complete-the-delivery-rules.md and docs/adr/0025-one-head-per-group.md.
"""

from typing import Any

import pytest
from model.explore import Model, explore
from model.receiving import group_device, lists, relay
from model.receiving.heads import Heads
from model.receiving.lists import Lists
from model.receiving.relay import Relay

NEVER_SUBSCRIBED = """
entry 1 commits, is published
entry 2 commits, is published
the worker takes 1
the worker: rows 1 to 1
the worker: head 1 to 1
the worker: look-up 1 to 1
the device connects
the row is read: 0
the head is read: 1
nothing to subscribe to
the gateway sends, replays and is live
the worker: push 1 to 1
the worker: publish 1 to 1
the worker: checkpoint 1 to 1
the worker: commit 1 to 1
the worker takes 2
the worker: rows 2 to 2
the worker: head 2 to 2
the worker: look-up 2 to 2
the worker: push 2 to 2
the worker: publish 2 to 2
"""

SHOWN_AFTER_LEAVE = """
entry 1 commits, is published
entry 2 commits, is published
entry 3 commits, is published
the worker takes 1
the worker reads the content of 1 to 1
the worker writes rows of 1 to 1
the worker writes the head of 1 to 1
the worker takes 2
the worker reads the content of 2 to 2
the list reads the row
the worker writes rows of 2 to 2
the worker writes the head of 2 to 2
the worker takes 3
the worker reads the content of 3 to 3
the worker writes rows of 3 to 3
the worker writes the head of 3 to 3
the list reads the head
"""

MARKED_UNHANDLED = """
entry 2 commits
entry 3 commits
the sender of 2 dies before it publishes
entry 3 is published
Redis loses the mark
the worker takes 3
the worker handles 3
the worker marks (2, 3)
the relay finds 2 marked
the relay finds 3 marked
the worker commits the offset of 3
"""

GROWTH = group_device.Scenario("gm")
A_LEAVE = lists.Scenario("mlm")
A_WIPE = relay.Scenario(3, handled=1, sender_deaths=1, wipes=1)


@pytest.mark.parametrize(
    ("mended", "as_it_stands", "schedule"),
    [
        (Heads(GROWTH), Heads(GROWTH, group_device.Mutant.SUBSCRIBE_BY_ROW), NEVER_SUBSCRIBED),
        (Lists(A_LEAVE), Lists(A_LEAVE, lists.Mutant.NO_SECOND_ROW), SHOWN_AFTER_LEAVE),
        (Relay(A_WIPE), Relay(A_WIPE, relay.Mutant.ABSENT_VOUCHES), MARKED_UNHANDLED),
    ],
    ids=[
        "large-known-by-rows-alone",
        "list-with-an-old-row",
        "mark-after-a-wipe",
    ],
)
def test_a_simpler_rule_breaks_a_promise(mended: Model[Any], as_it_stands: Model[Any], schedule: str) -> None:
    assert explore(mended).breach is None
    breach = explore(as_it_stands).breach
    assert breach is not None
    assert [_step(line) for line in breach.trace[1:]] == schedule.split("\n")[1:-1]


def _step(text: str) -> str:
    return text.split("\n", maxsplit=1)[0].split(". ", 1)[1]
