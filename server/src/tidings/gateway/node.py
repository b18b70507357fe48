"""A gateway node: joins the devices of this process with the bus, the connection registry and the services that push."""

from collections.abc import Sequence
from contextlib import suppress
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
from tidings.gateway.fanout.dispatcher import PushDispatcher, PushEvents, UndeliveredPush
from tidings.gateway.fanout.large_chats import LargeChatChannel, LargeChatChannels
from tidings.gateway.fanout.memberships import ChatRowPusher, MembershipEffects
from tidings.gateway.hub import Hub, LeaseRenewer
from tidings.gateway.inbox_notifier import InboxNotifier
from tidings.gateway.ports import ErrorReporter, NodeDeps
from tidings.gateway.resume.catch_up import CatchUp, GapFiller, RangeSender
from tidings.gateway.resume.quiet_rows import QuietRows
from tidings.gateway.resume.resume import ResumeService
from tidings.gateway.resume.resume_deps import ResumeDeps
from tidings.gateway.stats import GatewayStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey
from tidings_wire.close_codes import CloseCode

_MAX_CONCURRENT_REMOVALS: Final = 64
_MAX_CONCURRENT_JOINS: Final = 16

type _RemovedRoute = tuple[DeviceKey, int]
type _Join = tuple[ConnectedDevice, ChatId, int]


