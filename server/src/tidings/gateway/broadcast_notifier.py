"""Notify the devices of a gateway of broadcasts to the inboxes that they watch."""

import asyncio
from typing import Final, final

import msgspec

from tidings.bus.model import BroadcastLogAdvanced, decode_messages
from tidings.bus.ports import (
    BusEvent,
    BusHandler,
    BusSubscriber,
    Subscribed,
    Subscription,
    SubscriptionLost,
)
from tidings.gateway.broadcast_announcements import (
    Announcement,
    AnnouncementFactory,
    InboxWatchers,
    push_spread,
)
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.broadcasts.model import STALE_MS, BroadcastLogId, BroadcastLogView, BroadcastRelease
from tidings.inboxes.preferences import UserPreferences
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import ErrorReporter
from tidings.kernel.errors import TidingsError

MAX_CONCURRENT_PUSHES: Final = 20
"""Concurrent announcements of one inbox. With more changes, devices are asked to list the inbox again."""
_MAX_CONCURRENT_READ: Final = 16
_RETRY_S: Final = 1.0


@final
class BroadcastChannel:
    """The broadcast log of one inbox.

    `announced`: the sequence up to which broadcasts are announced; None before the first read of the log. `amended`:
    broadcasts whose changed content is not announced yet.
    """

    def __init__(self, log: BroadcastLogId, opened_ms: int) -> None:
        self.log = log
        self.opened_ms = opened_ms
        self.watchers = InboxWatchers()
        self.announced: int | None = None
        self.redacted: frozenset[str] = frozenset()
        self.amended: dict[str, None] = {}
        self.pushes: dict[asyncio.Task[None], None] = {}
        self.subscription: Subscription | None = None

    def updates(self, view: BroadcastLogView) -> tuple[list[BroadcastRelease], list[str]]:
        """Return broadcasts added and redacted since the last call.

        The first call returns what no watching device has received in an answer.
        """
        since, from_ms = self.announced, 0
        if since is None:
            # Race: a device was answered from the cached log, which is up to `STALE_MS` old, and another process
            # appended before this read. No answer has that broadcast, so start after the oldest one.
            since, from_ms = self.watchers.least_announced(), self.opened_ms - STALE_MS
        since = view.head if since is None else since
        added = [
            each for each in view.releases if each.sequence > since and each.notification not in view.redacted
        ]
        redacted = [name for name, at in view.redacted.items() if name not in self.redacted and at >= from_ms]
        self.announced, self.redacted = max(view.head, self.announced or 0), frozenset(view.redacted)
        return added, redacted


