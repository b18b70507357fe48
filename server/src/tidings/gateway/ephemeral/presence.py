"""Presence of the users that devices watch: hints on their channels, and regular reads of their routes.

A gateway that dies publishes no hint. Its routes expire, and the next read finds that. `next_presence`
decides what watchers see, and when.
"""

import asyncio
import heapq
import random
from collections.abc import Iterable
from itertools import count, groupby
from typing import Final, final

from tidings.bus.ports import BusSubscriber
from tidings.ephemeral.model import UNKNOWN, Presence, PresenceHint, PresenceStore
from tidings.ephemeral.presence import ARRIVED, PresenceAccess, WatchedPresence, has_changed, next_presence
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ephemeral.chat_subscriptions import ChannelSet, PubSubChannel
from tidings.gateway.hub import Hub
from tidings.gateway.stats import EphemeralStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import ErrorReporter
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import TenantId, UserId
from tidings_wire.codec import encode_push
from tidings_wire.frames.ephemeral import PresencePush

_MAX_USERS_PER_READ: Final = 500
BATCH_S: Final = 0.1
"""Reads that are due within this time are done together."""
_MAX_CONCURRENT_ACCESS_CHECKS: Final = 8
_RETRY_S: Final = 2.0

type UserKey = tuple[TenantId, UserId]


class PresenceChannel(PubSubChannel[UserKey]):
    """The presence channel of a user.

    `due_at`: time of the next read; queue entries with another time are ignored. `denied`: devices that may not see
    the user, or whose access is not checked yet. They stay on the channel, because their access is checked again when
    the rules change.
    """

    def __init__(self, key: UserKey) -> None:
        super().__init__(key)
        self.watched = WatchedPresence()
        self.due_at = 0.0
        self.denied: set[ConnectedDevice] = set()

    @property
    def is_seen(self) -> bool:
        return len(self.denied) < len(self.devices)


