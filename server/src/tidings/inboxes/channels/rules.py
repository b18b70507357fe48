"""Decide whether a channel sends a notification to a user. Pure."""

from tidings.inboxes.channels.model import SkipReason
from tidings.inboxes.model import NotificationContent, NotificationRow, UnreadCounts
from tidings.inboxes.preferences import Exclusion
from tidings.inboxes.rules import is_read


def skip_reason(
    content: NotificationContent | None, row: NotificationRow | None, counts: UnreadCounts, now_ms: int
) -> SkipReason | None:
    """Return why nothing is sent, from the state of the notification. `content` is what the user's row shows."""
    if content is None or content.sealed is None:
        return SkipReason.RECALLED
    if content.expires_ms is not None and content.expires_ms <= now_ms:
        return SkipReason.EXPIRED
    if row is None:
        return SkipReason.NOT_DELIVERED
    if row.redacted_ms is not None:
        return SkipReason.RECALLED
    return _by_user_state(row, counts)


def _by_user_state(row: NotificationRow, counts: UnreadCounts) -> SkipReason | None:
    if row.digest_of is not None:
        return SkipReason.DIGESTED
    if row.excluded is Exclusion.THROTTLED:
        return SkipReason.THROTTLED
    # A user who has switched the inbox off has an excluded row. They still receive it over other channels.
    if row.excluded is None and (is_read(row, counts) or row.archived_ms is not None):
        return SkipReason.READ
    return None
