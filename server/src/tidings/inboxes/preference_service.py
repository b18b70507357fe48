"""Read and change the preferences of users."""

from collections.abc import Mapping
from typing import NamedTuple

from tidings.inboxes.config import Inbox
from tidings.inboxes.config_service import InboxConfigCache
from tidings.inboxes.model import InboxKey
from tidings.inboxes.ports import InboxEvent, InboxNotifier, PreferenceStore
from tidings.inboxes.preferences import (
    NO_PREFERENCES,
    ChoiceChanges,
    UserPreferences,
    change_preferences,
    is_same_choice,
)
from tidings.kernel.action_notes import note_change
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError


class InboxPreferences(NamedTuple):
    """The choices of a user, with the inbox that they belong to."""

    inbox: Inbox
    choices: UserPreferences


class PreferenceService:
    def __init__(
        self, inboxes: InboxConfigCache, store: PreferenceStore, notifier: InboxNotifier, clock: Clock
    ) -> None:
        self._inboxes = inboxes
        self._store = store
        self._notifier = notifier
        self._clock = clock

    async def read(self, inbox_key: InboxKey) -> InboxPreferences:
        """Return the preferences of a user, strongly consistent. Raises `inbox_not_found`."""
        inbox = await self._inboxes.of(inbox_key.tenant, inbox_key.inbox)
        return InboxPreferences(inbox, await self._read(inbox_key))

    async def change(
        self, inbox_key: InboxKey, channels: ChoiceChanges, categories: Mapping[str, ChoiceChanges]
    ) -> InboxPreferences:
        """Change choices of a user, in all categories and in single ones. Others stay as they are. Idempotent.

        They apply to notifications whose delivery starts after the return, and at once to broadcasts. Raises
        `inbox_not_found`, and `request_invalid` for an unknown category.
        """
        inbox = await self._inboxes.of(inbox_key.tenant, inbox_key.inbox)
        by_code = {inbox.code_of(name): choices for name, choices in categories.items()}

        async def step() -> UserPreferences:
            before = await self._read(inbox_key)
            after = change_preferences(before, channels, by_code, self._clock.now_ms())
            if is_same_choice(before, after):
                return before
            if not await self._store.write(inbox_key, after):
                raise TidingsError(Code.WRITE_CONFLICT, "Another request changed the preferences. Try again.")
            note_change(before, after)
            return after

        after = await retry_on_conflict(step)
        # Broadcasts of a category that was switched on or off enter or leave the list.
        self._notifier.notify(inbox_key, InboxEvent.FILTERED)
        return InboxPreferences(inbox, after)

    async def _read(self, inbox_key: InboxKey) -> UserPreferences:
        found = await self._store.of(inbox_key.tenant, inbox_key.inbox, [inbox_key.user])
        return found.get(inbox_key.user, NO_PREFERENCES)
