"""Schemas of channels and of users' preferences."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from msgspec.structs import asdict
from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, with_examples
from tidings.api.schemas.notifications import CategoryName
from tidings.inboxes.config import MAX_CATEGORIES, Inbox
from tidings.inboxes.model import UNCATEGORISED
from tidings.inboxes.preference_service import InboxPreferences
from tidings.inboxes.preferences import (
    CategorySettings,
    Channel,
    ChannelChoices,
    ChoiceChanges,
    Digest,
    Excess,
    Throttle,
)

_ALL: JsonDict = {"inbox": True, "push": True, "email": False, "webhook": True}

NO_OTHER_NAMES: JsonDict = {"additionalProperties": False}
"""pydantic describes valid keys of a mapping as a pattern, which allows all others."""

IsCritical = Annotated[
    bool,
    Field(description="Ignore the preferences of users. Only the tenant's settings choose the channels."),
]


class ChannelChoicesBody(ApiModel):
    """Channels that are switched on or off. Another setting decides about channels that are not given."""

    model_config = with_examples({"email": True})

    inbox: bool | None = None
    push: bool | None = None
    email: bool | None = None
    webhook: bool | None = None

    def to_choices(self) -> dict[Channel, bool]:
        return {channel: is_on for channel, is_on in self.to_changes().items() if is_on is not None}

    def to_changes(self) -> ChoiceChanges:
        """Return the given channels, also those that are `null`."""
        return {Channel(name): getattr(self, name) for name in self.model_fields_set}

    @classmethod
    def of(cls, choices: ChannelChoices) -> Self:
        return cls(**{channel.value: is_on for channel, is_on in choices.items()})


class ThrottleBody(ApiModel):
    """A limit of notifications for each user and window. Critical notifications are not limited."""

    model_config = with_examples({"limit": 5, "window_s": 3600})

    limit: Annotated[int, Field(ge=1, le=1_000)]
    window_s: Annotated[int, Field(ge=60, le=7 * 86_400, description="Length of a window, in seconds.")]
    excess: Annotated[
        Literal["silent", "drop"],
        Field(
            description="`silent`: put others into the inbox, marked as read. `drop`: do not deliver them."
        ),
    ] = "silent"

    def to_throttle(self) -> Throttle:
        return Throttle(limit=self.limit, window_s=self.window_s, excess=Excess(self.excess))


class DigestBody(ApiModel):
    """Show notifications with the same `digest_key` as one, unread once. Critical notifications are not included."""

    model_config = with_examples({"window_s": 3600})

    window_s: Annotated[
        int,
        Field(
            ge=60,
            le=7 * 86_400,
            description="How long the first notification takes others in, in seconds. It ends when the user reads it.",
        ),
    ]


class CategorySettingsBody(ApiModel):
    """Settings of a category."""

    model_config = with_examples({"channels": {"email": True}, "is_critical": True})

    channels: Annotated[ChannelChoicesBody, Field(default_factory=ChannelChoicesBody)]
    is_critical: Annotated[
        bool, Field(description="Users cannot switch off notifications of this category.")
    ] = False
    throttle: ThrottleBody | None = None
    digest: DigestBody | None = None

    def to_settings(self) -> CategorySettings:
        return CategorySettings(
            channels=self.channels.to_choices(),
            is_critical=self.is_critical,
            throttle=None if self.throttle is None else self.throttle.to_throttle(),
            digest=None if self.digest is None else Digest(window_s=self.digest.window_s),
        )

    @classmethod
    def by_name(cls, settings: Mapping[str, CategorySettings]) -> dict[str, Self] | None:
        return {
            name: cls(
                channels=ChannelChoicesBody.of(each.channels),
                is_critical=each.is_critical,
                throttle=None if each.throttle is None else ThrottleBody(**asdict(each.throttle)),
                digest=None if each.digest is None else DigestBody(window_s=each.digest.window_s),
            )
            for name, each in settings.items()
        } or None


class ChangePreferencesBody(ApiModel):
    """Choices to change. `null` removes a choice, so that the setting of the category or the inbox applies."""

    model_config = with_examples({"channels": {"email": False}, "categories": {"news": {"push": False}}})

    channels: Annotated[
        ChannelChoicesBody, Field(description="For all categories.", default_factory=ChannelChoicesBody)
    ]
    categories: Annotated[
        dict[CategoryName, ChannelChoicesBody],
        Field(
            description="For single categories.",
            max_length=MAX_CATEGORIES,
            default_factory=dict,
            json_schema_extra=NO_OTHER_NAMES,
        ),
    ]

    def to_changes(self) -> tuple[ChoiceChanges, Mapping[str, ChoiceChanges]]:
        by_category = {name: each.to_changes() for name, each in self.categories.items()}
        return self.channels.to_changes(), by_category


class ChannelsResponse(ApiModel):
    """Whether each channel is on."""

    inbox: bool
    push: bool
    email: bool
    webhook: bool

    @classmethod
    def of(cls, channels: ChannelChoices) -> Self:
        return cls(**{channel.value: is_on for channel, is_on in channels.items()})


class CategoryPreferencesResponse(ApiModel):
    """The channels of a category: the result of all settings, and the user's own choices."""

    name: str
    is_critical: Annotated[bool, Field(description="The user cannot change the channels.")]
    channels: ChannelsResponse
    chosen: Annotated[ChannelChoicesBody, Field(description="The user's own choices for this category.")]


class PreferencesResponse(ApiModel):
    """The channels that a user's notifications take."""

    model_config = with_examples(
        {
            "channels": _ALL,
            "chosen": {"email": False},
            "categories": [
                {
                    "name": "news",
                    "is_critical": False,
                    "channels": _ALL | {"push": False},
                    "chosen": {"push": False},
                }
            ],
        }
    )

    channels: Annotated[ChannelsResponse, Field(description="For notifications without a category.")]
    chosen: Annotated[ChannelChoicesBody, Field(description="The user's own choices for all categories.")]
    categories: list[CategoryPreferencesResponse]

    @classmethod
    def of(cls, found: InboxPreferences) -> Self:
        inbox, choices = found
        return cls(
            channels=ChannelsResponse.of(inbox.channels_for(UNCATEGORISED, choices)),
            chosen=ChannelChoicesBody.of(choices.channels),
            categories=[cls._category(inbox, found, name) for name in inbox.categories],
        )

    @staticmethod
    def _category(inbox: Inbox, found: InboxPreferences, name: str) -> CategoryPreferencesResponse:
        code = inbox.codes[name]
        return CategoryPreferencesResponse(
            name=name,
            is_critical=inbox.settings_of(code).is_critical,
            channels=ChannelsResponse.of(inbox.channels_for(code, found.choices)),
            chosen=ChannelChoicesBody.of(found.choices.categories.get(code, {})),
        )
