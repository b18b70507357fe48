"""Apply entries to a log view, and decide which entry may follow. Pure."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from tidings.inboxes.broadcasts.model import (
    PARTS,
    BroadcastDraft,
    BroadcastEntry,
    BroadcastEntryKind,
    BroadcastLogView,
    BroadcastRelease,
    BucketRange,
    RolloutStatus,
)
from tidings.kernel.errors import Code, TidingsError

MAX_LIVE = 1_000
_GRACE_MS = 3_600_000
"""How long an expired release stays in a view, because clocks differ."""

type AppendRule = Callable[[BroadcastLogView, int], BroadcastDraft | None]
"""Returns the entry to append to a view at a time, or None if nothing is to be done."""


def apply_entries(view: BroadcastLogView, entries: Iterable[BroadcastEntry], now_ms: int) -> BroadcastLogView:
    """Return the view after these entries, which follow it without a gap."""
    releases, redacted, halted = list(view.releases), dict(view.redacted), set(view.halted)
    head, at_ms = view.head, view.at_ms
    for entry in entries:
        head, at_ms = entry.sequence, entry.at_ms
        match entry.kind:
            case BroadcastEntryKind.REDACT:
                redacted.setdefault(entry.notification, entry.at_ms)
            case BroadcastEntryKind.HALT:
                halted.add(entry.notification)
            case BroadcastEntryKind.PUBLISH | BroadcastEntryKind.RAMP:
                releases.append(release_from(entry))
    live = [each for each in releases if each.expires_ms + _GRACE_MS > now_ms]
    notifications = {each.notification for each in live}
    return BroadcastLogView(
        head=head,
        at_ms=at_ms,
        releases=tuple(live),
        redacted={key: at_ms for key, at_ms in redacted.items() if key in notifications},
        halted=frozenset(halted & notifications),
    )


def release_from(entry: BroadcastEntry) -> BroadcastRelease:
    return BroadcastRelease(
        sequence=entry.sequence,
        notification=entry.notification,
        category=entry.category,
        at_ms=entry.at_ms,
        expires_ms=entry.expires_ms,
        segment=entry.segment,
        span=entry.span,
        is_tracked=entry.is_tracked,
        is_critical=entry.is_critical,
    )


def entry_from_draft(
    draft: BroadcastDraft, view: BroadcastLogView, entry_id: str, clock_ms: int
) -> BroadcastEntry:
    """Return the entry at head + 1, at a time that is not before the head's."""
    return BroadcastEntry(
        sequence=view.head + 1,
        kind=draft.kind,
        id=entry_id,
        notification=draft.notification,
        at_ms=max(clock_ms, view.at_ms),
        category=draft.category,
        segment=draft.segment,
        span=draft.span,
        expires_ms=draft.expires_ms,
        is_tracked=draft.is_tracked,
        is_critical=draft.is_critical,
    )


def released_up_to(view: BroadcastLogView, notification: str) -> int:
    """Return the number of parts of the users that have it. 0: not released."""
    return max((PARTS if each.span is None else each.span.high for each in view.of(notification)), default=0)


def decide_step(draft: BroadcastDraft, up_to: int) -> AppendRule:
    """Release to the first `up_to` parts of the users. Idempotent."""

    def decide(view: BroadcastLogView, now_ms: int) -> BroadcastDraft | None:
        before = released_up_to(view, draft.notification)
        is_over = (
            draft.notification in view.redacted
            or draft.notification in view.halted
            or draft.expires_ms <= now_ms
        )
        if up_to <= before or is_over:
            return None
        check_live_limit(view, now_ms)
        span = None if (before, up_to) == (0, PARTS) else BucketRange(before, up_to)
        return replace(
            draft, kind=BroadcastEntryKind.RAMP if before else BroadcastEntryKind.PUBLISH, span=span
        )

    return decide


def rollout_status(view: BroadcastLogView, notification: str) -> RolloutStatus:
    first = next(iter(view.of(notification)), None)
    return RolloutStatus(
        parts=released_up_to(view, notification),
        sequence=first.sequence if first else None,
        since_ms=first.at_ms if first else None,
        is_halted=notification in view.halted,
        redacted_ms=view.redacted.get(notification),
        head=view.head,
    )


def decide_halt(notification: str) -> AppendRule:
    """Stop further steps. Users who have it keep it."""

    def decide(view: BroadcastLogView, now_ms: int) -> BroadcastDraft | None:
        require_live(view, notification, now_ms)
        return (
            None
            if notification in view.halted
            else BroadcastDraft(kind=BroadcastEntryKind.HALT, notification=notification)
        )

    return decide


def decide_redact(notification: str) -> AppendRule:
    def decide(view: BroadcastLogView, _: int) -> BroadcastDraft | None:
        is_needed = bool(view.of(notification)) and notification not in view.redacted
        return (
            BroadcastDraft(kind=BroadcastEntryKind.REDACT, notification=notification) if is_needed else None
        )

    return decide


def check_live_limit(view: BroadcastLogView, now_ms: int) -> None:
    live = sum(each.expires_ms > now_ms and each.notification not in view.redacted for each in view.releases)
    if live >= MAX_LIVE:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"This inbox has {MAX_LIVE} live broadcasts, including rollout steps.",
            hint="Wait until some expire, or redact some.",
        )


def require_live(view: BroadcastLogView, notification: str, now_ms: int) -> None:
    if not any(each.expires_ms > now_ms for each in view.of(notification)) or notification in view.redacted:
        raise TidingsError(
            Code.NO_CHANGE, "The broadcast is not live: it has not started, has expired or was redacted."
        )
