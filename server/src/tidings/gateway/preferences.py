"""Answer requests for a user's preferences of an inbox."""

from tidings.inboxes.config import Inbox
from tidings.inboxes.model import UNCATEGORISED, InboxKey
from tidings.inboxes.preference_service import PreferenceService
from tidings.inboxes.preferences import Channel, ChannelChoices, ChoiceChanges, UserPreferences
from tidings_wire.frames.inbox import CategoryPreferences, ChangePreferences, InboxPreferences


async def serve_preferences(
    preferences: PreferenceService, inbox_key: InboxKey, frame: ChangePreferences
) -> InboxPreferences:
    """Apply the changes of a request, if it has any, and return the preferences after them."""
    if not frame.channels and not frame.categories:
        inbox, choices = await preferences.read(inbox_key)
    else:
        by_category = {name: _changes(each) for name, each in frame.categories.items()}
        inbox, choices = await preferences.change(inbox_key, _changes(frame.channels), by_category)
    return InboxPreferences(
        inbox=inbox.id,
        channels=_names(inbox.channels_for(UNCATEGORISED, choices)),
        chosen=_names(choices.channels),
        categories=tuple(_category(inbox, choices, name) for name in inbox.categories),
    )


def _category(inbox: Inbox, choices: UserPreferences, name: str) -> CategoryPreferences:
    code = inbox.codes[name]
    return CategoryPreferences(
        name=name,
        channels=_names(inbox.channels_for(code, choices)),
        chosen=_names(choices.categories.get(code, {})),
        is_critical=inbox.settings_of(code).is_critical,
    )


def _changes(choices: dict[str, bool | None]) -> ChoiceChanges:
    return {Channel(name): is_on for name, is_on in choices.items()}


def _names(choices: ChannelChoices) -> dict[str, bool]:
    return {channel.value: is_on for channel, is_on in choices.items()}
