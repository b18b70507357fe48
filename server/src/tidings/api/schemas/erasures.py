"""Schemas of erasures."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Time, UserName, with_examples
from tidings.erasure.approval import Decision, expires_ms
from tidings.erasure.model import Approval, ApprovalState, Erasure, ErasureStep
from tidings.kernel.clock import format_ms, format_ms_or_none

_ERASURE: JsonDict = {
    "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    "user": "anna",
    "state": "running",
    "step": "chats",
    "requested_at": "2026-11-15T02:11:21.957Z",
    "requested_by": "api_key:01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    "counts": {"chats": 3, "messages": 214},
}

type ErasureState = Literal["awaiting_approval", "rejected", "expired", "running", "erased", "final"]
_UNAPPROVED: Mapping[ApprovalState, ErasureState] = {
    ApprovalState.AWAITING: "awaiting_approval",
    ApprovalState.REJECTED: "rejected",
    ApprovalState.EXPIRED: "expired",
}
_BY_STEP: Mapping[ErasureStep, ErasureState] = {ErasureStep.FINAL: "erased", ErasureStep.DONE: "final"}


class ErasureProgress(ApiModel):
    """The fields that the erasure of a user and the deletion of a tenant share."""

    id: Annotated[str, Field(description="The id of the erasure, and of the job that runs it.")]
    state: Annotated[
        ErasureState,
        Field(
            description="`awaiting_approval`: nothing is erased until another API key or an operator approves it. "
            "`erased`: the user is erased in all tables, files and indexes. `final`: no backup has a key of the user "
            "either, 8 days later."
        ),
    ]
    step: Annotated[str, Field(description="The step that the erasure has reached.")]
    requested_at: Time
    requested_by: Annotated[str, Field(description="The API key or the operator that requested the erasure.")]
    expires_at: Annotated[
        Time | None, Field(description="When a request that waits for an approval expires, after 7 days.")
    ] = None
    decided_by: Annotated[
        str | None, Field(description="The second approver, who approved or rejected the request.")
    ] = None
    decided_at: Time | None = None
    counts: Annotated[
        dict[str, int], Field(description="The number of items that were erased so far, by kind.")
    ]
    certificate: Annotated[
        str | None,
        Field(
            description="A signed certificate (JWS, Ed25519) with times and counts, from the state `erased` on. It is "
            "replaced when the state is `final`. `tidings certificate verify` verifies it offline."
        ),
    ] = None

    @classmethod
    def progress_of(cls, erasure: Erasure, **more: str) -> Self:
        approval, state = erasure.approval or Approval(), _state_of(erasure)
        return cls(
            id=erasure.id,
            state=state,
            step=erasure.step.value,
            requested_at=format_ms(erasure.requested_ms),
            requested_by=erasure.requested_by,
            expires_at=format_ms(expires_ms(erasure)) if state == "awaiting_approval" else None,
            decided_by=approval.by,
            decided_at=format_ms_or_none(approval.at_ms),
            counts=erasure.counts,
            certificate=erasure.certificate,
            **more,
        )


class ErasureResponse(ErasureProgress):
    model_config = with_examples(_ERASURE)

    user: UserName

    @classmethod
    def of(cls, erasure: Erasure) -> Self:
        return cls.progress_of(erasure, user=erasure.user)


class ErasureDecisionBody(ApiModel):
    model_config = with_examples({"action": "approve"})

    action: Annotated[
        Literal["approve", "reject"],
        Field(description="The requester cannot approve their own request. A request is decided once."),
    ]

    @property
    def decision(self) -> Decision:
        return Decision(self.action)


def _state_of(erasure: Erasure) -> ErasureState:
    if not erasure.may_run and erasure.approval is not None:
        return _UNAPPROVED[erasure.approval.state]
    return _BY_STEP.get(erasure.step, "running")
