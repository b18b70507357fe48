"""What a tenant's new inboxes get, over HTTP."""

from typing import Annotated, Self

from pydantic import Field

from tidings.api.schemas.inboxes import Days
from tidings.api.schemas.notices import shows
from tidings.api.schemas.shape import Shape, Time
from tidings.kernel.clock import time_text
from tidings.notices.config import Defaults

KnownUsers = Annotated[
    bool, Field(description="Users without a profile are not given the notices of a new inbox.")
]


class DefaultsWanted(Shape):
    """Whole: what is not there is taken away. Inboxes that there are stay as they are."""

    model_config = shows({"retention_days": 90, "known_users": True})

    retention_days: Days | None = None
    known_users: KnownUsers = False

    def wanted(self) -> Defaults:
        return Defaults(retention_days=self.retention_days, is_for_known_users=self.known_users)


class DefaultsShown(Shape):
    model_config = shows(
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
    def of(cls, defaults: Defaults) -> Self:
        return cls(
            retention_days=defaults.retention_days,
            known_users=defaults.is_for_known_users,
            version=defaults.version,
            updated_at=time_text(defaults.updated_ms) if defaults.version else None,
        )
