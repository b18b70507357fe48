"""Joins what makes a gateway one of many: its own channel, its devices' routes, large chats, resuming, acks.

Hears words, tells them apart, and knows who has come and gone. What each of them means is in the files it joins.
"""

from collections.abc import Mapping, Sequence
from typing import Final, final

import msgspec

from tidings.bus.model import (
    BusMessage,
    ChatRowChanged,
    ConnectionReplaced,
    InboxChanged,
    OwnReadAdvanced,
    Push,
    ResumeSignal,
    decode_messages,
)
from tidings.bus.ports import BusEvent, Subscribed, Subscription, SubscriptionLost
from tidings.gateway.ack_buffer import AckBuffer, OrdinalCache
from tidings.gateway.broadcast_notifier import BroadcastNotifier
from tidings.gateway.connected_device import NEVER_JOINED, ConnectedDevice
from tidings.gateway.ephemeral.service import EphemeralService
from tidings.gateway.fanout.dispatcher import PushDispatcher, PushRenderer, UndeliveredPush
from tidings.gateway.fanout.large_chats import ChatRowPusher, LargeChatChannel, LargeChatChannels
from tidings.gateway.hub import Hub, LeaseRenewer
from tidings.gateway.inbox_notifier import InboxNotifier
from tidings.gateway.node_deps import ErrorReporter, NodeDeps
from tidings.gateway.resume.catch_up import CatchUp, OnCharge, RangeSender, ResumeDeps
from tidings.gateway.resume.resume import ResumeService
from tidings.gateway.stats import GatewayStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.session import Resume, Resumed

_MAX_CONCURRENT_REMOVED: Final = 64
_MAX_CONCURRENT_JOINED: Final = 16

type _RemovedRoute = tuple[DeviceKey, int]


