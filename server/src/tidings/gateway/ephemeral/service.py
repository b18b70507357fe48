"""Joins the signs of a gateway: what devices ask to be told of, what they tell, and who has come, stirred or gone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final

from tidings.bus.model import OwnReadAdvanced
from tidings.bus.ports import BusSubscriber
from tidings.delivery.model import ChatRow
from tidings.ephemeral.model import PresenceHint, TypingEvent, encode_event
from tidings.ephemeral.ports import BusPublisher, PresenceStore
from tidings.gateway.connected_device import ConnectedDevice, DeviceSubscriptions
from tidings.gateway.ephemeral.chat_subscriptions import ChatSubscriptions, ReadReceiptSnapshot
from tidings.gateway.ephemeral.presence import PresenceSubscriptions, PresenceVisibility
from tidings.gateway.hub import Hub
from tidings.gateway.stats import EphemeralStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings_wire.codec import encode_push
from tidings_wire.frames.ephemeral import MemberWatermarks, Receipts, Subscribe, Unsubscribe

OWN_READS: Final = 50
"""Of so many chats, the newest, a device that comes back is told how far its user has read meanwhile."""
_MAX_CONCURRENT_STOPS: Final = 16
_MAX_CONCURRENT_HINTS: Final = 64

type ErrorReporter = Callable[[str, BaseException], None]
type _Hint = tuple[TenantId, UserId, PresenceHint]


@dataclass(frozen=True, slots=True, kw_only=True)
class EphemeralOptions:
    """`subscriptions`: so many chats and users one device may look at. `presence_grace_s`: so long one is gone before that is told.

    `presence_refresh_s`: about how often each who is watched is looked up; a lease, so that dead gateways are noticed.
    """

    receipt_flush_s: float = 0.2
    subscriptions: int = 500
    presence_grace_s: float = 10.0
    presence_refresh_s: float = 30.0


class ReceiptSnapshots(ReadReceiptSnapshot, Protocol):
    async def may_report(self, chat: ChatKey, user: UserId, /) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EphemeralDeps:
    bus: BusPublisher
    whole: ReceiptSnapshots
    presences: PresenceStore
    seeing: PresenceVisibility
    options: EphemeralOptions = EphemeralOptions()


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
            deps.whole,
            hub,
            within_s=deps.options.receipt_flush_s,
            counts=self.counts,
            on_error=on_error,
        )
        self.presence_subscriptions = PresenceSubscriptions(
            subscriber,
            deps.presences,
            deps.seeing,
            hub,
            hold_s=deps.options.presence_grace_s,
            look_every_s=deps.options.presence_refresh_s,
            counts=self.counts,
            on_error=on_error,
        )
        self._aways: WorkQueue[ConnectedDevice] = WorkQueue(
            self._set_presence, _MAX_CONCURRENT_HINTS, on_error
        )
        self._hints: WorkQueue[_Hint] = WorkQueue(self._hint, _MAX_CONCURRENT_HINTS, on_error)
        self._stops: WorkQueue[tuple[ChatKey, UserId]] = WorkQueue(
            self._stop_typing, _MAX_CONCURRENT_STOPS, on_error
        )

    def subscribe(self, device: ConnectedDevice, asked: Subscribe) -> None:
        """What is not his to see is left out without a word: an error would tell that it is there."""
        looks = device.subscriptions = device.subscriptions or DeviceSubscriptions()
        chats, users = {ChatId(chat) for chat in asked.chats}, {UserId(user) for user in asked.users}
        most = self._deps.options.subscriptions
        if looks.would_have(chats, users) > most:
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"A device looks at no more than {most} chats and users.",
                hint="Unsubscribe from what is no longer on the screen.",
            )
        looks.chats.update(dict.fromkeys(chats))
        looks.users.update(dict.fromkeys(users))
        if device.is_live:
            for chat in chats:
                self.chats.subscribe(device, chat)
            self.presence_subscriptions.subscribe(device, users, anew=True)

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
        """In a large chat, or to somebody with a block between them, it is not passed on."""
        place = device.positions.get(chat)
        if place is None or not place.is_member or chat in device.large_chat_channels:
            return
        key = device.chat(chat)
        if not self.chats.is_open(device, chat) and not await self._deps.whole.may_report(key, device.user):
            return
        looks = device.subscriptions = device.subscriptions or DeviceSubscriptions()
        if is_typing:
            looks.typing[chat] = None
        else:
            looks.typing.pop(chat, None)
        await self._publish(key, TypingEvent(device.user, is_typing))
        if device.is_gone:
            self._stop_all(device)

    def own_read(self, word: OwnReadAdvanced) -> None:
        frame = _own(word.chat, word.user, word.read)
        for each in word.devices:
            device = self._hub.get(DeviceKey(word.tenant, word.user, each.device))
            if device is not None:
                self.counts.own_reads += 1
                device.connected.push(frame)

    def read(self, device: ConnectedDevice, rows: Sequence[ChatRow]) -> None:
        """A device that comes back: what its user has read on others meanwhile nobody has told it."""
        newest = sorted((row for row in rows if row.read), key=_activity, reverse=True)
        for row in newest[:OWN_READS]:
            self.counts.own_reads += 1
            device.connected.push(_own(row.chat, device.user, row.read_up_to))

    def live(self, device: ConnectedDevice) -> None:
        """It has resumed, for the first time or again: what it may have missed of what it looks at is told."""
        if device.subscriptions is not None:
            for chat in device.subscriptions.chats:
                self.chats.subscribe(device, chat)
            self.presence_subscriptions.subscribe(device, device.subscriptions.users)

    def membership_changed(self, device: ConnectedDevice, chat: ChatId, entry: Entry) -> None:
        """Somebody came in, was taken out, blocked or unblocked: what each of them may see is judged anew."""
        looks = device.subscriptions
        if looks is None or not device.is_live:
            return
        if chat in looks.chats:
            self.chats.subscribe(device, chat)
        concerned = (
            looks.users if device.user in entry.users else looks.users.keys() & {*entry.users, entry.sender}
        )
        self.presence_subscriptions.subscribe(device, concerned)

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
        """It has a new route. What it said of itself on the one before does not count there."""
        if device.subscriptions is not None and device.subscriptions.is_away:
            self._aways.add(device)
        self._hints.add((device.key.tenant, device.user, PresenceHint.CAME))

    def unrouted(self, tenant: TenantId, user: UserId) -> None:
        self._hints.add((tenant, user, PresenceHint.LEFT))

    def presence(self, device: ConnectedDevice, *, is_away: bool) -> None:
        looks = device.subscriptions = device.subscriptions or DeviceSubscriptions()
        looks.is_away = is_away
        self._aways.add(device)

    async def wait_idle(self, within_s: float) -> None:
        await self.chats.wait_idle()
        await self.presence_subscriptions.wait_idle()
        await self._aways.wait_idle(0)
        await self._hints.wait_idle(within_s)
        await self._stops.wait_idle(within_s)

    def _stop_all(self, device: ConnectedDevice) -> None:
        """Others are told that he types no more, because he can't tell them himself."""
        if device.subscriptions is not None:
            typing, device.subscriptions.typing = device.subscriptions.typing, {}
            for chat in typing:
                self._stops.add((device.chat(chat), device.user))

    async def _stop_typing(self, stop: tuple[ChatKey, UserId]) -> None:
        chat, user = stop
        await self._publish(chat, TypingEvent(user, is_typing=False))

    async def _set_presence(self, device: ConnectedDevice) -> None:
        """After the hint that it came: who hears this one looks."""
        looks = device.subscriptions
        if looks is None or not device.is_registered:
            return
        try:
            if await self._deps.presences.set_away(device.key, device.epoch, is_away=looks.is_away):
                await self._hint((device.key.tenant, device.user, PresenceHint.CHANGED))
        except UnavailableError:
            self.counts.lost += 1

    async def _hint(self, hint: _Hint) -> None:
        tenant, user, what = hint
        try:
            await self._deps.bus.publish_presence(tenant, user, what.encode())
        except UnavailableError:
            self.counts.lost += 1

    async def _publish(self, chat: ChatKey, sign: TypingEvent) -> None:
        try:
            await self._deps.bus.publish_ephemeral(chat, encode_event(sign))
        except UnavailableError:
            self.counts.lost += 1


def _own(chat: ChatId, user: UserId, read: int) -> bytes:
    return encode_push(Receipts(chat=chat, members=(MemberWatermarks(user=user, read=read),)))


def _activity(row: ChatRow) -> int:
    return row.known.shown.at_ms if row.known.shown else 0
