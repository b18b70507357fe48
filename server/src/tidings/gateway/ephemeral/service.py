"""Receipts, typing and presence of one gateway: what its devices subscribe to, and what they publish."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from tidings.bus.model import OwnReadAdvanced
from tidings.bus.ports import BusPublisher, BusSubscriber
from tidings.delivery.model import ChatRow
from tidings.ephemeral.model import PresenceHint, PresenceStore, TypingEvent, encode_event
from tidings.ephemeral.presence import PresenceAccess
from tidings.ephemeral.receipts import ReceiptSnapshotReader
from tidings.gateway.connected_device import ConnectedDevice, DeviceSubscriptions
from tidings.gateway.ephemeral.chat_subscriptions import ChatSubscriptions
from tidings.gateway.ephemeral.presence import PresenceSubscriptions
from tidings.gateway.hub import Hub
from tidings.gateway.stats import EphemeralStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.debouncer import ErrorReporter
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings_wire.codec import encode_push
from tidings_wire.frames.ephemeral import MemberWatermarks, Receipts, Subscribe, Unsubscribe

OWN_READS: Final = 50
"""Number of chats, newest first, whose `read` watermark a resuming device receives."""
_MAX_CONCURRENT_STOPS: Final = 16
_MAX_CONCURRENT_HINTS: Final = 64

type _Hint = tuple[TenantId, UserId, PresenceHint]


@dataclass(frozen=True, slots=True, kw_only=True)
class EphemeralOptions:
    """`subscriptions`: maximum number of chats and users that a device may watch.

    `presence_grace_s`: time without a route until a user is shown as offline. `presence_refresh_s`: mean time between
    two reads of a watched user; the length of a lease, so that dead gateways are noticed.
    """

    receipt_flush_s: float = 0.2
    subscriptions: int = 500
    presence_grace_s: float = 10.0
    presence_refresh_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EphemeralDeps:
    bus: BusPublisher
    snapshots: ReceiptSnapshotReader
    presences: PresenceStore
    access: PresenceAccess
    options: EphemeralOptions = EphemeralOptions()
    on_presence: Callable[[TenantId, UserId], Awaitable[None]] | None = None
    """Called after each hint: the presence of the user may have changed. May raise."""


@final
class EphemeralService:
    def __init__(
        self,
        deps: EphemeralDeps,
        subscriber: BusSubscriber,
        hub: Hub[ConnectedDevice],
        on_error: ErrorReporter,
    ) -> None:
        self._deps = deps
        self._hub = hub
        self.counts = EphemeralStats()
        self.chats = ChatSubscriptions(
            subscriber,
            deps.snapshots,
            hub,
            within_s=deps.options.receipt_flush_s,
            counts=self.counts,
            on_error=on_error,
        )
        self.presence_subscriptions = PresenceSubscriptions(
            subscriber,
            deps.presences,
            deps.access,
            hub,
            grace_s=deps.options.presence_grace_s,
            refresh_s=deps.options.presence_refresh_s,
            counts=self.counts,
            on_error=on_error,
        )
        self._away_updates: WorkQueue[ConnectedDevice] = WorkQueue(
            self._set_presence, _MAX_CONCURRENT_HINTS, on_error
        )
        self._hints: WorkQueue[_Hint] = WorkQueue(self._hint, _MAX_CONCURRENT_HINTS, on_error)
        self._stops: WorkQueue[tuple[ChatKey, UserId]] = WorkQueue(
            self._stop_typing, _MAX_CONCURRENT_STOPS, on_error
        )

    def subscribe(self, device: ConnectedDevice, asked: Subscribe) -> None:
        """Subscribe to chats and users. Ignores those that the device may not see: an error would reveal that they exist."""
        subscriptions = device.subscriptions = device.subscriptions or DeviceSubscriptions()
        chats, users = {ChatId(chat) for chat in asked.chats}, {UserId(user) for user in asked.users}
        limit = self._deps.options.subscriptions
        if subscriptions.would_have(chats, users) > limit:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"A device may watch at most {limit} chats and users.",
                hint="Unsubscribe from chats and users that are no longer shown.",
            )
        subscriptions.chats.update(dict.fromkeys(chats))
        subscriptions.users.update(dict.fromkeys(users))
        # Race: the device subscribes while it resumes, when its memberships are not known yet; `on_live` subscribes it.
        # A device that has disconnected since the request arrived is not live either, and stays out.
        if device.is_live:
            for chat in chats:
                self.chats.subscribe(device, chat)
            self.presence_subscriptions.subscribe(device, users, resend=True)

    def unsubscribe(self, device: ConnectedDevice, asked: Unsubscribe) -> None:
        if device.subscriptions is None:
            return
        for name in asked.chats:
            device.subscriptions.chats.pop(ChatId(name), None)
            self.chats.leave(device, ChatId(name))
        for user in asked.users:
            device.subscriptions.users.pop(UserId(user), None)
            self.presence_subscriptions.leave(device, UserId(user))

    async def typing(self, device: ConnectedDevice, chat: ChatId, *, is_typing: bool) -> None:
        """Publish that the user types. Ignored in large chats and if there is a block in a direct chat."""
        place = device.positions.get(chat)
        if place is None or not place.is_member or chat in device.large_chat_channels:
            return
        key = device.chat(chat)
        if not self.chats.is_open(device, chat) and not await self._deps.snapshots.may_report(
            key, device.user
        ):
            return
        subscriptions = device.subscriptions = device.subscriptions or DeviceSubscriptions()
        if is_typing:
            subscriptions.typing[chat] = None
        else:
            subscriptions.typing.pop(chat, None)
        await self._publish(key, TypingEvent(device.user, is_typing))
        # Race: the device disconnects while its typing event is published, after `on_left` has ended its typing. Watchers
        # would see it type until their timeout, so end it again.
        if device.is_gone:
            self._stop_all(device)

    def on_own_read(self, message: OwnReadAdvanced) -> None:
        frame = _own_read_frame(message.chat, message.user, message.read)
        for target in message.devices:
            device = self._hub.get(DeviceKey(message.tenant, message.user, target.device))
            if device is not None:
                self.counts.own_reads += 1
                device.connected.push(frame)

    def send_own_reads(self, device: ConnectedDevice, rows: Sequence[ChatRow]) -> None:
        """Send a resuming device what its user has read on other devices in the meantime."""
        newest = sorted((row for row in rows if row.read), key=_last_activity_ms, reverse=True)
        for row in newest[:OWN_READS]:
            self.counts.own_reads += 1
            device.connected.push(_own_read_frame(row.chat, device.user, row.read_up_to))

    def on_live(self, device: ConnectedDevice) -> None:
        """Send a device that has resumed the current state of everything it watches: it may have missed events."""
        if device.subscriptions is not None:
            for chat in device.subscriptions.chats:
                self.chats.subscribe(device, chat)
            self.presence_subscriptions.subscribe(device, device.subscriptions.users)

    def on_membership_changed(self, device: ConnectedDevice, chat: ChatId, entry: Entry) -> None:
        """Check the device's access again after a join, leave, block or unblock."""
        subscriptions = device.subscriptions
        if subscriptions is None or not device.is_live:
            return
        if chat in subscriptions.chats:
            self.chats.subscribe(device, chat)
        affected: Iterable[UserId] = subscriptions.users
        if device.user not in entry.users:
            affected = subscriptions.users.keys() & {*entry.users, entry.sender}
        self.presence_subscriptions.subscribe(device, affected)

    def on_left(self, device: ConnectedDevice) -> None:
        if device.subscriptions is None:
            return
        for chat in device.subscriptions.chats:
            self.chats.leave(device, chat)
        for user in device.subscriptions.users:
            self.presence_subscriptions.leave(device, user)
        self.presence_subscriptions.on_disconnected(device)
        self._stop_all(device)

    def on_registered(self, device: ConnectedDevice) -> None:
        """Publish that a device has a new route, and set its away flag again: the flag belongs to a route."""
        if device.subscriptions is not None and device.subscriptions.is_away:
            self._away_updates.add(device)
        self._hints.add((device.key.tenant, device.user, PresenceHint.CAME))

    def on_unregistered(self, tenant: TenantId, user: UserId) -> None:
        self._hints.add((tenant, user, PresenceHint.LEFT))

    def presence(self, device: ConnectedDevice, *, is_away: bool) -> None:
        subscriptions = device.subscriptions = device.subscriptions or DeviceSubscriptions()
        subscriptions.is_away = is_away
        self._away_updates.add(device)

    async def wait_idle(self, within_s: float) -> None:
        await self.chats.wait_idle()
        await self.presence_subscriptions.wait_idle()
        await self._away_updates.wait_idle(0)
        await self._hints.wait_idle(within_s)
        await self._stops.wait_idle(within_s)

    def _stop_all(self, device: ConnectedDevice) -> None:
        """Publish that the user stopped typing, because their device has disconnected."""
        if device.subscriptions is not None:
            typing, device.subscriptions.typing = device.subscriptions.typing, {}
            for chat in typing:
                self._stops.add((device.chat(chat), device.user))

    async def _stop_typing(self, stop: tuple[ChatKey, UserId]) -> None:
        chat, user = stop
        await self._publish(chat, TypingEvent(user, is_typing=False))

    async def _set_presence(self, device: ConnectedDevice) -> None:
        """Set the away flag in Redis. A change publishes a hint, upon which watchers read the presence."""
        subscriptions = device.subscriptions
        if subscriptions is None or not device.is_registered:
            return
        try:
            # Race: the device registers a new route before Redis runs this script. The script compares the epoch and
            # changes nothing, and `on_registered` sets the flag of the new route.
            if await self._deps.presences.set_away(device.key, device.epoch, is_away=subscriptions.is_away):
                await self._hint((device.key.tenant, device.user, PresenceHint.CHANGED))
        except UnavailableError:
            self.counts.lost += 1

    async def _hint(self, hint: _Hint) -> None:
        tenant, user, kind = hint
        try:
            await self._deps.bus.publish_presence(tenant, user, kind.encode())
            if self._deps.on_presence is not None:
                await self._deps.on_presence(tenant, user)
        except UnavailableError:
            self.counts.lost += 1

    async def _publish(self, chat: ChatKey, event: TypingEvent) -> None:
        try:
            await self._deps.bus.publish_ephemeral(chat, encode_event(event))
        except UnavailableError:
            self.counts.lost += 1


def _own_read_frame(chat: ChatId, user: UserId, read: int) -> bytes:
    return encode_push(Receipts(chat=chat, members=(MemberWatermarks(user=user, read=read),)))


def _last_activity_ms(row: ChatRow) -> int:
    return row.known.shown.at_ms if row.known.shown else 0