@final
class GatewayNode:
    def __init__(self, deps: NodeDeps, hub: Hub[ConnectedDevice], on_error: ErrorReporter) -> None:
        self._deps, self._hub = deps, hub
        self.counts = GatewayStats()
        options, ordinals = deps.options, OrdinalCache()
        sending = RangeSender(ordinals)
        self.acks = AckBuffer(
            deps.marking, deps.queue, ordinals, within_s=options.ack_flush_s, report=on_error
        )
        self.ranges = CatchUp(deps.history, sending, self.counts, options.ranges, on_error)
        self.large_chats = LargeChatChannels(deps.subscriber, self)
        parts = ResumeDeps(
            deps.routes, deps.bus, self.large_chats, deps.rows, deps.queue, deps.listing, deps.history,
            self.ranges, sending, self.acks,
        )  # fmt: skip
        self.resuming = ResumeService(
            parts,
            deps.gateway,
            options.resume,
            counts=self.counts,
            failpoints=deps.failpoints,
            report=on_error,
        )
        self.dispatcher = PushDispatcher(
            hub,
            PushRenderer(deps.history),
            self.ranges,
            ordinals=ordinals,
            counts=self.counts,
            report=on_error,
        )
        self.leases = LeaseRenewer(
            hub, deps.routes, deps.gateway, self.resuming.resume_again, every_s=options.renew_every_s
        )
        self.chat_rows = ChatRowPusher(deps.rows, deps.listing, hub, on_error)
        self.ephemeral = EphemeralService(deps.ephemeral, deps.subscriber, hub, on_error)
        self.inboxes = _inboxes(deps, on_error)
        self._create_work_queues(on_error)
        self._listening: Subscription | None = None
        self._report = on_error
        self._connect_callbacks()

    def _create_work_queues(self, on_error: ErrorReporter) -> None:
        self._removals: WorkQueue[_RemovedRoute] = WorkQueue(self._remove, _MAX_CONCURRENT_REMOVED, on_error)
        self._aways: WorkQueue[UndeliveredPush] = WorkQueue(
            self._on_undelivered, _MAX_CONCURRENT_REMOVED, on_error
        )
        self._joins: WorkQueue[tuple[ConnectedDevice, ChatId, int]] = WorkQueue(
            self._join, _MAX_CONCURRENT_JOINED, on_error
        )
        self._missed: WorkQueue[LargeChatChannel] = WorkQueue(
            self._catch_up, _MAX_CONCURRENT_JOINED, on_error
        )

    def _connect_callbacks(self) -> None:
        """Whoever has something to tell another gets to know him."""
        self.ranges.on_gap = self.resuming.resume_again
        self.resuming.on_left = self.on_left
        self.resuming.on_read = self.ephemeral.read
        self.resuming.on_live = self._live
        self.resuming.on_registered = self.ephemeral.on_registered
        self.dispatcher.on_undelivered = self._aways.add
        self.dispatcher.on_became_large = lambda device, push: self._joins.add(
            (device, push.chat, push.entries[-1].sequence)
        )
        self.dispatcher.on_late_leave = self._on_late_leave
        self.leases.unheard = lambda device, chat: self._joins.add((device, chat, 0))

    def start(self) -> None:
        self._listening = self._deps.subscriber.subscribe_gateway(self._deps.gateway, self._on_bus_event)

    async def stop(self, within_s: float) -> None:
        """After the last device has left: its route is taken out, its acks are written."""
        if self._listening is not None:
            self._listening.close()
        self.large_chats.close()
        await self.dispatcher.wait_idle(0)
        for part in (self.chat_rows, self.ranges, self.resuming, self._joins, self._missed, self._aways):
            await part.wait_idle(0)
        await self.acks.wait_idle(within_s)
        await self.inboxes.wait_idle(0)
        await self._removals.wait_idle(within_s)
        await self.ephemeral.wait_idle(within_s)

    async def resume(
        self, device: ConnectedDevice, asked: Resume, epoch: int, charge: OnCharge | None = None, /
    ) -> Resumed:
        return await self.resuming(device, asked, epoch, charge)

    def acked(self, device: ConnectedDevice, delivered: Mapping[str, int], /) -> dict[str, int]:
        """Those of which nothing is known here: the slow way is to judge them."""
        return {c: n for c, n in delivered.items() if not self.acks.take(device, ChatId(c), n)}

    def entered(self, device: ConnectedDevice) -> None:
        device.on_left = lambda chat: self.large_chats.leave(device, chat)
        device.on_rejoined = lambda chat: self._joins.add((device, chat, 0))
        device.joined = lambda chat: self.chat_rows.joined(device, chat)
        device.on_membership_changed = lambda chat, entry: self.ephemeral.membership_changed(
            device, chat, entry
        )

    def on_left(self, device: ConnectedDevice) -> None:
        """Also more than once: what a resume builds up after the end of its device is taken down again."""
        device.is_gone, device.is_live, device.is_registered = True, False, False
        self.large_chats.leave_all(device)
        self.ephemeral.on_left(device)
        self.inboxes.on_left(device)
        if device.epoch:
            self._removals.add((device.key, device.epoch))
            device.epoch = 0

    def _on_late_leave(self, device: ConnectedDevice, chat: ChatId, at: int) -> None:
        """He may have read of his leave in the log, then resumed by a row that did not know of it, and listen again.

        The row is written by now. So he listens no more, and resumes: who is in again is let in by that.
        """
        place = device.positions.get(chat)
        if place is not None and (not place.is_member or at < place.since < NEVER_JOINED):
            return
        if not device.is_live:
            device.ends = {**(device.ends or {}), chat: at}
            return
        if place is not None:
            place.is_member = False
        self.large_chats.leave(device, chat)
        self.resuming.resume_again(device)

    def _live(self, device: ConnectedDevice) -> None:
        ends, device.ends = device.ends, None
        for chat, at in (ends or {}).items():
            self._on_late_leave(device, chat, at)
        self.ephemeral.live(device)
        self.inboxes.live(device)

    def on_message(self, room: LargeChatChannel, payload: bytes, /) -> None:
        for word in self._on_bus_messages(payload):
            if isinstance(word, Push):
                self.dispatcher.submit(word, room)

    def missed(self, room: LargeChatChannel, /) -> None:
        for device in room.devices:
            device.unheard.pop(room.key.chat, None)
        self._missed.add(room)

    def _on_bus_event(self, event: BusEvent) -> None:
        """What was said before the channel stood, or while it was lost, nobody has heard: everybody resumes.

        Under a new route each: whoever found nobody listening may still be about to delete the one that he knew.
        """
        match event:
            case Subscribed():
                for device in self._hub:
                    device.is_registered = False
                    self.resuming.resume_again(device)
            case SubscriptionLost():
                pass
            case payload:
                for word in self._on_bus_messages(payload):
                    self._do(word)

    def _on_bus_messages(self, payload: bytes) -> tuple[BusMessage, ...]:
        try:
            return decode_messages(payload)
        except msgspec.DecodeError as error:
            self._report("a word that can't be read", error)
            return ()

    def _do(self, message: BusMessage) -> None:
        match message:
            case Push():
                self.dispatcher.submit(message)
            case ResumeSignal():
                for each in message.devices:
                    device = self._hub.get(DeviceKey(message.tenant, message.user, each.device))
                    if device is not None:
                        self.resuming.resume_again(device)
            case InboxChanged():
                self.inboxes.noticed(message)
            case OwnReadAdvanced():
                self.ephemeral.own_read(message)
            case ChatRowChanged():
                self.chat_rows.changed(message)
            case ConnectionReplaced():
                device = self._hub.get(DeviceKey(message.tenant, message.user, message.device))
                if device is not None and device.epoch < message.epoch:
                    device.connected.close(CloseCode.REPLACED)

    async def _remove(self, gone: _RemovedRoute) -> None:
        key, epoch = gone
        try:
            was_there = await self._deps.routes.remove(key, self._deps.gateway, epoch)
        except UnavailableError:
            return
        if was_there:
            self.ephemeral.unrouted(key.tenant, key.user)

    async def _on_undelivered(self, away: UndeliveredPush) -> None:
        """Pushed to a device that has left: its route goes, and if its user has no other he is away."""
        user, device, epoch = away.addressee
        await self._remove((DeviceKey(away.chat.tenant, user, device), epoch))
        others = await self._deps.routes.look_up(away.chat.tenant, [user])
        if away.messages and user not in others.unknown and user not in others.found:
            await self._deps.offline_notifier.notify_offline(away.chat, user, away.messages)

    async def _join(self, job: tuple[ConnectedDevice, ChatId, int]) -> None:
        """Listen first, then hold the position against the head: what was said before is in it.

        Not for who has left since: the entry that made the chat large may come late, after his leave. Who is yet to
        be sent the entry may be on his way back in.
        """
        device, chat, last = job
        place = device.positions.get(chat)
        has_left = place is not None and place.position >= last and not place.is_member
        device.unheard.pop(chat, None)
        if has_left or (
            chat in device.large_chat_channels and self.large_chats.is_subscribed(device.chat(chat))
        ):
            return
        if not await self.large_chats.enter(device, chat):
            # Only this chat can't be heard. It is compared now, by each heartbeat, and when its channel is confirmed.
            device.unheard[chat] = None
        await self._compare(device.chat(chat), [device])

    async def _catch_up(self, room: LargeChatChannel) -> None:
        await self._compare(room.key, list(room.devices))

    async def _compare(self, chat: ChatKey, devices: Sequence[ConnectedDevice]) -> None:
        """One read for all of them; then a range for each that is behind."""
        try:
            heads = await self._deps.rows.heads(chat.tenant, [chat.chat])
        except Exception as error:
            for device in devices:
                self.resuming.resume_again(device)
            if not isinstance(error, TidingsError):
                raise
            return
        news = heads.get(chat.chat)
        head = news.head.sequence if news is not None and news.head is not None else 0
        for device in devices:
            if chat.chat in device.positions or (head and not device.is_live):
                # A device in its first resume has no place in the chat yet, and may have read the chat's head before
                # this entry was published: what is noted now is compared with the place that the resume makes.
                device.on_push(chat.chat, head, head)
                self.ranges.schedule(device, chat.chat)


def _inboxes(deps: NodeDeps, on_error: ErrorReporter) -> InboxNotifier:
    broadcasts = BroadcastNotifier(
        deps.inboxes,
        deps.broadcast_subscriber,
        on_error,
        clock=deps.clock,
        spread_s=deps.options.broadcast_spread_s,
    )
    return InboxNotifier(deps.inboxes, broadcasts, on_error)
