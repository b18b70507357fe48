"""The short form of `just storm-webhooks`, and the mutants that its checker detects."""

from collections.abc import Callable
from functools import partial

import pytest
from fixtures.installation_processes import InstallationProcesses

from load.webhook_checker import ReceivedEvent, WebhookRule, check_events
from load.webhooks import ENDPOINTS, run

HEADS = {"one": 5, "two": 3}
type History = list[ReceivedEvent]


def history() -> History:
    """Return a correct history, with an event that was sent twice."""
    events = [
        ReceivedEvent(endpoint, f"{chat}-{sequence}", chat, sequence)
        for endpoint in ENDPOINTS
        for chat, head in HEADS.items()
        for sequence in range(1, head + 1)
    ]
    return [*events, events[3]]


def lose(found: History) -> History:
    return [each for each in found if (each.endpoint, each.chat, each.sequence) != ("slow", "one", 5)]


def lose_in_between(found: History) -> History:
    return [each for each in found if (each.endpoint, each.chat, each.sequence) != ("slow", "one", 2)]


def swap(found: History) -> History:
    return [found[0], found[2], found[1], *found[3:]]


def change_id_of_repeated(found: History) -> History:
    return [*found[:-1], found[-1]._replace(id="another")]


def reuse_id(found: History) -> History:
    return [found[0], found[1]._replace(id=found[0].id), *found[2:]]


def invent(found: History) -> History:
    return [*found, ReceivedEvent("fast", "one-6", "one", 6)]


def forge(found: History) -> History:
    return [*found[:-1], found[-1]._replace(is_signed=False)]


MUTANTS: dict[Callable[[History], History], WebhookRule] = {
    lose: WebhookRule.DELIVERED,
    lose_in_between: WebhookRule.DELIVERED,
    swap: WebhookRule.ORDERED,
    change_id_of_repeated: WebhookRule.SAME_ID,
    reuse_id: WebhookRule.SAME_ID,
    invent: WebhookRule.COMMITTED,
    forge: WebhookRule.SIGNED,
}
check = partial(check_events, HEADS, ENDPOINTS)


def test_a_correct_history_breaks_no_rule() -> None:
    assert check(history()) == {}


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_mutated_history_breaks_its_rule(mutate: Callable[[History], History]) -> None:
    assert MUTANTS[mutate] in check(mutate(history()))


@pytest.mark.long
@pytest.mark.deadline(300.0)
async def test_events_reach_slow_failing_and_interrupted_endpoints_through_killed_workers(
    installation: InstallationProcesses,
) -> None:
    found = await run(installation, events=2_000, chats=20, within_s=200)
    assert found.broken == {}
    assert found.kills >= 1
    assert found.refused > 0
