"""What a tenant's new inboxes get, over HTTP."""

from typing import Annotated, Self

from pydantic import Field

from tidings.api.schemas.api_model import ApiModel, Time
from tidings.api.schemas.inboxes import Days
from tidings.api.schemas.notifications import response_example
from tidings.inboxes.config import InboxDefaults
from tidings.kernel.clock import format_ms

KnownUsers = Annotated[
    bool, Field(description="Users without a profile are not given the notifications of a new inbox.")
]


class InboxDefaultsBody(ApiModel):
    """Whole: what is not there is taken away. Inboxes that there are stay as they are."""

    model_config = response_example({"retention_days": 90, "known_users": True})

    retention_days: Days | None = None
    known_users: KnownUsers = False

    def to_defaults(self) -> InboxDefaults:
        return InboxDefaults(retention_days=self.retention_days, is_for_known_users=self.known_users)


class InboxDefaultsResponse(ApiModel):
    model_config = response_example(
        {
            "retention_days": 90,
            "known_users": True,
            "version": 1,
            "updated_at": "2026-11-15T02:11:21.957Z",
        }
    )

    retention_days: int | None = None
    known_users: bool
    version: Annotated[int, Field(description="0: nothing was ever set.")]
    updated_at: Time | None = None

    @classmethod
    def of(cls, defaults: InboxDefaults) -> Self:
        return cls(
            retention_days=defaults.retention_days,
            known_users=defaults.is_for_known_users,
            version=defaults.version,
            updated_at=format_ms(defaults.updated_ms) if defaults.version else None,
        )
