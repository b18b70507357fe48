"""Rules of the second approver of an erasure: identities, decisions, expiry. Pure."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from tidings.erasure.model import Approval, ApprovalState, Erasure
from tidings.kernel.clock import format_ms
from tidings.kernel.errors import Code, TidingsError

APPROVAL_MS: Final = 7 * 86_400_000
"""How long after the request it can be approved. An approver decides about the data as they know it."""


class Decision(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"


_STATES: Final[Mapping[Decision, ApprovalState]] = {
    Decision.APPROVE: ApprovalState.APPROVED,
    Decision.REJECT: ApprovalState.REJECTED,
}


def expires_ms(erasure: Erasure) -> int:
    return erasure.requested_ms + APPROVAL_MS


def as_of(erasure: Erasure, now_ms: int) -> Erasure:
    """Return the erasure as it is at a time. A request expires at its time, also if the job that records it runs later."""
    if not is_waiting(erasure) or now_ms < expires_ms(erasure):
        return erasure
    return replace(erasure, approval=Approval(state=ApprovalState.EXPIRED))


def is_waiting(erasure: Erasure) -> bool:
    return erasure.approval is not None and erasure.approval.state is ApprovalState.AWAITING


def is_closed(erasure: Erasure) -> bool:
    """Return whether a request was rejected or has expired. Another request replaces it."""
    return not erasure.may_run and not is_waiting(erasure)


def decided(erasure: Erasure, decision: Decision, by: str, now_ms: int) -> Erasure | None:
    """Return the erasure with a decision; None if it was decided like this before.

    Raises `forbidden` if the requester approves their own request, and `no_change` if it is decided otherwise. The
    requester may reject it: nothing is destroyed.
    """
    erasure, wanted = as_of(erasure, now_ms), _STATES[decision]
    if decision is Decision.APPROVE and by == erasure.requested_by:
        raise TidingsError(
            Code.FORBIDDEN,
            f"{by} requested this erasure and cannot approve it.",
            hint="Another operator or another API key must approve it.",
        )
    if erasure.approval is not None and erasure.approval.state is wanted:
        return None
    if not is_waiting(erasure):
        raise TidingsError(Code.NO_CHANGE, f"The request cannot be {wanted}: {_text(erasure)}.")
    return _with(erasure, Approval(state=wanted, by=by, at_ms=now_ms))


def expired(erasure: Erasure, now_ms: int) -> Erasure | None:
    """Return the erasure as expired; None if it was decided before, or is not due."""
    if not is_waiting(erasure) or now_ms < expires_ms(erasure):
        return None
    return _with(erasure, Approval(state=ApprovalState.EXPIRED, at_ms=now_ms))


def _with(erasure: Erasure, approval: Approval) -> Erasure:
    """Return the erasure with a decision. Its first step begins with it."""
    return replace(
        erasure,
        approval=approval,
        step_ms=approval.at_ms or erasure.step_ms,
        version=erasure.version + 1,
    )


def _text(erasure: Erasure) -> str:
    if erasure.approval is None:
        return "it needs no approval"
    if erasure.approval.state is ApprovalState.EXPIRED:
        return f"it expired at {format_ms(expires_ms(erasure))}"
    return f"{erasure.approval.by} has {erasure.approval.state} it"
