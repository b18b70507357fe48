"""Decide whether a message notifies its recipient, and when a failed attempt is repeated. Pure functions.

The worker calls `decide` with what it has read after the offline event. So a message that was read, delivered or redacted
meanwhile causes no notification.
"""

import base64
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.push.model import (
    MessageState,
    PushAction,
    PushDecision,
    PushPolicy,
    PushPreferences,
    PushTarget,
    QuietHours,
    ShownAlert,
    SkipReason,
    WebPushTarget,
)

_DAYS = 7
_TOPIC_BYTES = 24
MAX_RETRY_AFTER_S = 3_600.0


class RetryDelays(NamedTuple):
    """How long a failed attempt waits: `first_s` after the first one, later twice as long each time.

    Tasks that wait for more than `late_after_s` are processed every `late_s`.
    """

    first_s: float = 5.0

    @property
    def longest_s(self) -> float:
        return 60 * self.first_s

    @property
    def late_after_s(self) -> float:
        return 6 * self.first_s

    @property
    def late_s(self) -> float:
        return 12 * self.first_s


DEFAULT_DELAYS = RetryDelays()


def check_target(target: PushTarget, network: NetworkPolicy) -> None:
    """Raise `request_invalid` for the endpoint of a browser that is not a URL of `network`."""
    if isinstance(target, WebPushTarget) and (fault := check_url(target.endpoint, network)):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"The endpoint of the subscription is refused: {fault}.",
            hint="Send the `endpoint` of the browser's `PushSubscription` unchanged.",
        )


def decide(
    message: MessageState,
    preferences: PushPreferences,
    shown: ShownAlert | None,
    policy: PushPolicy,
    now_ms: int,
) -> PushDecision:
    """Decide about one message and recipient. The same input gives the same decision.

    At most one message per chat and `policy.collapse_window_s` is an alert; others replace the notification silently.
    A message that is decided again, for another device or after a crash, is an alert if it was one before.
    """
    skipped = (
        _skip_by_state(message, shown, now_ms)
        or _skip_by_age(message.sent_ms, policy, now_ms)
        or _skip_by_choice(message, preferences, now_ms)
    )
    if skipped is not None:
        return skipped
    if shown is None or shown.alerted_sequence == message.sequence:
        return PushDecision(PushAction.ALERT)
    if shown.sequence == message.sequence:
        return PushDecision(PushAction.UPDATE)
    # The clocks of two workers differ: a time slightly in the future is inside the window too.
    is_in_window = abs(now_ms - shown.alerted_ms) < policy.collapse_window_s * 1000
    return PushDecision(PushAction.UPDATE if is_in_window else PushAction.ALERT)


def _skip(reason: SkipReason, detail: str) -> PushDecision:
    return PushDecision(PushAction.NONE, reason, detail)


def _skip_by_state(  # noqa: PLR0911 - one for each reason
    message: MessageState, shown: ShownAlert | None, now_ms: int
) -> PushDecision | None:
    if message.is_suspended:
        return _skip(SkipReason.ACCOUNT_SUSPENDED, "The recipient is suspended or signed out.")
    if not message.is_member:
        return _skip(SkipReason.LEFT_CHAT, "The recipient is not a member of the chat.")
    if message.is_redacted:
        return _skip(SkipReason.REDACTED, "The message was redacted.")
    if message.read_up_to >= message.sequence:
        ago = "" if message.read_ms is None else f" {_duration(now_ms - message.read_ms)} before"
        return _skip(SkipReason.READ, f"The recipient read the message{ago}.")
    if message.delivered_up_to >= message.sequence:
        return _skip(SkipReason.DELIVERED, "A device of the recipient received the message.")
    if shown is not None and shown.sequence > message.sequence:
        return _skip(SkipReason.NEWER_MESSAGE, "The notification shows a newer message of the chat.")
    return None


def _skip_by_age(sent_ms: int, policy: PushPolicy, now_ms: int) -> PushDecision | None:
    age_ms = now_ms - sent_ms
    if age_ms <= policy.max_age_s * 1000:
        return None
    limit = _duration(policy.max_age_s * 1000)
    return _skip(SkipReason.TOO_OLD, f"The message is {_duration(age_ms)} old; the limit is {limit}.")


def _skip_by_choice(message: MessageState, preferences: PushPreferences, now_ms: int) -> PushDecision | None:
    if message.muted_until_ms is not None and message.muted_until_ms > now_ms:
        return _skip(SkipReason.MUTED, "The recipient muted the chat.")
    notify = message.notify or preferences.notify
    if notify == "none":
        return _skip(SkipReason.NOTIFY_NONE, "The recipient turned notifications of the chat off.")
    if notify == "mentions" and not message.is_mentioned:
        return _skip(SkipReason.NOT_MENTIONED, "The recipient wants mentions only.")
    return _skip_by_quiet_hours(preferences, now_ms)


