"""An erasure: its steps, its cursor and its counts. `docs/adr/0039-erase-a-user.md` gives the reason of the order.

The deletion of a tenant has the same steps with other actions: `docs/adr/0042-delete-a-tenant.md`.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, NewType

from msgspec import Struct

from tidings.jobs.model import WHOLE_TENANT
from tidings.kernel.ids import ChatId, TenantId, UserId

ErasureId = NewType("ErasureId", str)

SECRET_BYTES = 32


class ErasureStep(StrEnum):
    """The steps, in their order."""

    FENCE = "fence"
    CREDENTIALS = "credentials"
    KEYS = "keys"
    QUIET = "quiet"
    LEAVE = "leave"
    SETTLED = "settled"
    CHATS = "chats"
    UPLOADS = "uploads"
    SEARCH = "search"
    INBOX = "inbox"
    ROWS = "rows"
    PROFILE = "profile"
    CERTIFICATE = "certificate"
    FINAL = "final"
    DONE = "done"


class ErasureCursor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a step continues. `chat` with `sequence`: in the log of this chat, after this entry.

    `named_at` is the sequence of the last entry of the chat that names the user: delivery must have reached it.
    """

    chat: ChatId | None = None
    sequence: int = 0
    named_at: int = 0
    part: int = 0
    after: str = ""


class ApprovalState(StrEnum):
    AWAITING = "awaiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Approval(Struct, frozen=True, kw_only=True):
    """The decision of a second approver. `by` and `at_ms`: the approver, and the time. An expired request has no approver."""

    state: ApprovalState = ApprovalState.AWAITING
    by: str | None = None
    at_ms: int | None = None


class Erasure(Struct, frozen=True, kw_only=True):
    """The erasure of a user. `version` increases with each page, so of two workers only one stores its progress.

    `step_ms` is when the step began. The secret derives the pseudonyms; None once the certificate is signed. The
    certificate is replaced by the final one. `approval` None: the tenant required no second approver at the request.
    """

    tenant: TenantId
    user: UserId
    id: ErasureId
    requested_ms: int
    requested_by: str
    approval: Approval | None = None
    secret: bytes | None
    step: ErasureStep = ErasureStep.FENCE
    step_ms: int = 0
    cursor: ErasureCursor = ErasureCursor()
    counts: dict[str, int] = {}
    certificate: str | None = None
    version: int = 1

    @property
    def is_of_tenant(self) -> bool:
        """Whether the erasure deletes the whole tenant."""
        return self.user == WHOLE_TENANT

    @property
    def may_run(self) -> bool:
        """Whether the erasure was approved, or needs no approval."""
        return self.approval is None or self.approval.state is ApprovalState.APPROVED


class StepProgress(NamedTuple):
    """The result of one page of a step.

    cursor: where the step continues; None: the step is done.
    counts: what this page has erased. A repeated page counts emptied entries again, and not what it has deleted: a worker
        that is killed before it stores its progress leaves one page of deleted items uncounted.
    wait_until_ms: the step cannot continue before this time.
    certificate: what the step has signed.
    """

    cursor: ErasureCursor | None = None
    counts: Mapping[str, int] = {}
    wait_until_ms: int | None = None
    certificate: str | None = None


STEP_DONE = StepProgress()
