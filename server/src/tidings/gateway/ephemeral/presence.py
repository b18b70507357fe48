"""Presence of the people whom devices here look at: hints on their channels, and a look at the leases now and then.

Nobody publishes that a gateway has died: its routes run out, and whoever looks finds that. What is shown, and when, is
`ephemeral/rules.py`.
"""

import asyncio
import heapq
import random
from collections.abc import Callable, Collection, Iterable
from itertools import count, groupby
from typing import Final, Protocol, final

from tidings.bus.ports import BusSubscriber
from tidings.ephemeral.model import UNKNOWN, Presence, PresenceHint
from tidings.ephemeral.ports import PresenceStore
from tidings.ephemeral.rules import ARRIVED, WatchedPresence, has_changed, next_presence
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.ephemeral.chat_subscriptions import ChannelSet, PubSubChannel
from tidings.gateway.hub import Hub
from tidings.gateway.stats import EphemeralStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings_wire.codec import encode_push
from tidings_wire.frames.ephemeral import PresencePush

MAX_CONCURRENT_LOOKED_UP: Final = 500
TURN_S: Final = 0.1
"""Looks that are due about the same time leave together."""
_MAX_CONCURRENT_JUDGED: Final = 8
_RETRY_S: Final = 2.0

type UserKey = tuple[TenantId, UserId]
type ErrorReporter = Callable[[str, BaseException], None]


class PresenceVisibility(Protocol):
    async def visible(
        self, tenant: TenantId, viewer: UserId, chats: Collection[ChatId], users: Collection[UserId], /
    ) -> set[UserId]: ...


