"""The steps of a message in order, from its commit to each recipient, with the reason of every stop."""

from enum import StrEnum

from msgspec import Struct

from tidings.trace.model import RecipientState, RecipientTrace, Trace


class StepKind(StrEnum):
    COMMITTED = "committed"
    PUBLISHED = "published"
    HANDLED = "handled"
    DELIVERED = "delivered"
    READ = "read"
    WAITING = "waiting"
    """The recipient is offline: the message is delivered when a device connects."""
    STOPPED = "stopped"
    """The message does not advance, or it is unknown whether it does."""


class TimelineStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`text` says what happened, or why nothing did. `at` is left out if the time is unknown."""

    step: StepKind
    text: str
    at: str | None = None
    user: str | None = None
    devices: tuple[str, ...] = ()


_STEPS = {
    RecipientState.READ: StepKind.READ,
    RecipientState.DELIVERED: StepKind.DELIVERED,
    RecipientState.WAITING: StepKind.WAITING,
    RecipientState.OFFLINE: StepKind.WAITING,
}
_NOT_RECIPIENTS = frozenset({RecipientState.SENDER, RecipientState.NOT_RECIPIENT})


def timeline_of(trace: Trace) -> tuple[TimelineStep, ...]:
    published, handled = trace.published, trace.handled
    is_published = published.at is not None or handled.is_handled
    return (
        TimelineStep(
            step=StepKind.COMMITTED,
            at=trace.committed_at,
            text=f"Committed as a {trace.kind} of {trace.sender}.",
        ),
        TimelineStep(
            step=StepKind.PUBLISHED if is_published else StepKind.STOPPED,
            at=published.at,
            text=published.verdict,
        ),
        TimelineStep(step=StepKind.HANDLED if handled.is_handled else StepKind.STOPPED, text=handled.verdict),
        *(_recipient_step(each) for each in trace.recipients if each.state not in _NOT_RECIPIENTS),
    )


def _recipient_step(each: RecipientTrace) -> TimelineStep:
    step = _STEPS.get(each.state, StepKind.STOPPED)
    moved = each.watermark_moved_at if step in {StepKind.READ, StepKind.DELIVERED} else each.waiting_since
    text = ". ".join((each.verdict, *each.notes))
    return TimelineStep(
        step=step, at=moved, user=each.user, text=text, devices=tuple(device.id for device in each.devices)
    )
