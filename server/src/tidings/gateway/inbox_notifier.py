"""Notify devices of changes in the inboxes that they watch.

The inbox is read for each message, so a late message does no harm. Each inbox has one read at a time, so its updates
arrive in order.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from msgspec import Struct

from tidings.bus.model import InboxChanged
from tidings.gateway.broadcast_notifier import BroadcastNotifier
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.frames import counts_frame, notification_frame
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.inboxes.preferences import UserPreferences
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import ErrorReporter
from tidings.kernel.errors import Code, TidingsError
from tidings_wire.codec import encode_push
from tidings_wire.frames.inbox import (
    InboxCounts,
    InboxUpdate,
    ListNotifications,
    Notification,
    NotificationPage,
)

MAX_INBOXES: Final = 20
"""Inboxes that one connection may watch."""
_MAX_CONCURRENT_READS: Final = 16
_MAX_ATTEMPTS: Final = 5
_RETRY_S: Final = 0.5


@dataclass(slots=True)
class _InboxUpdates:
    """Changes of one inbox that were received and not yet sent."""

    added: dict[NotificationId, None] = field(default_factory=dict)
    amended: dict[NotificationId, None] = field(default_factory=dict)
    removed: dict[NotificationId, None] = field(default_factory=dict)
    has_more: bool = False

    def add(self, change: InboxChanged) -> None:
        for ids, into in (
            (change.added, self.added),
            (change.amended, self.amended),
            (change.removed, self.removed),
        ):
            into.update(dict.fromkeys(map(NotificationId, ids)))
        self.has_more = self.has_more or change.has_more

    @property
    def requested(self) -> list[NotificationId]:
        return [each for each in {**self.added, **self.amended} if each not in self.removed]


@final
class InboxNotifier:
    def __init__(
        self,
        cases: InboxUseCases | None,
        broadcasts: BroadcastNotifier,
        on_error: ErrorReporter,
    ) -> None:
        self._cases = cases
        self.broadcasts = broadcasts
        self._watchers: dict[InboxKey, dict[ConnectedDevice, None]] = {}
        self._inboxes: dict[ConnectedDevice, dict[InboxKey, None]] = {}
        self._updates: dict[InboxKey, _InboxUpdates] = {}
        self._busy: set[InboxKey] = set()
        self._reads: WorkQueue[InboxKey] = WorkQueue(self._push, _MAX_CONCURRENT_READS, on_error)

    def watch(self, device: ConnectedDevice, inbox: str) -> None:
        """Watch an inbox. Call it before the inbox is read for an answer, so that no later change is missed."""
        # Race: the device disconnects while its request waits for the rate limiter, and `on_left` runs before this. No
        # later event would remove the device.
        if device.is_gone:
            return
        inbox_key = InboxKey(device.key.tenant, device.user, InboxId(inbox))
        watched = self._inboxes.setdefault(device, {})
        if inbox_key not in watched and len(watched) >= MAX_INBOXES:
            raise TidingsError(Code.REQUEST_INVALID, f"A connection may watch at most {MAX_INBOXES} inboxes.")
        watched[inbox_key] = None
        self._watchers.setdefault(inbox_key, {})[device] = None
        self.broadcasts.enter(device, inbox)

    def on_answered(
        self,
        device: ConnectedDevice,
        asked: Struct,
        answer: InboxCounts | NotificationPage,
        preferences: UserPreferences,
    ) -> None:
        """Note the broadcasts of an answer, so that they are not announced again, and the user's preferences.

        A list counts if it is the unfiltered first page.
        """
        counts = answer if isinstance(answer, InboxCounts) else answer.counts
        has_list = isinstance(asked, ListNotifications) and asked.cursor is None and not asked.is_filtered
        self.broadcasts.answered(device, counts.inbox, counts.broadcasts_up_to, has_list=has_list)
        self.broadcasts.note_preferences(device, counts.inbox, preferences)

    def on_left(self, device: ConnectedDevice) -> None:
        for inbox_key in self._inboxes.pop(device, ()):
            devices = self._watchers.get(inbox_key, {})
            devices.pop(device, None)
            if not devices:
                self._watchers.pop(inbox_key, None)
            self.broadcasts.leave(device, inbox_key.inbox)

    def on_live(self, device: ConnectedDevice) -> None:
        """Update a device that has resumed."""
        # Race: a worker changes the inbox and looks up routes before this device has registered its route again. No
        # message reaches this gateway, so send the counts and tell the device to list the inbox.
        for inbox_key in self._inboxes.get(device, ()):
            self._updates.setdefault(inbox_key, _InboxUpdates()).has_more = True
            self._reads.add(inbox_key)

    def on_inbox_changed(self, change: InboxChanged) -> None:
        inbox_key = InboxKey(change.tenant, change.user, InboxId(change.inbox))
        if inbox_key in self._watchers:
            self._updates.setdefault(inbox_key, _InboxUpdates()).add(change)
            self._reads.add(inbox_key)

    async def wait_idle(self, within_s: float) -> None:
        await self.broadcasts.wait_idle(within_s)
        await self._reads.wait_idle(within_s)

    async def _push(self, inbox_key: InboxKey) -> None:
        # Race: a change arrives while another task reads the same inbox. Two reads could send their updates in the wrong
        # order, so this task returns, and the other one continues until no update is left.
        if inbox_key in self._busy or self._cases is None:
            return
        self._busy.add(inbox_key)
        try:
            while (updates := self._updates.pop(inbox_key, None)) is not None and inbox_key in self._watchers:
                if (read := await self._read(self._cases, inbox_key, updates)) is not None:
                    frame, preferences = read
                    for device in list(self._watchers.get(inbox_key, ())):
                        self.broadcasts.note_preferences(device, inbox_key.inbox, preferences)
                        device.connected.push(frame)
        finally:
            # Race: a change arrives after the loop found no update. Nothing is awaited from that check to this line, so
            # the task of that change finds the inbox free.
            self._busy.discard(inbox_key)

    async def _read(
        self, cases: InboxUseCases, inbox_key: InboxKey, updates: _InboxUpdates
    ) -> tuple[bytes, UserPreferences] | None:
        """Return the encoded update and the user's preferences."""
        for attempt in range(_MAX_ATTEMPTS):
            try:
                update, preferences = await _inbox_update(cases, inbox_key, updates)
                return encode_push(update), preferences
            except TidingsError as error:
                if not error.retryable:
                    return None
                await asyncio.sleep(_RETRY_S * 2**attempt)
        return None


async def _inbox_update(
    cases: InboxUseCases, inbox_key: InboxKey, updates: _InboxUpdates
) -> tuple[InboxUpdate, UserPreferences]:
    """Read the inbox. Notifications that are removed or archived by now are left out; another message reports them."""
    inbox = await cases.known.of(inbox_key.tenant, inbox_key.inbox)
    page = await cases.read.some(inbox_key, updates.requested)
    shown = {each.row.id: notification_frame(each, inbox) for each in page.notifications}
    update = InboxUpdate(
        counts=counts_frame(page.snapshot, inbox),
        added=_in_order(updates.added, shown),
        amended=_in_order([each for each in updates.amended if each not in updates.added], shown),
        removed=tuple(updates.removed),
        has_more=updates.has_more,
    )
    return update, page.snapshot.preferences


def _in_order(
    ids: Sequence[NotificationId] | Mapping[NotificationId, None],
    shown: Mapping[NotificationId, Notification],
) -> tuple[Notification, ...]:
    return tuple(shown[each] for each in ids if each in shown)