@final
class PresenceSubscriptions:
    """`grace_s`: time without a route until a user is shown as offline. `refresh_s`: mean time between two reads of a user."""

    def __init__(
        self,
        subscriber: BusSubscriber,
        presences: PresenceStore,
        access: PresenceAccess,
        hub: Hub[ConnectedDevice],
        *,
        grace_s: float,
        refresh_s: float,
        counts: EphemeralStats,
        on_error: ErrorReporter,
    ) -> None:
        self._presences = presences
        self._access = access
        self._hub = hub
        self._grace_s = grace_s
        self._refresh_s = refresh_s
        self._counts = counts
        self.channels: ChannelSet[UserKey, PresenceChannel] = ChannelSet(
            PresenceChannel,
            lambda key, handler: subscriber.subscribe_presence(*key, handler),
            on_subscribed=self._on_subscribed,
            on_message=self._on_message,
        )
        self._unchecked: dict[ConnectedDevice, set[UserId]] = {}
        self._checking: set[ConnectedDevice] = set()
        self._access_checks: WorkQueue[ConnectedDevice] = WorkQueue(
            self._check_access, _MAX_CONCURRENT_ACCESS_CHECKS, on_error
        )
        self._reads: WorkQueue[None] = WorkQueue(self._read_due, 1, on_error)
        self._queue: list[tuple[float, int, PresenceChannel]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def subscribe(self, device: ConnectedDevice, users: Iterable[UserId], *, resend: bool = False) -> None:
        """Subscribe the device, and check its access again if it is subscribed already.

        With `resend`, the device receives the current presence even if it has received it before.
        """
        for user in users:
            key = (device.key.tenant, user)
            known = self.channels.get(key)
            is_new = known is None or device not in known.devices
            channel = self.channels.enter(device, key)
            if is_new:
                channel.denied.add(device)
            elif resend:
                channel.devices[device] = False
            # Race: the rules change after the access was checked and before Redis has confirmed our subscription. We
            # would miss the hint, so check after the confirmation: `_on_subscribed` requests it.
            if channel.is_subscribed:
                self._request_check(device, user)

    def leave(self, device: ConnectedDevice, user: UserId) -> None:
        if device in self._unchecked:
            self._unchecked[device].discard(user)
        if (channel := self.channels.get((device.key.tenant, user))) is not None:
            channel.denied.discard(device)
        self.channels.leave(device, (device.key.tenant, user))

    def on_disconnected(self, device: ConnectedDevice) -> None:
        self._unchecked.pop(device, None)

    async def wait_idle(self) -> None:
        self.channels.close()
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        await self._access_checks.wait_idle(0)
        await self._reads.wait_idle(0)

    def _on_subscribed(self, channel: PresenceChannel) -> None:
        for device in channel.devices:
            self._request_check(device, channel.key[1])
        self._schedule_read(channel, BATCH_S * _random())

    def _request_check(self, device: ConnectedDevice, user: UserId) -> None:
        self._unchecked.setdefault(device, set()).add(user)
        self._access_checks.add(device)

    def _on_message(self, channel: PresenceChannel, payload: bytes) -> None:
        match payload.decode(errors="replace"):
            case PresenceHint.RULES:
                for device in list(channel.devices):
                    self._request_check(device, channel.key[1])
            case PresenceHint.CAME if channel.is_seen:
                # Race: a read that began before the registration finds the user offline and ends after this hint.
                # `next_presence` keeps the user online for the grace period, and a read at its end finds the route.
                self._show(channel, ARRIVED)
            case _:
                self._schedule_read(channel, BATCH_S)

    async def _check_access(self, device: ConnectedDevice) -> None:
        """Find out which of the requested users the device may see, with a few reads for all of them."""
        if device in self._checking:
            return  # The running check requests the next one at its end.
        users = self._unchecked.pop(device, set())
        if device.is_gone or not users:
            return
        self._checking.add(device)
        chats = {chat for chat, place in device.positions.items() if place.is_member}
        try:
            visible = await self._access.visible(device.key.tenant, device.user, chats, users)
        except TidingsError:
            asyncio.get_running_loop().call_later(_RETRY_S, self._check_access_again, device, users)
            return
        finally:
            self._checking.discard(device)
            if device in self._unchecked:
                self._access_checks.add(device)
        # Race: the rules change while the access is read. The user is unchecked again then, and the next check decides.
        for user in users - self._unchecked.get(device, set()):
            # Race: the device unsubscribes from the user or disconnects while its access is checked.
            channel = self.channels.get((device.key.tenant, user))
            if channel is None or device not in channel.devices:
                continue
            if user in visible:
                self._enter(device, channel)
            else:
                self._deny(device, channel)

    def _check_access_again(self, device: ConnectedDevice, users: set[UserId]) -> None:
        for user in users & _watched_users(device):
            self._request_check(device, user)

    def _deny(self, device: ConnectedDevice, channel: PresenceChannel) -> None:
        """Show the user as unknown, once."""
        was_sent = device in channel.denied and channel.devices[device]
        channel.denied.add(device)
        channel.devices[device] = True
        if not channel.is_seen:
            # No watcher may see the user, so nothing refreshes the presence. The next allowed watcher triggers a read.
            channel.watched = WatchedPresence()
        if not was_sent:
            self._push([device], channel.key[1], UNKNOWN)

    def _enter(self, device: ConnectedDevice, channel: PresenceChannel) -> None:
        if device in channel.denied:
            channel.denied.discard(device)
            channel.devices[device] = False
        if channel.watched.shown is not None:
            self._push_presence(channel, [] if channel.devices[device] else [device], channel.watched.shown)
        elif channel.is_subscribed:
            self._schedule_read(channel, 0.0)

    def _show(self, channel: PresenceChannel, after: WatchedPresence) -> None:
        """Send a change to all watchers, and the current presence to devices that have not received any."""
        before, channel.watched = channel.watched, after
        if after.shown is None:
            return
        to_all = has_changed(before, after)
        devices = [
            device
            for device, is_open in channel.devices.items()
            if (to_all or not is_open) and device not in channel.denied
        ]
        self._push_presence(channel, devices, after.shown)

    def _push_presence(
        self, channel: PresenceChannel, devices: Iterable[ConnectedDevice], shown: Presence
    ) -> None:
        """Push to live devices. A device that resumes receives the presence when it is live."""
        live = [device for device in devices if device.is_live]
        channel.devices.update({device: device.is_live for device in devices})
        self._push(live, channel.key[1], shown)

    def _push(self, devices: Iterable[ConnectedDevice], user: UserId, shown: Presence) -> None:
        sockets = [device.socket for device in devices]
        if sockets:
            frame = PresencePush(user=user, status=shown.status.value, at=shown.seen_ms)
            self._counts.presence += len(sockets)
            self._hub.send(encode_push(frame), sockets)

    def _schedule_read(self, channel: PresenceChannel, wait_s: float) -> None:
        channel.due_at = self._now() + wait_s
        heapq.heappush(self._queue, (channel.due_at, next(self._numbers), channel))
        self._set_timer()

    def _set_timer(self) -> None:
        if self._queue and (self._timer is None or self._timer_at > self._queue[0][0] + BATCH_S):
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = self._queue[0][0]
            self._timer = asyncio.get_running_loop().call_at(self._timer_at, self._start_reading)

    def _start_reading(self) -> None:
        self._timer = None
        self._reads.add(None)

    async def _read_due(self, _: None) -> None:
        """Read all users that are due, tenant by tenant."""
        due = self._take_due()
        for tenant, channels in groupby(sorted(due, key=lambda each: each.key), lambda each: each.key[0]):
            await self._read_presence(tenant, list(channels))
        self._set_timer()

    def _take_due(self) -> list[PresenceChannel]:
        due: dict[PresenceChannel, None] = {}
        until = self._now() + BATCH_S / 2
        while self._queue and self._queue[0][0] <= until and len(due) < _MAX_USERS_PER_READ:
            at, _, channel = heapq.heappop(self._queue)
            # Race: since this item was queued, a hint has scheduled another read, or the last device has left and the
            # channel is closed.
            if channel.due_at != at or self.channels.get(channel.key) is not channel:
                continue
            channel.due_at = 0.0
            if channel.is_seen:
                due[channel] = None
        return list(due)

    async def _read_presence(self, tenant: TenantId, channels: list[PresenceChannel]) -> None:
        self._counts.subscriptions += len(channels)
        try:
            found = await self._presences.read(tenant, [channel.key[1] for channel in channels])
        except UnavailableError:
            for channel in channels:
                self._schedule_read(channel, _RETRY_S * (0.5 + _random()))
            return
        for channel in channels:
            # Race: during the read, the last device that may see the user leaves or loses access. Nothing refreshes the
            # presence from then on, so the next watcher must not receive this one.
            if not channel.is_seen:
                continue
            if channel.key[1] not in found:
                self._schedule_read(channel, _RETRY_S * (0.5 + _random()))
                continue
            self._show(
                channel, next_presence(channel.watched, found[channel.key[1]], self._now(), self._grace_s)
            )
            # Race: a hint arrives while the presence is read, and the read may be older than the hint. The hint has set
            # `due_at`: do not replace its early read by a late one.
            if not channel.due_at:
                self._schedule_read(channel, self._next_s(channel.watched))

    def _next_s(self, watched: WatchedPresence) -> float:
        usual_s = self._refresh_s * (0.75 + 0.5 * _random())
        if watched.absent_since is None:
            return usual_s
        return min(usual_s, max(0.0, watched.absent_since + self._grace_s - self._now()) + BATCH_S / 2)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _watched_users(device: ConnectedDevice) -> set[UserId]:
    return set() if device.is_gone or device.subscriptions is None else set(device.subscriptions.users)


def _random() -> float:
    """Return a random number from 0 to 1, to spread reads."""
    return random.random()  # noqa: S311 - not a secret
