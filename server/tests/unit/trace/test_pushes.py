"""The explanation of push notifications in a trace."""

import pytest

from tidings.kernel.ids import ChatId, DeviceId, TenantId, UserId
from tidings.push.model import PushAction, PushAttempt, PushKind, PushOutcome, PushResult
from tidings.trace.pushes import trace_pushes

NOW = 1_790_000_000_000


def result(
    outcome: PushOutcome, device: str | None = "phone", at_ms: int = NOW, reason: str = ""
) -> PushResult:
    return PushResult(
        tenant=TenantId("acme"),
        chat=ChatId("c1"),
        sequence=7,
        user=UserId("ben"),
        device=None if device is None else DeviceId(device),
        outcome=outcome,
        decided_ms=at_ms,
        reason=reason,
        provider=None if device is None else PushKind.APNS,
        attempts=()
        if device is None
        else (
            PushAttempt(at_ms=at_ms, action=PushAction.ALERT, status=0, answer="no answer: closed"),
            PushAttempt(at_ms=at_ms, action=PushAction.ALERT, status=410, answer="Unregistered"),
        ),
    )


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (result(PushOutcome.SENT), "push sent through apns"),
        (result(PushOutcome.RETRYING), "push not accepted yet through apns, trying again"),
        (result(PushOutcome.GONE), "push not sent through apns: the token is invalid and was removed"),
        (result(PushOutcome.FAILED, reason="Refused."), "push failed through apns: Refused."),
        (
            result(PushOutcome.SKIPPED, None, reason="read: The recipient read the message 2 s before."),
            "push not sent: The recipient read the message 2 s before.",
        ),
    ],
)
def test_each_outcome_is_one_sentence(given: PushResult, verdict: str) -> None:
    (found,) = trace_pushes([given])
    assert found.verdict == verdict


def test_every_attempt_has_the_answer_of_the_provider() -> None:
    (found,) = trace_pushes([result(PushOutcome.GONE)])
    assert [(each.status, each.answer) for each in found.attempts] == [
        (None, "no answer: closed"),
        (410, "Unregistered"),
    ]


def test_a_decision_after_a_notification_was_sent_is_left_out() -> None:
    sent = result(PushOutcome.SENT)
    repeated = result(PushOutcome.SKIPPED, None, NOW + 1, "read: The recipient read the message.")
    assert [each.outcome for each in trace_pushes([repeated, sent])] == [PushOutcome.SENT]
    earlier = result(PushOutcome.SKIPPED, None, NOW - 1, "quiet_hours: Quiet hours.")
    assert len(trace_pushes([earlier, sent])) == 2
