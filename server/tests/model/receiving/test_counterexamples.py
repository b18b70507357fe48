"""Sentences of the design that are wrong as written, each with the shortest schedule that shows it.

Most need no fault. The decisions are in docs/adr/0009-complete-the-delivery-rules.md.
"""

from typing import Any

import pytest
from model.explore import Model, explore
from model.receiving import growth, relay
from model.receiving.growth import Growth
from model.receiving.relay import Relay

GROWS_UNSEEN = """
entry 1 commits
entry 2 commits
entry 3 commits
the device connects
the gateway registers
the worker takes 1
the worker: row 1
the worker: look-up 1
the worker: push 1
the worker: commit 1
the worker takes 2
the worker: row 2
the gateway reads (2, False)
the gateway sends what is ahead
the gateway replays its buffer and is live
the worker: look-up 2
the worker: push 2
the worker: large 2
the worker: commit 2
the worker takes 3
the worker: count 3
the worker: publish 3
the worker: commit 3
"""

NEVER_SUBSCRIBED = """
entry 1 commits
entry 2 commits
entry 3 commits
the device connects
the gateway registers
the gateway reads (0, False)
the gateway sends what is ahead
the gateway replays its buffer and is live
the worker takes 1
the worker: row 1
the worker: look-up 1
the worker: push 1
the worker: commit 1
the worker takes 2
the worker: row 2
the worker: look-up 2
the worker: push 2
the worker: commit 2
the worker takes 3
the worker: count 3
the worker: publish 3
the worker: commit 3
"""

JOINS_UNHEARD = """
entry 1 commits
entry 2 commits
entry 3 commits
the device connects
the gateway registers
the gateway reads (0, False)
the gateway sends what is ahead
the gateway replays its buffer and is live
the worker takes 1
the worker: commit 1
the worker takes 2
the worker: commit 2
the worker takes 3
the worker: count 3
the worker: publish 3
the worker: commit 3
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

NO_FAULT = growth.Scenario(3)
A_JOIN = growth.Scenario(3, joins=True)
A_WIPE = relay.Scenario(3, handled=1, sender_deaths=1, wipes=1)


@pytest.mark.parametrize(
    ("mended", "as_it_stands", "schedule"),
    [
        (Growth(NO_FAULT), Growth(NO_FAULT, growth.Mutant.LARGE_BEFORE_MARK), GROWS_UNSEEN),
        (Growth(NO_FAULT), Growth(NO_FAULT, growth.Mutant.NOT_SUBSCRIBED), NEVER_SUBSCRIBED),
        (Growth(A_JOIN), Growth(A_JOIN, growth.Mutant.JOIN_ON_THE_CHANNEL), JOINS_UNHEARD),
        (Relay(A_WIPE), Relay(A_WIPE, relay.Mutant.ABSENT_VOUCHES), MARKED_UNHANDLED),
    ],
    ids=[
        "large-set-before-the-mark",
        "growth-under-a-live-device",
        "join-into-a-large-chat",
        "mark-after-a-wipe",
    ],
)
def test_the_original_design_loses_an_entry(
    mended: Model[Any], as_it_stands: Model[Any], schedule: str
) -> None:
    assert explore(mended).breach is None
    breach = explore(as_it_stands).breach
    assert breach is not None
    assert [_step(line) for line in breach.trace[1:]] == schedule.split("\n")[1:-1]


def _step(text: str) -> str:
    return text.split("\n", maxsplit=1)[0].split(". ", 1)[1]
