"""What entries do to a view, and which entry may follow. Pure."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from tidings.broadcasts.model import PARTS, Draft, Entry, Kind, Reached, Showing, Span, View
from tidings.kernel.errors import Code, TidingsError

MAX_LIVE = 1_000
_GRACE_MS = 3_600_000
"""So long what has expired stays in a view: clocks differ."""

type Decide = Callable[[View, int], Draft | None]
"""What is to be appended to the log as it is at a time; None: nothing, it is as it should be."""


def moved(view: View, entries: Iterable[Entry], now_ms: int) -> View:
    """The view after these; they follow it without a gap."""
    showings, redacted, halted = list(view.showings), dict(view.redacted), set(view.halted)
    head, at_ms = view.head, view.at_ms
    for entry in entries:
        head, at_ms = entry.sequence, entry.at_ms
        match entry.kind:
            case Kind.REDACT:
                redacted.setdefault(entry.notice, entry.at_ms)
            case Kind.HALT:
                halted.add(entry.notice)
            case Kind.PUBLISH | Kind.RAMP:
                showings.append(showing_of(entry))
    kept = [each for each in showings if each.expires_ms + _GRACE_MS > now_ms]
    there = {each.notice for each in kept}
    return View(
        head=head,
        at_ms=at_ms,
        showings=tuple(kept),
        redacted={notice: at for notice, at in redacted.items() if notice in there},
        halted=frozenset(halted & there),
    )


def showing_of(entry: Entry) -> Showing:
    return Showing(
        sequence=entry.sequence,
        notice=entry.notice,
        category=entry.category,
        at_ms=entry.at_ms,
        expires_ms=entry.expires_ms,
        segment=entry.segment,
        span=entry.span,
        is_tracked=entry.is_tracked,
    )


def entry_of(draft: Draft, view: View, entry_id: str, clock_ms: int) -> Entry:
    """At the place after the head, and never at an earlier time than it."""
    return Entry(
        sequence=view.head + 1,
        kind=draft.kind,
        id=entry_id,
        notice=draft.notice,
        at_ms=max(clock_ms, view.at_ms),
        category=draft.category,
        segment=draft.segment,
        span=draft.span,
        expires_ms=draft.expires_ms,
        is_tracked=draft.is_tracked,
    )


def reached_part(view: View, notice: str) -> int:
    """Up to which part of the users it is shown; 0: to nobody yet."""
    return max((PARTS if each.span is None else each.span.high for each in view.of(notice)), default=0)


def step(draft: Draft, up_to: int) -> Decide:
    """To so many parts of the users. Once: a try that comes again finds it there."""

    def decide(view: View, now_ms: int) -> Draft | None:
        before = reached_part(view, draft.notice)
        is_over = draft.notice in view.redacted or draft.notice in view.halted or draft.expires_ms <= now_ms
        if up_to <= before or is_over:
            return None
        refuse_too_many(view, now_ms)
        span = None if (before, up_to) == (0, PARTS) else Span(before, up_to)
        return replace(draft, kind=Kind.RAMP if before else Kind.PUBLISH, span=span)

    return decide


def reached(view: View, notice: str) -> Reached:
    first = next(iter(view.of(notice)), None)
    return Reached(
        parts=reached_part(view, notice),
        sequence=first.sequence if first else None,
        since_ms=first.at_ms if first else None,
        is_halted=notice in view.halted,
        redacted_ms=view.redacted.get(notice),
        head=view.head,
    )


def halt(notice: str) -> Decide:
    """No further step; who has it keeps it."""

    def decide(view: View, now_ms: int) -> Draft | None:
        refuse_gone(view, notice, now_ms)
        return None if notice in view.halted else Draft(kind=Kind.HALT, notice=notice)

    return decide


def redact(notice: str) -> Decide:
    def decide(view: View, _: int) -> Draft | None:
        is_needed = bool(view.of(notice)) and notice not in view.redacted
        return Draft(kind=Kind.REDACT, notice=notice) if is_needed else None

    return decide


def refuse_too_many(view: View, now_ms: int) -> None:
    live = sum(each.expires_ms > now_ms and each.notice not in view.redacted for each in view.showings)
    if live >= MAX_LIVE:
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"There are {MAX_LIVE} live broadcasts in this inbox, steps of ramps included.",
            hint="Wait until some expire, or redact some.",
        )


def refuse_gone(view: View, notice: str, now_ms: int) -> None:
    if not any(each.expires_ms > now_ms for each in view.of(notice)) or notice in view.redacted:
        raise TidingsError(
            Code.NOTHING_TO_CHANGE, "The broadcast is not live: it has yet to start, or is over."
        )
