"""Decide which presence watchers see. Pure."""

from typing import NamedTuple

from tidings.ephemeral.model import Presence, PresenceRecord, PresenceStatus


class WatchedPresence(NamedTuple):
    """The presence that watchers see. `absent_since`: the user has no route, and `shown` stays until the grace period ends."""

    shown: Presence | None = None
    absent_since: float | None = None


ARRIVED = WatchedPresence(Presence(PresenceStatus.ONLINE))
"""A device has just connected."""


def next_presence(
    before: WatchedPresence, found: PresenceRecord, now: float, grace_s: float
) -> WatchedPresence:
    """Return the presence to show. A user is shown as offline after `grace_s` without a route: most reconnect sooner."""
    if found.presence.status is not PresenceStatus.OFFLINE:
        return WatchedPresence(found.presence)
    if before.shown is None:
        return _first(found, now, grace_s)
    if before.shown.status is PresenceStatus.OFFLINE:
        return WatchedPresence(found.presence)
    since = now if before.absent_since is None else before.absent_since
    return WatchedPresence(found.presence) if now - since >= grace_s else WatchedPresence(before.shown, since)


def _first(found: PresenceRecord, now: float, grace_s: float) -> WatchedPresence:
    """Return the presence for the first watcher: the same as a longer watcher would see."""
    absent_s = grace_s if found.disconnected_ms is None else found.disconnected_ms / 1000
    return (
        WatchedPresence(found.presence)
        if absent_s >= grace_s
        else WatchedPresence(Presence(PresenceStatus.ONLINE), now - absent_s)
    )


def has_changed(before: WatchedPresence, after: WatchedPresence) -> bool:
    """Report whether the status changed. A new `seen_ms` alone is no change."""
    return after.shown is not None and (before.shown is None or before.shown.status is not after.shown.status)
