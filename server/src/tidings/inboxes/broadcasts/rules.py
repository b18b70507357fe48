"""What entries do to a view, and which entry may follow. Pure."""

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
"""So long what has expired stays in a view: clocks differ."""

type AppendRule = Callable[[BroadcastLogView, int], BroadcastDraft | None]
"""What is to be appended to the log as it is at a time; None: nothing, it is as it should be."""


def apply_entries(view: BroadcastLogView, entries: Iterable[BroadcastEntry], now_ms: int) -> BroadcastLogView:
    """The view after these; they follow it without a gap."""
    showings, redacted, halted = list(view.releases), dict(view.redacted), set(view.halted)
    head, at_ms = view.head, view.at_ms
    for entry in entries:
        head, at_ms = entry.sequence, entry.at_ms
        match entry.kind:
            case BroadcastEntryKind.REDACT:
                redacted.setdefault(entry.notification, entry.at_ms)
            case BroadcastEntryKind.HALT:
                halted.add(entry.notification)
            case BroadcastEntryKind.PUBLISH | BroadcastEntryKind.RAMP:
                showings.append(release_from(entry))
    kept = [each for each in showings if each.expires_ms + _GRACE_MS > now_ms]
    there = {each.notification for each in kept}
    return BroadcastLogView(
        head=head,
        at_ms=at_ms,
        releases=tuple(kept),
        redacted={notification: at for notification, at in redacted.items() if notification in there},
        halted=frozenset(halted & there),
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
    )


def entry_from_draft(
    draft: BroadcastDraft, view: BroadcastLogView, entry_id: str, clock_ms: int
) -> BroadcastEntry:
    """At the place after the head, and never at an earlier time than it."""
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
    )


def released_up_to(view: BroadcastLogView, notification: str) -> int:
    """Up to which part of the users it is shown; 0: to nobody yet."""
    return max((PARTS if each.span is None else each.span.high for each in view.of(notification)), default=0)


def decide_step(draft: BroadcastDraft, up_to: int) -> AppendRule:
    """To so many parts of the users. Once: a try that comes again finds it there."""

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
    """No further step; who has it keeps it."""

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
            f"There are {MAX_LIVE} live broadcasts in this inbox, steps of ramps included.",
            hint="Wait until some expire, or redact some.",
        )


def require_live(view: BroadcastLogView, notification: str, now_ms: int) -> None:
    if not any(each.expires_ms > now_ms for each in view.of(notification)) or notification in view.redacted:
        raise TidingsError(Code.NO_CHANGE, "The broadcast is not live: it has yet to start, or is over.")