@final
class GatewayNode:
    def __init__(self, deps: NodeDeps, hub: Hub[ConnectedDevice], on_error: ErrorReporter) -> None:
        self._deps, self._hub, self._report = deps, hub, on_error
        self.counts = GatewayStats()
        self.is_draining = False
        """The gateway stops, so its devices reconnect to others."""
        self._listening: Subscription | None = None
        self._removals: WorkQueue[_RemovedRoute] = WorkQueue(self._remove, _MAX_CONCURRENT_REMOVALS, on_error)
        self._undelivered: WorkQueue[UndeliveredPush] = WorkQueue(
            self._on_undelivered, _MAX_CONCURRENT_REMOVALS, on_error
        )
        self._joins: WorkQueue[_Join] = WorkQueue(self._join, _MAX_CONCURRENT_JOINS, on_error)
        self._missed: WorkQueue[LargeChatChannel] = WorkQueue(
            self._compare_channel, _MAX_CONCURRENT_JOINS, on_error
        )
        self.large_chats = LargeChatChannels(deps.subscriber, self.on_message, self.on_missed)
        self.ephemeral = EphemeralService(deps.ephemeral, deps.subscriber, hub, on_error)
        self.inboxes = _inboxes(deps, on_error)
        self.chat_rows = ChatRowPusher(deps.chat_list, hub, on_error)
        quiet_after_s = deps.options.resume.quiet_after_s
        self.quiet_rows = QuietRows(deps.head_copier, deps.clock, quiet_after_s, on_error)
        ordinals = OrdinalCache()
        self.acks = AckBuffer(
            deps.watermarks,
            deps.queue,
            ordinals,
            is_large=self.large_chats.__contains__,
            flush_s=deps.options.ack_flush_s,
            report=on_error,
        )
        self._build_pushes(deps, ordinals)
        self.leases = LeaseRenewer(
            hub,
            deps.routes,
            deps.gateway,
            every_s=deps.options.renew_every_s,
            on_lost=self.resuming.resume_again,
            on_unconfirmed=self._subscribe_again,
        )

    def _build_pushes(self, deps: NodeDeps, ordinals: OrdinalCache) -> None:
        """Build what sends entries, in the order of dependence: ranges, resumes, gaps, pushes."""
        options, hub, on_error = deps.options, self._hub, self._report
        memberships = MembershipEffects(
            self.large_chats, self.chat_rows, self.ephemeral, self._subscribe_again
        )
        sender = RangeSender(ordinals, memberships)
        self.ranges = CatchUp(deps.history, sender, self.counts, options.ranges.tail)
        parts = ResumeDeps(
            deps.routes, deps.bus, self.large_chats, deps.rows, deps.queue, deps.chat_list, deps.history,
            self.ranges, sender, self.acks, self.ephemeral, self.quiet_rows,
        )  # fmt: skip
        self.resuming = ResumeService(
            parts,
            deps.gateway,
            options.resume,
            on_left=self.on_left,
            on_live=self._on_live,
            counts=self.counts,
            failpoints=deps.failpoints,
            report=on_error,
        )
        self.gap_filler = GapFiller(self.ranges, options.ranges.at_once, self.resuming.resume_again, on_error)
        events = PushEvents(
            on_undelivered=self._undelivered.add,
            on_became_large=self._on_became_large,
            on_late_leave=self._on_late_leave,
        )
        self.dispatcher = PushDispatcher(
            hub,
            deps.history,
            self.gap_filler,
            memberships,
            events,
            ordinals=ordinals,
            counts=self.counts,
            report=on_error,
            trace_push=deps.trace_push,
        )

    def start(self) -> None:
        """Subscribe to the channel of this gateway."""
        self._listening = self._deps.subscriber.subscribe_gateway(self._deps.gateway, self._on_bus_event)

    async def stop(self, within_s: float) -> None:
        """Remove the remaining routes and write the buffered acks. Call it after the last device has left."""
        if self._listening is not None:
            self._listening.close()
        self.large_chats.close()
        await self.dispatcher.wait_idle(0)
        # Race: a resume that is cancelled here may have registered a route after its device left. Its cleanup queues
        # the removal, and the removal queues a presence hint, so these two queues are emptied later, in this order.
        for part in (
            self.chat_rows,
            self.gap_filler,
            self.resuming,
            self.quiet_rows,
            self._joins,
            self._missed,
        ):
            await part.wait_idle(0)
        await self._undelivered.wait_idle(0)
        await self.acks.wait_idle(within_s)
        await self.inboxes.wait_idle(0)
        await self._removals.wait_idle(within_s)
        with suppress(UnavailableError):
            await self._deps.routes.sign_off(self._deps.gateway)
        await self.ephemeral.wait_idle(within_s)

    def on_left(self, device: ConnectedDevice) -> None:
        """Clean up after a device has disconnected. Idempotent: a resume that was in progress calls it again."""
        device.is_gone, device.is_live, device.is_registered = True, False, False
        self.acks.flush_user(device.key.tenant, device.user)
        self._check_unacked(device)
        self.large_chats.leave_all(device)
        self.ephemeral.on_left(device)
        self.inboxes.on_left(device)
        if device.epoch:
            # Race: the device reconnects, here or elsewhere, before its old route is removed. The removal names the
            # epoch, so the registry keeps the newer route.
            self._removals.add((device.key, device.epoch))
            device.epoch = 0

    def _check_unacked(self, device: ConnectedDevice) -> None:
        """Request a check of everything that was written into the socket and not acknowledged."""
        for chat, first, last in device.unacked():
            self._deps.offline_checks.check(
                device.chat(chat), [device.user], first, last, is_reconnecting=self.is_draining
            )
        device.forget_unacked()

    def _on_late_leave(self, device: ConnectedDevice, chat: ChatId, at: int) -> None:
        """Unsubscribe a device from a large chat after a late push of its user's leave at `at`, and resume it.

        Race between a resume and the delivery worker: the device read the leave from the log, then resumed from a chat
        row into which the worker had not yet written the leave, and so subscribed again. The push shows that the row
        is written now. The resume subscribes the device again if its user has rejoined since.
        """
        position = device.positions.get(chat)
        if position is not None and (not position.is_member or at < position.since < NEVER_JOINED):
            return
        if not device.is_live:
            # The resume in progress may have read the row before the worker wrote the leave. `_on_live` checks again.
            device.late_leaves = {**(device.late_leaves or {}), chat: at}
            return
        if position is not None:
            position.is_member = False
        self.large_chats.leave(device, chat)
        self.resuming.resume_again(device)

    def _on_live(self, device: ConnectedDevice) -> None:
        """Continue after a resume: apply leaves that arrived during it, then send the state that the device watches.

        That state is the receipts and presence of its subscriptions and the counts of its inboxes, read in the
        background. Their events may have been missed while the device had no route.
        """
        leaves, device.late_leaves = device.late_leaves, None
        for chat, at in (leaves or {}).items():
            self._on_late_leave(device, chat, at)
        self.ephemeral.on_live(device)
        self.inboxes.on_live(device)

    def on_message(self, channel: LargeChatChannel, payload: bytes, /) -> None:
        """Receive a message from the channel of a large chat."""
        for message in self._decode(payload):
            if isinstance(message, Push):
                self.dispatcher.submit(message, channel)

    def on_missed(self, channel: LargeChatChannel, /) -> None:
        """Compare the devices of a channel with the chat's head: what was published before may have been missed."""
        for device in channel.devices:
            device.unconfirmed_channels.pop(channel.key.chat, None)
        self._missed.add(channel)

    def _on_bus_event(self, event: BusEvent) -> None:
        match event:
            case Subscribed():
                # Earlier messages were not received, so all devices resume. Race: a worker
                # that found no subscriber on this channel may still delete the routes that it looked up. Each device
                # therefore registers a new route, with a new epoch, which that worker cannot delete.
                for device in self._hub:
                    device.is_registered = False
                    self.resuming.resume_again(device)
            case SubscriptionLost():
                pass
            case payload:
                for message in self._decode(payload):
                    self._handle(message)

    def _decode(self, payload: bytes) -> tuple[BusMessage, ...]:
        try:
            return decode_messages(payload)
        except msgspec.DecodeError as error:
            self._report("a bus message could not be decoded", error)
            return ()

    def _handle(self, message: BusMessage) -> None:
        match message:
            case Push():
                self.dispatcher.submit(message)
            case ResumeSignal():
                for each in message.devices:
                    device = self._hub.get(DeviceKey(message.tenant, message.user, each.device))
                    if device is not None:
                        self.resuming.resume_again(device)
            case InboxChanged():
                self.inboxes.on_inbox_changed(message)
            case OwnReadAdvanced():
                self.acks.cover(ChatKey(message.tenant, message.chat), message.user, message.read)
                self.ephemeral.on_own_read(message)
            case ChatRowChanged():
                self.chat_rows.changed(message)
            case ConnectionReplaced():
                # Race: the device may have reconnected here meanwhile. Its newer connection has a higher epoch.
                device = self._hub.get(DeviceKey(message.tenant, message.user, message.device))
                if device is not None and device.epoch < message.epoch:
                    device.connected.close(CloseCode.REPLACED)

    async def _remove(self, route: _RemovedRoute) -> None:
        key, epoch = route
        try:
            existed = await self._deps.routes.remove(key, self._deps.gateway, epoch, is_closed=True)
        except UnavailableError:
            return
        if existed:
            self.ephemeral.on_unregistered(key.tenant, key.user)

    async def _on_undelivered(self, push: UndeliveredPush) -> None:
        """Remove the stale route of a push, and request an offline check of its messages."""
        user, device, epoch = push.target
        await self._remove((DeviceKey(push.chat.tenant, user, device), epoch))
        if push.messages:
            first, last = push.messages[0].sequence, push.messages[-1].sequence
            self._deps.offline_checks.check(push.chat, [user], first, last, is_reconnecting=self.is_draining)

    def _on_became_large(self, device: ConnectedDevice, chat: ChatId, last: int) -> None:
        # Race: the worker publishes the next entries on the chat's channel, possibly before this device subscribes.
        # `_join` therefore compares the device with the head after it has subscribed.
        self._joins.add((device, chat, last))

    def _subscribe_again(self, device: ConnectedDevice, chat: ChatId) -> None:
        self._joins.add((device, chat, 0))

    async def _join(self, job: _Join) -> None:
        """Subscribe a device to a large chat, then compare its position with the chat's head.

        In this order: entries before the subscription are included in the head, entries after it are received.
        """
        device, chat, last = job
        position = device.positions.get(chat)
        # Race: the push that made the chat large may arrive after the user's leave. A device that has received the push
        # and is no member must not subscribe. One that is yet to receive it may be about to rejoin.
        has_left = position is not None and position.position >= last and not position.is_member
        device.unconfirmed_channels.pop(chat, None)
        if has_left or (
            chat in device.large_chat_channels and self.large_chats.is_subscribed(device.chat(chat))
        ):
            return
        # Race: the user's leave is sent to the device during this wait and unsubscribes it. `enter` added the device
        # before the wait and does not add it again, so the device stays unsubscribed.
        if not await self.large_chats.enter(device, chat):
            # Redis does not confirm the channel. Compare now, at each lease renewal and after the confirmation.
            device.unconfirmed_channels[chat] = None
        await self._compare(device.chat(chat), [device])

    async def _compare_channel(self, channel: LargeChatChannel) -> None:
        await self._compare(channel.key, list(channel.devices))

    async def _compare(self, chat: ChatKey, devices: Sequence[ConnectedDevice]) -> None:
        """Read the chat's head once, then fill the gaps of all devices that are behind it."""
        try:
            heads = await self._deps.rows.heads(chat.tenant, [chat.chat])
        except Exception as error:
            for device in devices:
                self.resuming.resume_again(device)
            if not isinstance(error, TidingsError):
                raise
            return
        update = heads.get(chat.chat)
        head = update.head.sequence if update is not None and update.head is not None else 0
        for device in devices:
            if chat.chat in device.positions or (head and not device.is_live):
                # Race: a device in its first resume has no position in the chat yet, and the resume may have read the
                # head before this entry was published. Record the head; the resume compares it with its position.
                device.on_push(chat.chat, head, head)
                self.gap_filler.schedule(device, chat.chat)


def _inboxes(deps: NodeDeps, on_error: ErrorReporter) -> InboxNotifier:
    broadcasts = BroadcastNotifier(
        deps.inboxes,
        deps.subscriber,
        on_error,
        clock=deps.clock,
        spread_s=deps.options.broadcast_spread_s,
    )
    return InboxNotifier(deps.inboxes, broadcasts, on_error)
