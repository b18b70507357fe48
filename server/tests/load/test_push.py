"""The short form of `just storm-push`, and the mutants that its checker detects."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from fixtures.installation_processes import InstallationProcesses

from load.push import RunSize, run
from load.push_checker import (
    PublishedEvent,
    PushHistory,
    PushRule,
    ReceivedPush,
    RecordedRead,
    SentMessage,
    check_pushes,
)


def history() -> PushHistory:
    """Return a correct history: Anna reads `two` early and `three` late, and a worker is killed after a request."""
    return PushHistory(
        messages=[
            SentMessage(chat, sequence, sequence, sequence + 0.5)
            for chat in ("one", "two", "three")
            for sequence in (2, 3)
        ],
        events=[
            PublishedEvent("anna", chat, sequence, 10.0)
            for chat in ("one", "two", "three")
            for sequence in (2, 3)
        ],
        reads=[RecordedRead("anna", "two", 3, 5.0, 6.0), RecordedRead("anna", "three", 3, 20.0, 21.0)],
        received=[
            ReceivedPush("anna", "one", 2, "alert", 4, "one", 11.0),
            ReceivedPush("anna", "three", 3, "alert", 4, "three", 17.0),
            ReceivedPush("anna", "one", 3, "update", 4, "one", 12.0),
            ReceivedPush("anna", "one", 3, "alert", 4, "one", 16.0),
            ReceivedPush("anna", "three", 3, "withdraw", 2, "three", 22.0),
        ],
        kills=[13.0],
    )


def change(index: int, **fields: object) -> Callable[[PushHistory], PushHistory]:
    """Change one request."""

    def mutate(found: PushHistory) -> PushHistory:
        received = list(found.received)
        received[index] = received[index]._replace(**fields)  # type: ignore[arg-type]  # fields of any type
        return replace(found, received=received)

    return mutate


def drop(*indices: int) -> Callable[[PushHistory], PushHistory]:
    return lambda found: replace(
        found, received=[each for index, each in enumerate(found.received) if index not in indices]
    )


def add(*received: ReceivedPush) -> Callable[[PushHistory], PushHistory]:
    return lambda found: replace(found, received=[*found.received, *received])


AGAIN = ReceivedPush("anna", "one", 3, "alert", 2, "one", 30.0)
EARLY = AGAIN._replace(chat="two", collapse_id="two")

MUTANTS: dict[str, tuple[Callable[[PushHistory], PushHistory], PushRule]] = {
    "the newest alert is lost": (drop(2, 3), PushRule.SHOWN),
    "all alerts of a chat are lost": (drop(0, 2, 3), PushRule.SHOWN),
    "a withdrawal is lost": (drop(4), PushRule.SHOWN),
    "an alert is withdrawn although it is unread": (add(AGAIN._replace(action="withdraw")), PushRule.SHOWN),
    "an older message replaces a newer one": (add(AGAIN._replace(sequence=2)), PushRule.SHOWN),
    "a request is repeated without a kill": (add(AGAIN), PushRule.EXPLAINED),
    "a request is repeated more often than workers are killed": (add(AGAIN), PushRule.BOUNDED),
    "two messages are alerts within a window": (
        lambda found: replace(change(2, action="alert")(found), kills=[13.5]),
        PushRule.ONE_ALERT,
    ),
    "a message that was read is notified": (
        add(EARLY, EARLY._replace(action="withdraw", at=31.0)),
        PushRule.UNREAD,
    ),
    "the badge counts a message that was read": (change(0, badge=5), PushRule.BADGE),
    "the badge lacks a message": (change(4, badge=1), PushRule.BADGE),
    "the collapse id is the message": (change(0, collapse_id="one-2"), PushRule.COLLAPSE),
    "a signature is invalid": (change(0, is_verified=False), PushRule.VERIFIED),
    "a notification has no event": (change(0, sequence=4), PushRule.VERIFIED),
}


def test_a_correct_history_breaks_no_rule() -> None:
    assert check_pushes(history()) == {}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutated_history_breaks_its_rule(name: str) -> None:
    mutate, rule = MUTANTS[name]
    assert rule in check_pushes(mutate(history()))


@pytest.mark.long
@pytest.mark.deadline(300.0)
async def test_devices_show_what_is_unread_through_killed_workers(
    installation: InstallationProcesses,
) -> None:
    size = RunSize(groups=4, members=25, messages=8, groups_of_user=2)
    found = await run(installation, size, within_s=120, kill_every_s=5)
    assert found.broken == {}
    assert found.kills >= 1
    assert found.events == 800
    assert found.requests > 0