class PresenceChannel(PubSubChannel[UserKey]):
    """`due_at`: when he is looked up next; what stands in the queue for another time is void.

    `denied`: who may not see him. They are here all the same, to be judged anew when the rules change.
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
    """`hold_s`: how long one must be gone to be shown as gone. `look_every_s`: about how often each is looked up."""

    def __init__(
        self,
        subscriber: BusSubscriber,
        presences: PresenceStore,
        seeing: PresenceVisibility,
        hub: Hub[ConnectedDevice],
        *,
        hold_s: float,
        look_every_s: float,
        counts: EphemeralStats,
        on_error: ErrorReporter,
    ) -> None:
        self._presences = presences
        self._seeing = seeing
        self._hub = hub
        self._grace_s = hold_s
        self._refresh_s = look_every_s
        self._counts = counts
        self.channels: ChannelSet[UserKey, PresenceChannel] = ChannelSet(
            PresenceChannel, lambda key, hear: subscriber.subscribe_presence(*key, hear), self
        )
        self._asked: dict[ConnectedDevice, set[UserId]] = {}
        self._judging: WorkQueue[ConnectedDevice] = WorkQueue(self._judge, _MAX_CONCURRENT_JUDGED, on_error)
        self._looking: WorkQueue[None] = WorkQueue(self._refresh, 1, on_error)
        self._queue: list[tuple[float, int, PresenceChannel]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None
        self._turns_at = 0.0

    def subscribe(self, device: ConnectedDevice, users: Iterable[UserId], *, anew: bool = False) -> None:
        """Also for one who looks already: whether he may is judged anew. What he was told is told again with `anew`."""
        users = list(users)
        for user in users if anew else ():
            if (
                channel := self.channels.get((device.key.tenant, user))
            ) is not None and device in channel.devices:
                channel.devices[device] = False
        self._asked.setdefault(device, set()).update(users)
        if self._asked[device]:
            self._judging.add(device)

    def leave(self, device: ConnectedDevice, user: UserId) -> None:
        if device in self._asked:
            self._asked[device].discard(user)
        if (channel := self.channels.get((device.key.tenant, user))) is not None:
            channel.denied.discard(device)
        self.channels.leave(device, (device.key.tenant, user))

    def on_disconnected(self, device: ConnectedDevice) -> None:
        self._asked.pop(device, None)

    async def wait_idle(self) -> None:
        self.channels.close()
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        await self._judging.wait_idle(0)
        await self._looking.wait_idle(0)

    def on_subscribed(self, channel: PresenceChannel, /) -> None:
        self._schedule_refresh(channel, TURN_S * random.random())  # noqa: S311 - spreads look-ups

    def on_message(self, channel: PresenceChannel, payload: bytes, /) -> None:
        match payload.decode(errors="replace"):
            case PresenceHint.RULES:
                for device in list(channel.devices):
                    self.subscribe(device, [channel.key[1]])
            case PresenceHint.CAME if channel.is_seen:
                self._show(channel, ARRIVED)
            case _:
                self._schedule_refresh(channel, TURN_S)

    async def _judge(self, device: ConnectedDevice) -> None:
        """Whom of those he asked for he may see: a few reads for all of them."""
        users = self._asked.pop(device, set())
        if device.is_gone or not users:
            return
        chats = {chat for chat, place in device.positions.items() if place.is_member}
        try:
            visible = await self._seeing.visible(device.key.tenant, device.user, chats, users)
        except TidingsError:
            asyncio.get_running_loop().call_later(_RETRY_S, self._recheck_access, device, users)
            return
        wanted = (
            set(device.subscriptions.users)
            if device.subscriptions is not None and not device.is_gone
            else set()
        )
        for user in users & wanted:
            channel = self.channels.enter(device, (device.key.tenant, user))
            if user in visible:
                self._enter(device, channel)
            else:
                self._deny(device, channel)

    def _recheck_access(self, device: ConnectedDevice, users: set[UserId]) -> None:
        if not device.is_gone:
            self.subscribe(device, users)

    def _deny(self, device: ConnectedDevice, channel: PresenceChannel) -> None:
        """Once he has been told that nothing is known he is told no more."""
        was_told = device in channel.denied and channel.devices[device]
        channel.denied.add(device)
        channel.devices[device] = True
        if not channel.is_seen:
            # nobody looks him up now: who may see him again begins with a look
            channel.watched = WatchedPresence()
        if not was_told:
            self._push([device], channel.key[1], UNKNOWN)

    def _enter(self, device: ConnectedDevice, channel: PresenceChannel) -> None:
        if device in channel.denied:
            channel.denied.discard(device)
            channel.devices[device] = False
        if channel.watched.shown is not None:
            self._push_presence(channel, [] if channel.devices[device] else [device], channel.watched.shown)
        elif channel.is_subscribed:
            self._schedule_refresh(channel, 0.0)

    def _show(self, channel: PresenceChannel, after: WatchedPresence) -> None:
        """News go to all who look; to who has just begun to, whatever is shown."""
        before, channel.watched = channel.watched, after
        if after.shown is None:
            return
        everybody = has_changed(before, after)
        self._push_presence(
            channel,
            [
                device
                for device, is_open in channel.devices.items()
                if (everybody or not is_open) and device not in channel.denied
            ],
            after.shown,
        )

    def _push_presence(
        self, channel: PresenceChannel, devices: Iterable[ConnectedDevice], shown: Presence
    ) -> None:
        """Who resumes is told when he is through."""
        to = [device for device in devices if device.is_live]
        channel.devices.update({device: device.is_live for device in devices})
        self._push(to, channel.key[1], shown)

    def _push(self, devices: Iterable[ConnectedDevice], user: UserId, shown: Presence) -> None:
        sockets = [device.socket for device in devices]
        if sockets:
            frame = PresencePush(user=user, status=shown.status.value, at=shown.seen_ms)
            self._counts.presence += len(sockets)
            self._hub.send(encode_push(frame), sockets)

    def _schedule_refresh(self, channel: PresenceChannel, wait_s: float) -> None:
        channel.due_at = self._now() + wait_s
        heapq.heappush(self._queue, (channel.due_at, next(self._numbers), channel))
        self._arm()

    def _arm(self) -> None:
        if self._queue and (self._timer is None or self._turns_at > self._queue[0][0] + TURN_S):
            if self._timer is not None:
                self._timer.cancel()
            self._turns_at = self._queue[0][0]
            self._timer = asyncio.get_running_loop().call_at(self._turns_at, self._turn)

    def _turn(self) -> None:
        self._timer = None
        self._looking.add(None)

    async def _refresh(self, _: None) -> None:
        """All that are due, tenant by tenant, some at once."""
        due = self._take_due()
        for tenant, channels in groupby(sorted(due, key=lambda each: each.key), lambda each: each.key[0]):
            await self._read_presence(tenant, list(channels))
        self._arm()

    def _take_due(self) -> list[PresenceChannel]:
        due: dict[PresenceChannel, None] = {}
        until = self._now() + TURN_S / 2
        while self._queue and self._queue[0][0] <= until and len(due) < MAX_CONCURRENT_LOOKED_UP:
            at, _, channel = heapq.heappop(self._queue)
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
                self._schedule_refresh(channel, _RETRY_S * (0.5 + random.random()))  # noqa: S311 - as above
            return
        for channel in channels:
            if not channel.is_seen:
                continue
            if channel.key[1] not in found:
                self._schedule_refresh(channel, _RETRY_S * (0.5 + random.random()))  # noqa: S311 - as above
                continue
            self._show(
                channel, next_presence(channel.watched, found[channel.key[1]], self._now(), self._grace_s)
            )
            if not channel.due_at:
                self._schedule_refresh(channel, self._next_s(channel.watched))

    def _next_s(self, watched: WatchedPresence) -> float:
        usual_s = self._refresh_s * (0.75 + 0.5 * random.random())  # noqa: S311 - as above
        if watched.absent_since is None:
            return usual_s
        return min(usual_s, max(0.0, watched.absent_since + self._grace_s - self._now()) + TURN_S / 2)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
