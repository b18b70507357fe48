"""Schemas of inbox defaults."""

from typing import Annotated, Self

from pydantic import Field

from tidings.api.schemas.api_model import ApiModel, Time, with_examples
from tidings.api.schemas.inboxes import Days
from tidings.api.schemas.preferences import ChannelChoicesBody
from tidings.inboxes.config import InboxDefaults
from tidings.kernel.clock import format_ms

KnownUsers = Annotated[bool, Field(description="Deliver only to users with a profile.")]
Channels = Annotated[ChannelChoicesBody, Field(description="The channels that notifications take.")]


class InboxDefaultsBody(ApiModel):
    """Values that new inboxes start with. Replaces all values; existing inboxes do not change."""

    model_config = with_examples({"retention_days": 90, "known_users": True})

    retention_days: Days | None = None
    known_users: KnownUsers = False
    channels: Channels | None = None

    def to_defaults(self) -> InboxDefaults:
        return InboxDefaults(
            retention_days=self.retention_days,
            is_for_known_users=self.known_users,
            channels={} if self.channels is None else self.channels.to_choices(),
        )


class InboxDefaultsResponse(ApiModel):
    model_config = with_examples(
        {
            "retention_days": 90,
            "known_users": True,
            "version": 1,
            "updated_at": "2026-11-15T02:11:21.957Z",
        }
    )

    retention_days: int | None = None
    known_users: bool
    channels: ChannelChoicesBody | None = None
    version: Annotated[int, Field(description="0 if the defaults were never set.")]
    updated_at: Time | None = None

    @classmethod
    def of(cls, defaults: InboxDefaults) -> Self:
        return cls(
            retention_days=defaults.retention_days,
            known_users=defaults.is_for_known_users,
            channels=ChannelChoicesBody.of(defaults.channels) if defaults.channels else None,
            version=defaults.version,
            updated_at=format_ms(defaults.updated_ms) if defaults.version else None,
        )