@final
class BroadcastNotifier:
    """Without use cases or a subscriber, it does nothing."""

    def __init__(
        self,
        cases: InboxUseCases | None,
        subscriber: BusSubscriber | None,
        on_error: ErrorReporter,
        *,
        clock: Clock,
        spread_s: float,
    ) -> None:
        self._cases = cases
        self._subscriber = subscriber
        self._report = on_error
        self._clock = clock
        self._spread_s = spread_s
        self._channels: dict[BroadcastLogId, BroadcastChannel] = {}
        self._reads: WorkQueue[BroadcastChannel] = WorkQueue(self._read, _MAX_CONCURRENT_READ, on_error)
        self.pushes = 0

    def __len__(self) -> int:
        return len(self._channels)

    def enter(self, device: ConnectedDevice, inbox: str) -> None:
        if self._cases is None or self._subscriber is None:
            return
        log = BroadcastLogId(device.key.tenant, inbox)
        channel = self._channels.get(log)
        if channel is None:
            channel = self._channels[log] = BroadcastChannel(log, self._clock.now_ms())
            channel.subscription = self._subscriber.subscribe_broadcasts(*log, self._handler(channel))
        channel.watchers.enter(device)

    def leave(self, device: ConnectedDevice, inbox: str) -> None:
        channel = self._channels.get(BroadcastLogId(device.key.tenant, inbox))
        if channel is not None:
            channel.watchers.leave(device)
            if not channel.watchers:
                self._close(channel)

    def answered(self, device: ConnectedDevice, inbox: str, up_to: int, *, has_list: bool) -> None:
        """Note the log sequence of an answer. If it is newer than the announced one, a message was lost or is late: read."""
        channel = self._channels.get(BroadcastLogId(device.key.tenant, inbox))
        if channel is None:
            return
        channel.watchers.answered(device, up_to, has_list=has_list)
        if channel.announced is not None and up_to > channel.announced:
            self._reads.add(channel)

    def note_preferences(self, device: ConnectedDevice, inbox: str, preferences: UserPreferences) -> None:
        """Note the preferences that a read of the inbox found: announcements follow them."""
        channel = self._channels.get(BroadcastLogId(device.key.tenant, inbox))
        if channel is not None:
            channel.watchers.note_preferences(device, preferences)

    async def wait_idle(self, within_s: float) -> None:
        for channel in list(self._channels.values()):
            self._close(channel)
        await self._reads.wait_idle(within_s)

    def _close(self, channel: BroadcastChannel) -> None:
        del self._channels[channel.log]
        if channel.subscription is not None:
            channel.subscription.close()
        for push in list(channel.pushes):
            push.cancel()

    def _handler(self, channel: BroadcastChannel) -> BusHandler:
        def handle(event: BusEvent) -> None:
            match event:
                case Subscribed():
                    # Race: another process appends to the log and publishes before Redis confirms our subscription. We
                    # miss the message, so read the log.
                    self._reads.add(channel)
                case SubscriptionLost():
                    pass
                case payload:
                    self._on_message(channel, payload)

        return handle

    def _on_message(self, channel: BroadcastChannel, payload: bytes) -> None:
        try:
            messages = decode_messages(payload)
        except msgspec.DecodeError as error:
            self._report("bus message cannot be decoded", error)
            return
        for message in messages:
            if isinstance(message, BroadcastLogAdvanced):
                channel.amended.update(dict.fromkeys(message.amended))
                self._reads.add(channel)

    async def _read(self, channel: BroadcastChannel) -> None:
        if self._cases is None or self._channels.get(channel.log) is not channel:
            return
        try:
            view = await self._cases.logs.now(channel.log)
        except TidingsError as error:
            if error.retryable:
                await asyncio.sleep(_RETRY_S)
                self._reads.add(channel)
            return
        for announcement in self._announcements(self._cases, channel, view):
            self._start(channel, announcement)

    def _announcements(
        self, cases: InboxUseCases, channel: BroadcastChannel, view: BroadcastLogView
    ) -> list[Announcement]:
        # Race: a message names an amended broadcast while the log is read. Taking it here is early enough, because the
        # content is read after this line, when the frame is made.
        amended, channel.amended = list(channel.amended), {}
        added, redacted = channel.updates(view)
        factory = AnnouncementFactory(
            cases,
            channel.log,
            channel.watchers,
            is_redacted=lambda notification: notification in channel.redacted,
            clock=self._clock,
            on_pushed=self._count_pushes,
        )
        found = [factory.added(each) for each in added] + [factory.redacted(name, view) for name in redacted]
        found += [
            factory.amended(releases, view.head)
            for name in amended
            if name not in view.redacted and (releases := view.of(name))
        ]
        too_many = len(found) + len(channel.pushes) > MAX_CONCURRENT_PUSHES
        return [factory.more(view.head)] if too_many else found

    def _start(self, channel: BroadcastChannel, announcement: Announcement) -> None:
        # Race: the last device leaves while the log is read, and `_close` cancels the pushes that exist then. A push
        # that starts after that would run without watchers to its end.
        if self._channels.get(channel.log) is not channel:
            return
        push = push_spread(channel.watchers, announcement, self._spread_s, self._clock)
        task = asyncio.get_running_loop().create_task(push)
        channel.pushes[task] = None
        task.add_done_callback(lambda done: self._on_pushed(channel, done))

    def _on_pushed(self, channel: BroadcastChannel, push: asyncio.Task[None]) -> None:
        channel.pushes.pop(push, None)
        if not push.cancelled() and (error := push.exception()) is not None:
            self._report("broadcast could not be announced", error)

    def _count_pushes(self, count: int) -> None:
        self.pushes += count
