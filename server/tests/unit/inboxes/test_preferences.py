"""Which channels a notification takes: the layers, in their order, and changes of a user's choices."""

from itertools import product

import pytest

from tidings.inboxes.config import Inbox, InboxSpec, apply_spec
from tidings.inboxes.model import InboxId
from tidings.inboxes.preferences import (
    BUILT_IN,
    NO_PREFERENCES,
    CategorySettings,
    Channel,
    UserPreferences,
    change_preferences,
    resolve_channels,
)
from tidings.kernel.errors import TidingsError

NEWS = 1
EMAIL = Channel.EMAIL
CHOICES = (None, False, True)


type Choice = bool | None


def choice(given: Choice) -> dict[Channel, bool]:
    return {} if given is None else {EMAIL: given}


@pytest.mark.parametrize("layers", list(product(CHOICES, repeat=4)))
def test_the_last_layer_that_names_a_channel_decides(layers: tuple[Choice, Choice, Choice, Choice]) -> None:
    inbox, category, general, own = map(choice, layers)
    settings = CategorySettings(channels=category)
    user = UserPreferences(channels=general, categories={NEWS: own})
    named = [each for each in layers if each is not None]
    found = resolve_channels(inbox, settings, user, NEWS)
    assert found == {**BUILT_IN, EMAIL: named[-1] if named else False}
    of_tenant = [each for each in layers[:2] if each is not None]
    critical = resolve_channels(inbox, settings, user, NEWS, is_critical=True)
    assert critical[EMAIL] == (of_tenant[-1] if of_tenant else False)
    locked = CategorySettings(channels=category, is_critical=True)
    assert resolve_channels(inbox, locked, user, NEWS) == critical


def test_a_choice_for_one_category_does_not_apply_to_another() -> None:
    user = UserPreferences(categories={NEWS: {Channel.INBOX: False}})
    inbox = Inbox(id=InboxId("default"), title="Default", codes={"news": NEWS, "orders": 2})
    assert [inbox.channels_for(code, user)[Channel.INBOX] for code in (0, NEWS, 2)] == [True, False, True]


def test_a_change_keeps_other_choices_and_null_removes_one() -> None:
    first = change_preferences(NO_PREFERENCES, {EMAIL: True}, {NEWS: {Channel.PUSH: False}}, 5)
    assert (first.version, first.updated_ms) == (1, 5)
    second = change_preferences(first, {}, {NEWS: {EMAIL: False}, 2: {EMAIL: True}}, 6)
    assert second.channels == {EMAIL: True}
    assert second.categories == {NEWS: {Channel.PUSH: False, EMAIL: False}, 2: {EMAIL: True}}
    third = change_preferences(second, {EMAIL: None}, {2: {EMAIL: None}}, 7)
    assert (third.channels, third.categories) == ({}, {NEWS: {Channel.PUSH: False, EMAIL: False}})


def test_settings_of_a_category_that_the_inbox_does_not_have_are_refused() -> None:
    spec = InboxSpec(title="News", categories=("news",), category_settings={"sport": CategorySettings()})
    with pytest.raises(TidingsError, match="`sport`, which is not in `categories`"):
        apply_spec(InboxId("default"), None, spec, 1)
