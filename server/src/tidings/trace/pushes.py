"""Explain what happened to the push notifications of a message. Pure."""

from collections.abc import Iterable

from tidings.kernel.clock import format_ms
from tidings.push.model import PushAttempt, PushOutcome, PushResult
from tidings.trace.model import PushAttemptTrace, PushTrace


def trace_pushes(results: Iterable[PushResult]) -> tuple[PushTrace, ...]:
    """Return the notifications of one recipient, by device.

    A decision about all devices is left out if it was made after a notification was sent: then the event was repeated.
    """
    found = sorted(results, key=lambda each: each.device or "")
    sent_ms = min((each.decided_ms for each in found if each.outcome is PushOutcome.SENT), default=None)
    return tuple(
        _push_trace(each)
        for each in found
        if each.device is not None or sent_ms is None or each.decided_ms < sent_ms
    )


def _push_trace(result: PushResult) -> PushTrace:
    return PushTrace(
        device=result.device,
        outcome=result.outcome,
        verdict=push_verdict(result),
        at=format_ms(result.decided_ms),
        provider=result.provider,
        attempts=tuple(map(_attempt_trace, result.attempts)),
    )


def push_verdict(result: PushResult) -> str:
    """Return one sentence for people."""
    name = "" if result.provider is None else f" through {result.provider}"
    match result.outcome:
        case PushOutcome.SENT:
            return f"push sent{name}"
        case PushOutcome.RETRYING:
            return f"push not accepted yet{name}, trying again"
        case PushOutcome.GONE:
            return f"push not sent{name}: the token is invalid and was removed"
        case PushOutcome.FAILED:
            return f"push failed{name}: {result.reason}"
        case PushOutcome.SKIPPED:
            return f"push not sent: {result.reason.partition(': ')[2] or result.reason}"


def _attempt_trace(attempt: PushAttempt) -> PushAttemptTrace:
    return PushAttemptTrace(
        at=format_ms(attempt.at_ms),
        action=attempt.action,
        status=attempt.status or None,
        answer=attempt.answer,
        provider_id=attempt.provider_id,
    )
