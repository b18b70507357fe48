"""How receipts merge, forward only; and what a watcher is shown of somebody, with the hold-down. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidings.kernel.ids import UserId
from tidings.signs.model import Found, Got, Presence, Status


def further(one: Got, other: Got) -> Got:
    """Both of one member: of each part the furthest, in whatever order they came."""
    return Got(
        one.user,
        max(one.delivered, other.delivered),
        max(one.read, other.read),
        max(one.since, other.since),
    )


def merge(known: dict[UserId, Got], heard: Iterable[Got]) -> None:
    for got in heard:
        before = known.get(got.user)
        known[got.user] = got if before is None else further(before, got)


def raised(whole: Iterable[Got], heard: Mapping[UserId, Got]) -> tuple[Got, ...]:
    """A whole state, with what was heard while it was read. Who is not in it is not told of."""
    return tuple(further(got, heard[got.user]) if got.user in heard else got for got in whole)


class Watched(NamedTuple):
    """What is shown of somebody. `absent_since`: he was not found, and is shown as before until the hold-down is over."""

    shown: Presence | None = None
    absent_since: float | None = None


ARRIVED = Watched(Presence(Status.ONLINE))
"""A device that has just come is on."""


def looked(before: Watched, found: Found, now: float, hold_s: float) -> Watched:
    """Nobody is shown as offline before he has been gone for `hold_s`: most who go are back in a moment."""
    if found.presence.status is not Status.OFFLINE:
        return Watched(found.presence)
    if before.shown is None:
        return _first(found, now, hold_s)
    if before.shown.status is Status.OFFLINE:
        return Watched(found.presence)
    since = now if before.absent_since is None else before.absent_since
    return Watched(found.presence) if now - since >= hold_s else Watched(before.shown, since)


def _first(found: Found, now: float, hold_s: float) -> Watched:
    """What those see who have looked for longer. Of whom nothing is known, nothing can be waited for."""
    gone_s = hold_s if found.gone_ms is None else found.gone_ms / 1000
    return Watched(found.presence) if gone_s >= hold_s else Watched(Presence(Status.ONLINE), now - gone_s)


def is_news(before: Watched, after: Watched) -> bool:
    """When he was last seen is told with the news that he went, not again."""
    return after.shown is not None and (before.shown is None or before.shown.status is not after.shown.status)
