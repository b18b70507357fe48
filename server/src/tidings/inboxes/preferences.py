"""Decide which channels a notification takes for a user. Pure.

Four layers, each of which may leave a channel open: the inbox, the category, the user's choice for the inbox, and the
user's choice for the category. The last layer that names a channel decides. A critical notification skips the user's
layers: they cannot switch it off.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace


class Channel(StrEnum):
    INBOX = "inbox"
    PUSH = "push"
    EMAIL = "email"
    WEBHOOK = "webhook"


type ChannelChoices = Mapping[Channel, bool]
"""Whether channels are on. A channel that is not named is decided by another layer."""

BUILT_IN: ChannelChoices = {
    Channel.INBOX: True,
    Channel.PUSH: True,
    Channel.EMAIL: False,
    Channel.WEBHOOK: True,
}
"""For channels that no layer names. E-mail needs a mail server, so a tenant switches it on."""


class Excess(StrEnum):
    """`SILENT`: in the inbox, marked as read, and on no other channel. `DROP`: not in the inbox either."""

    SILENT = "silent"
    DROP = "drop"


class Throttle(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A user receives at most `limit` notifications in each window of `window_s` seconds. `excess`: the others."""

    limit: Annotated[int, Meta(ge=1, le=1_000)]
    window_s: Annotated[int, Meta(ge=60, le=7 * 86_400)]
    excess: Excess = Excess.SILENT


class Digest(Struct, frozen=True, kw_only=True):
    """Notifications with the same key within `window_s` seconds are one entry of the inbox, which is unread once."""

    window_s: Annotated[int, Meta(ge=60, le=7 * 86_400)]


class CategorySettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a tenant for a category. `is_critical`: users cannot switch off its notifications."""

    channels: Mapping[Channel, bool] = {}
    is_critical: bool = False
    throttle: Throttle | None = None
    digest: Digest | None = None


PLAIN_CATEGORY = CategorySettings()


class UserPreferences(Struct, frozen=True, kw_only=True):
    """Choices of a user in one inbox: for all categories, and by category code."""

    channels: Mapping[Channel, bool] = {}
    categories: Mapping[int, Mapping[Channel, bool]] = {}
    updated_ms: int = 0
    version: int = 0


NO_PREFERENCES = UserPreferences()


class Exclusion(StrEnum):
    """Why a notification is not in a user's inbox, or is in it without a count."""

    CHANNEL_OFF = "channel_off"
    THROTTLED = "throttled"


def resolve_channels(
    inbox: ChannelChoices,
    category: CategorySettings,
    preferences: UserPreferences,
    code: int,
    *,
    is_critical: bool = False,
) -> dict[Channel, bool]:
    """Return whether each channel is on for a notification of the category `code`."""
    found = {**BUILT_IN, **inbox, **category.channels}
    if is_critical or category.is_critical:
        return found
    return {**found, **preferences.channels, **preferences.categories.get(code, {})}


type ChoiceChanges = Mapping[Channel, bool | None]
"""New values of choices. None: remove the choice, so that another layer decides."""


def change_preferences(
    before: UserPreferences, channels: ChoiceChanges, categories: Mapping[int, ChoiceChanges], now_ms: int
) -> UserPreferences:
    """Return the preferences with the changes. Choices that are not named stay."""
    by_code = {
        code: _changed(before.categories.get(code, {}), categories.get(code, {}))
        for code in {**before.categories, **categories}
    }
    return replace(
        before,
        channels=_changed(before.channels, channels),
        categories={code: choices for code, choices in by_code.items() if choices},
        updated_ms=now_ms,
        version=before.version + 1,
    )


def is_same_choice(one: UserPreferences, other: UserPreferences) -> bool:
    return (one.channels, one.categories) == (other.channels, other.categories)


def _changed(before: ChannelChoices, changes: ChoiceChanges) -> dict[Channel, bool]:
    both: dict[Channel, bool | None] = {**before, **changes}
    return {channel: is_on for channel, is_on in both.items() if is_on is not None}
