"""How receipts merge, forward only; and what a watcher is shown of somebody, with the hold-down. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidings.ephemeral.model import MemberReceipt, Presence, PresenceRecord, PresenceStatus
from tidings.kernel.ids import UserId


def newest(one: MemberReceipt, other: MemberReceipt) -> MemberReceipt:
    """Both of one member: of each part the furthest, in whatever order they came."""
    return MemberReceipt(
        one.user,
        max(one.delivered, other.delivered),
        max(one.read, other.read),
        max(one.since, other.since),
    )


def merge(known: dict[UserId, MemberReceipt], heard: Iterable[MemberReceipt]) -> None:
    for got in heard:
        before = known.get(got.user)
        known[got.user] = got if before is None else newest(before, got)


def apply_updates(
    whole: Iterable[MemberReceipt], heard: Mapping[UserId, MemberReceipt]
) -> tuple[MemberReceipt, ...]:
    """A whole state, with what was heard while it was read. Who is not in it is not told of."""
    return tuple(newest(got, heard[got.user]) if got.user in heard else got for got in whole)


class WatchedPresence(NamedTuple):
    """What is shown of somebody. `absent_since`: he was not found, and is shown as before until the hold-down is over."""

    shown: Presence | None = None
    absent_since: float | None = None


ARRIVED = WatchedPresence(Presence(PresenceStatus.ONLINE))
"""A device that has just come is on."""


def next_presence(
    before: WatchedPresence, found: PresenceRecord, now: float, hold_s: float
) -> WatchedPresence:
    """Nobody is shown as offline before he has been gone for `hold_s`: most who go are back in a moment."""
    if found.presence.status is not PresenceStatus.OFFLINE:
        return WatchedPresence(found.presence)
    if before.shown is None:
        return _first(found, now, hold_s)
    if before.shown.status is PresenceStatus.OFFLINE:
        return WatchedPresence(found.presence)
    since = now if before.absent_since is None else before.absent_since
    return WatchedPresence(found.presence) if now - since >= hold_s else WatchedPresence(before.shown, since)


def _first(found: PresenceRecord, now: float, hold_s: float) -> WatchedPresence:
    """What those see who have looked for longer. Of whom nothing is known, nothing can be waited for."""
    gone_s = hold_s if found.disconnected_ms is None else found.disconnected_ms / 1000
    return (
        WatchedPresence(found.presence)
        if gone_s >= hold_s
        else WatchedPresence(Presence(PresenceStatus.ONLINE), now - gone_s)
    )


def has_changed(before: WatchedPresence, after: WatchedPresence) -> bool:
    """When he was last seen is told with the news that he went, not again."""
    return after.shown is not None and (before.shown is None or before.shown.status is not after.shown.status)