def _skip_by_quiet_hours(preferences: PushPreferences, now_ms: int) -> PushDecision | None:
    quiet = preferences.quiet_hours
    if quiet is not None and is_quiet(quiet, preferences.time_zone, now_ms):
        return _skip(SkipReason.QUIET_HOURS, f"Quiet hours of the recipient ({preferences.time_zone}).")
    return None


def decide_notification(
    *,
    sent_ms: int,
    is_critical: bool,
    is_suspended: bool,
    preferences: PushPreferences,
    policy: PushPolicy,
    now_ms: int,
) -> PushDecision:
    """Decide about a notification of an inbox. Quiet hours do not apply to a critical one."""
    if is_suspended:
        return _skip(SkipReason.ACCOUNT_SUSPENDED, "The recipient is suspended or signed out.")
    too_old = _skip_by_age(sent_ms, policy, now_ms)
    quiet = None if is_critical else _skip_by_quiet_hours(preferences, now_ms)
    return too_old or quiet or PushDecision(PushAction.ALERT)


def is_withdrawn_by(shown: ShownAlert | None, read_up_to: int) -> bool:
    """Return whether a read removes the shown notification: all that it shows is read, and it was not removed before."""
    return shown is not None and shown.withdrawn < shown.sequence <= read_up_to


def keep_newest(
    decisions: Sequence[tuple[int, PushDecision]], shown: ShownAlert | None
) -> list[PushDecision]:
    """Keep one notification of several messages of a chat, given by sequence: that of the newest message.

    It is an alert if any of them is one. An event that is repeated does not count: its message has made a sound before.
    """
    sent = [sequence for sequence, decision in decisions if decision.action is not PushAction.NONE]
    if len(sent) <= 1:
        return [decision for _, decision in decisions]
    newest = max(sent)
    alerted = None if shown is None else shown.alerted_sequence
    is_alert = any(
        decision.action is PushAction.ALERT and sequence != alerted for sequence, decision in decisions
    )
    kept = PushDecision(PushAction.ALERT if is_alert else PushAction.UPDATE)
    older = _skip(SkipReason.NEWER_MESSAGE, f"Message {newest} of the chat is notified instead.")

    def merged(sequence: int, decision: PushDecision) -> PushDecision:
        if decision.action is PushAction.NONE:
            return decision
        return kept if sequence == newest else older

    return [merged(sequence, decision) for sequence, decision in decisions]


def is_quiet(hours: QuietHours, time_zone: str, now_ms: int) -> bool:
    """Return whether a time is in quiet hours, by the clock on the user's wall.

    When clocks are set forward, the skipped hour does not exist; when they are set back, the repeated hour counts both
    times. Hours that end on the next day belong to the weekday on which they start.
    """
    local = datetime.fromtimestamp(now_ms / 1000, _zone(time_zone))
    minute, today = local.hour * 60 + local.minute, local.weekday()
    if hours.start <= hours.end:
        return hours.start <= minute < hours.end and today in hours.days
    if minute >= hours.start:
        return today in hours.days
    return minute < hours.end and (today - 1) % _DAYS in hours.days


def parse_day_time(text: str) -> int:
    """Return the minute of the day of a valid time such as `22:00`."""
    hour, _, minute = text.partition(":")
    return int(hour) * 60 + int(minute)


def day_time(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


@lru_cache(maxsize=600)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return ZoneInfo("UTC")  # A zone that a newer version of the time-zone database removed.


def check_preferences(preferences: PushPreferences) -> PushPreferences:
    """Return the preferences. Raise `request_invalid` for an unknown time zone."""
    try:
        ZoneInfo(preferences.time_zone)
    except (LookupError, ValueError, OSError):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"`{preferences.time_zone}` is not a time zone.",
            hint="Use a name of the IANA database, such as `Europe/Berlin`.",
        ) from None
    return preferences


def retry_wait_s(
    tries: int, retry_after_s: float | None = None, delays: RetryDelays = DEFAULT_DELAYS
) -> float:
    """Return how long to wait after `tries` failed attempts: exponential with jitter, at least what the provider asks."""
    backoff_s: float = min(delays.longest_s, delays.first_s * 2 ** min(tries - 1, 16))
    jittered_s = backoff_s * random.uniform(0.5, 1)  # noqa: S311 - no secret
    return max(jittered_s, min(retry_after_s or 0.0, MAX_RETRY_AFTER_S))


def web_push_topic(collapse_id: str) -> str:
    """Return the `Topic` header: 32 characters of URL-safe base64, which RFC 8030 allows at most."""
    return base64.urlsafe_b64encode(sha256(collapse_id.encode()).digest()[:_TOPIC_BYTES]).decode()


def parse_retry_after_s(value: str | None, now_ms: int) -> float | None:
    """Read a `Retry-After` header: seconds, or an HTTP date. None: absent or not understood."""
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return float(value[:9])
    try:
        at = datetime.strptime(value, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0.0, at.timestamp() - now_ms / 1000)


def _duration(ms: int) -> str:
    """Return a duration for people: `2 s`, `5 min`, `3 h`."""
    seconds = max(0, ms) // 1000
    if seconds < 2 * 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 2 * 3600 else f"{seconds // 3600} h"
