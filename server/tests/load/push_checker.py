"""Check what devices received: after collapsing, each shows what its user has not read, and nothing else.

All times are of one clock. A user has one device, and reads chats on another one.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from load.violations import Violations

ARRIVAL_S = 2.0
"""How long after the death of its sender a push service may read a request."""
RECORDED_S = 2.0
"""How long after a request its worker may be killed before it has recorded the request."""
WINDOW_S = 10.0
"""The collapse window of a tenant: one alert for each chat and window."""


class SentMessage(NamedTuple):
    """A message of a chat. Chat rows contain it at the latest at `ended`; its offline events are published after that."""

    chat: str
    sequence: int
    began: float
    ended: float


class RecordedRead(NamedTuple):
    """A user reads a chat up to a sequence. The watermark is stored between `began` and `ended`."""

    user: str
    chat: str
    sequence: int
    began: float
    ended: float


class ReceivedPush(NamedTuple):
    """A request that a push service accepted. `action`: alert, update or withdraw."""

    user: str
    chat: str
    sequence: int
    action: str
    badge: int
    collapse_id: str
    at: float
    is_verified: bool = True


class PublishedEvent(NamedTuple):
    """An offline event. `at`: just before it was published."""

    user: str
    chat: str
    sequence: int
    at: float


@dataclass(frozen=True)
class PushHistory:
    """What happened in a run. `received` is in the order of the push services; `kills` are the times of SIGKILL."""

    messages: Sequence[SentMessage] = ()
    events: Sequence[PublishedEvent] = ()
    reads: Sequence[RecordedRead] = ()
    received: Sequence[ReceivedPush] = ()
    kills: Sequence[float] = ()


class PushRule(StrEnum):
    SHOWN = "a device shows the newest message of each chat that its user has not read, and no other"
    UNREAD = "no notification for a message that was read before its offline event"
    EXPLAINED = "a request is repeated only if a worker was killed since"
    BOUNDED = "a request is repeated at most as often as workers were killed"
    ONE_ALERT = "one alert for each chat and window, unless a worker was killed since"
    BADGE = "the badge is the number of unread messages at some time between the event and the request"
    COLLAPSE = "the collapse id is the chat"
    VERIFIED = "every request has a valid signature, and belongs to an offline event"


type Shown = Mapping[tuple[str, str], int]
"""The newest message that the device of a user shows for a chat. 0: withdrawn."""


def shown(received: Sequence[ReceivedPush]) -> Shown:
    """Collapse requests as a device does: the last one with a collapse id replaces the others."""
    return {
        (each.user, each.collapse_id): 0 if each.action == "withdraw" else each.sequence for each in received
    }


def repeated(history: PushHistory) -> list[tuple[ReceivedPush, ReceivedPush]]:
    """Return each notification that was received again, with the request before.

    Withdrawals may be repeated: two workers that notice a read at the same time both withdraw.
    """
    before: dict[tuple[str, str, int], ReceivedPush] = {}
    found = []
    for each in history.received:
        if each.action == "withdraw":
            continue
        former = before.get(request_of(each))
        if former is not None:
            found.append((former, each))
        before[request_of(each)] = each
    return found


def request_of(push: ReceivedPush) -> tuple[str, str, int]:
    """Return what identifies a notification and its repetitions."""
    return push.user, push.chat, push.sequence


def check_pushes(history: PushHistory) -> dict[PushRule, str]:
    """Return the number of violations of each rule, with an example."""
    broken = Violations[PushRule]()
    _check_shown(history, broken)
    _check_requests(history, broken)
    _check_repeated(history, broken)
    _check_alerts(history, broken)
    _check_badges(history, broken)
    return broken.found


def _read_up_to(reads: Sequence[RecordedRead]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = defaultdict(int)
    for each in reads:
        found[each.user, each.chat] = max(found[each.user, each.chat], each.sequence)
    return found


def _check_shown(history: PushHistory, broken: Violations[PushRule]) -> None:
    displays, read = shown(history.received), _read_up_to(history.reads)
    newest: dict[tuple[str, str], int] = defaultdict(int)
    for event in history.events:
        newest[event.user, event.chat] = max(newest[event.user, event.chat], event.sequence)
    for place, sequence in newest.items():
        wanted = 0 if read.get(place, 0) >= sequence else sequence
        if displays.get(place, 0) != wanted and not (wanted == 0 and _was_unrecorded(history, place)):
            broken.add(
                PushRule.SHOWN,
                f"{place} shows {displays.get(place, 0)} instead of {wanted}; {_story(history, place)}",
            )
    for place, sequence in displays.items():
        if sequence and place not in newest:
            broken.add(PushRule.SHOWN, f"{place} shows {sequence}, which has no event")


def _story(history: PushHistory, place: tuple[str, str]) -> str:
    """Return what happened to the device of a user in a chat, in the order of time."""
    steps = [(each.at, f"event {each.sequence}") for each in history.events if each[:2] == place]
    steps += [(each.ended, f"read {each.sequence}") for each in history.reads if each[:2] == place]
    steps += [(each.at, f"{each.action} {each.sequence}") for each in history.received if each[:2] == place]
    steps += [(at, "kill") for at in history.kills]
    return ", ".join(f"{at:.2f} {what}" for at, what in sorted(steps))


def _was_unrecorded(history: PushHistory, place: tuple[str, str]) -> bool:
    """Return whether the worker of the last request may have been killed before it recorded that a device shows it.

    If the user reads the message before the next worker receives the event, no worker has a record of the notification.
    """
    last = max(each.at for each in history.received if (each.user, each.chat) == place)
    return _was_killed(history, last, last + RECORDED_S)


def _check_requests(history: PushHistory, broken: Violations[PushRule]) -> None:
    events = {(each.user, each.chat, each.sequence): each for each in history.events}
    reads = _reads_by_place(history.reads)
    for each in history.received:
        event = events.get((each.user, each.chat, each.sequence))
        if each.collapse_id != each.chat:
            broken.add(PushRule.COLLAPSE, each)
        if not each.is_verified or event is None or each.at < event.at:
            broken.add(PushRule.VERIFIED, each)
        elif each.action != "withdraw":
            for read in reads[each.user, each.chat]:
                if read.sequence >= each.sequence and read.ended <= event.at:
                    broken.add(PushRule.UNREAD, f"{each} after {read}")


def _check_repeated(history: PushHistory, broken: Violations[PushRule]) -> None:
    pairs = repeated(history)
    for former, later in pairs:
        if not _was_killed(history, former.at, later.at):
            broken.add(PushRule.EXPLAINED, f"{later} after {former}; kills: {history.kills}")
    for request, times in Counter(request_of(later) for _, later in pairs).items():
        if times > len(history.kills):
            broken.add(PushRule.BOUNDED, f"{request}: {times} repetitions, {len(history.kills)} kills")


def _check_alerts(history: PushHistory, broken: Violations[PushRule]) -> None:
    alerts: dict[tuple[str, str], list[ReceivedPush]] = defaultdict(list)
    for each in history.received:
        if each.action == "alert":
            alerts[each.user, each.chat].append(each)
    for some in alerts.values():
        for former, later in pairwise(some):
            is_soon = later.at - former.at < WINDOW_S
            if is_soon and not _was_killed(history, former.at, later.at):
                broken.add(PushRule.ONE_ALERT, f"{later} after {former}; kills: {history.kills}")


def _was_killed(history: PushHistory, after: float, before: float) -> bool:
    return any(after - ARRIVAL_S <= kill <= before for kill in history.kills)


def _check_badges(history: PushHistory, broken: Violations[PushRule]) -> None:
    chats: dict[str, list[SentMessage]] = defaultdict(list)
    for message in history.messages:
        chats[message.chat].append(message)
    reads = _reads_by_place(history.reads)
    places: dict[str, set[str]] = defaultdict(set)
    events: dict[tuple[str, str, int], float] = {}
    for event in history.events:
        places[event.user].add(event.chat)
        events[event.user, event.chat, event.sequence] = event.at
    for each in history.received:
        since = events.get((each.user, each.chat, each.sequence))
        if since is None:
            continue
        low = high = 0
        for chat in places[each.user]:
            unread = _unread(chats[chat], reads[each.user, chat], since, each.at)
            low, high = low + unread[0], high + unread[1]
        if not low <= each.badge <= high:
            broken.add(PushRule.BADGE, f"{each} instead of {low} to {high}")


def _unread(
    messages: Sequence[SentMessage], reads: Sequence[RecordedRead], since: float, until: float
) -> tuple[int, int]:
    """Return the lowest and the highest number of unread messages of a chat in a time."""
    surely_read = max((read.sequence for read in reads if read.ended <= since), default=0)
    maybe_read = max((read.sequence for read in reads if read.began <= until), default=0)
    low = sum(message.ended <= since and message.sequence > maybe_read for message in messages)
    high = sum(message.began <= until and message.sequence > surely_read for message in messages)
    return low, high


def _reads_by_place(reads: Sequence[RecordedRead]) -> Mapping[tuple[str, str], list[RecordedRead]]:
    found: dict[tuple[str, str], list[RecordedRead]] = defaultdict(list)
    for each in reads:
        found[each.user, each.chat].append(each)
    return found
