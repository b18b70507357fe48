"""Broadcasts for the devices of a gateway: who looks at an inbox is told, at a moment of his own."""

import asyncio
from collections.abc import Callable
from typing import Final, final

import msgspec

from tidings.bus.model import BroadcastLogAdvanced, decode_messages
from tidings.bus.ports import BroadcastSubscriber, BusEvent, Subscribed, Subscription, SubscriptionLost
from tidings.gateway.broadcast_announcements import (
    Announcement,
    AnnouncementFactory,
    InboxWatchers,
    push_spread,
)
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.broadcasts.model import STALE_MS, BroadcastLogId, BroadcastLogView, BroadcastRelease
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError

MAX_CONCURRENT_PUSHES: Final = 20
"""Walks of one inbox. If more has happened, those who look are told to list again."""
_MAX_CONCURRENT_READ: Final = 16
_RETRY_S: Final = 1.0

type ErrorReporter = Callable[[str, BaseException], None]


@final
class BroadcastChannel:
    """Of one log. `announced`: up to where it was told or found told; None: not looked at yet. `amended`: yet to be told."""

    def __init__(self, log: BroadcastLogId, opened_ms: int) -> None:
        self.log = log
        self.opened_ms = opened_ms
        self.watchers = InboxWatchers()
        self.announced: int | None = None
        self.redacted: frozenset[str] = frozenset()
        self.amended: dict[str, None] = {}
        self.walks: dict[asyncio.Task[None], None] = {}
        self.listening: Subscription | None = None

    def updates(self, view: BroadcastLogView) -> tuple[list[BroadcastRelease], list[str]]:
        """What has come and what is gone since it was last looked at. At first that is what nobody here was given."""
        since, from_ms = self.announced, 0
        if since is None:
            since, from_ms = self.watchers.least_announced(), self.opened_ms - STALE_MS
        since = view.head if since is None else since
        added = [
            each for each in view.releases if each.sequence > since and each.notification not in view.redacted
        ]
        gone = [name for name, at in view.redacted.items() if name not in self.redacted and at >= from_ms]
        self.announced, self.redacted = max(view.head, self.announced or 0), frozenset(view.redacted)
        return added, gone


@final
class BroadcastNotifier:
    """Without `ears` nobody is told of anything."""

    def __init__(
        self,
        cases: InboxUseCases | None,
        broadcast_subscriber: BroadcastSubscriber | None,
        on_error: ErrorReporter,
        *,
        clock: Clock,
        spread_s: float,
    ) -> None:
        self._cases = cases
        self._subscriber = broadcast_subscriber
        self._report = on_error
        self._clock = clock
        self._spread_s = spread_s
        self._channels: dict[BroadcastLogId, BroadcastChannel] = {}
        self._looks: WorkQueue[BroadcastChannel] = WorkQueue(self._look, _MAX_CONCURRENT_READ, on_error)
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
            channel.listening = self._subscriber.subscribe_broadcasts(*log, self._ear(channel))
        channel.watchers.enter(device)

    def leave(self, device: ConnectedDevice, inbox: str) -> None:
        channel = self._channels.get(BroadcastLogId(device.key.tenant, inbox))
        if channel is not None:
            channel.watchers.leave(device)
            if not channel.watchers:
                self._close(channel)

    def answered(self, device: ConnectedDevice, inbox: str, up_to: int, *, has_list: bool) -> None:
        """A log that is further than what was told of it: the word was lost, or is under way."""
        channel = self._channels.get(BroadcastLogId(device.key.tenant, inbox))
        if channel is None:
            return
        channel.watchers.answered(device, up_to, has_list=has_list)
        if channel.announced is not None and up_to > channel.announced:
            self._looks.add(channel)

    async def wait_idle(self, within_s: float) -> None:
        for channel in list(self._channels.values()):
            self._close(channel)
        await self._looks.wait_idle(within_s)

    def _close(self, channel: BroadcastChannel) -> None:
        del self._channels[channel.log]
        if channel.listening is not None:
            channel.listening.close()
        for walk in list(channel.walks):
            walk.cancel()

    def _ear(self, channel: BroadcastChannel) -> Callable[[BusEvent], None]:
        def hear(heard: BusEvent) -> None:
            match heard:
                case Subscribed():
                    # what was said before nobody has heard: the log knows
                    self._looks.add(channel)
                case SubscriptionLost():
                    pass
                case payload:
                    self._on_message(channel, payload)

        return hear

    def _on_message(self, channel: BroadcastChannel, payload: bytes) -> None:
        try:
            words = decode_messages(payload)
        except msgspec.DecodeError as error:
            self._report("a word that can't be read", error)
            return
        for word in words:
            if isinstance(word, BroadcastLogAdvanced):
                channel.amended.update(dict.fromkeys(word.amended))
                self._looks.add(channel)

    async def _look(self, channel: BroadcastChannel) -> None:
        if self._cases is None or self._channels.get(channel.log) is not channel:
            return
        try:
            view = await self._cases.logs.now(channel.log)
        except TidingsError as error:
            if error.retryable:
                await asyncio.sleep(_RETRY_S)
                self._looks.add(channel)
            return
        for each in self._updates(self._cases, channel, view):
            self._start(channel, each)

    def _updates(
        self, cases: InboxUseCases, channel: BroadcastChannel, view: BroadcastLogView
    ) -> list[Announcement]:
        amended, channel.amended = list(channel.amended), {}
        added, gone = channel.updates(view)
        telling = AnnouncementFactory(
            cases, channel.log, channel.watchers, state=channel, clock=self._clock, gave=self._gave
        )
        told = [telling.added(each) for each in added] + [telling.redacted(name, view) for name in gone]
        told += [
            telling.amended(showings, view.head)
            for name in amended
            if name not in view.redacted and (showings := view.of(name))
        ]
        too_many = len(told) + len(channel.walks) > MAX_CONCURRENT_PUSHES
        return [telling.more(view.head)] if too_many else told

    def _start(self, channel: BroadcastChannel, announcement: Announcement) -> None:
        if self._channels.get(channel.log) is not channel:
            return
        push = push_spread(channel.watchers, announcement, self._spread_s, self._clock)
        task = asyncio.get_running_loop().create_task(push)
        channel.walks[task] = None
        task.add_done_callback(lambda done: self._ended(channel, done))

    def _ended(self, channel: BroadcastChannel, walk: asyncio.Task[None]) -> None:
        channel.walks.pop(walk, None)
        if not walk.cancelled() and (error := walk.exception()) is not None:
            self._report("devices were not told of a broadcast", error)

    def _gave(self, count: int) -> None:
        self.pushes += count
