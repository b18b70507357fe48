"""Dispatch pushes from the bus to the devices of this process.

The gateway decrypts and encodes a push once for all devices. An entry has two forms, because only the sender's own
devices see its `client_message_id`. An entry that changes a message has two more: a member who joined after that
message may see that it was changed, but not its content.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from tidings.bus.model import DeviceTarget, Push, PushSlice
from tidings.gateway.ack_buffer import OrdinalCache
from tidings.gateway.connected_device import VISIBILITY_KINDS, ConnectedDevice, PushAction
from tidings.gateway.fanout.large_chats import LargeChatChannel
from tidings.gateway.fanout.memberships import MembershipEffects
from tidings.gateway.frames import entry_push_frame, referenced_messages
from tidings.gateway.hub import Hub
from tidings.gateway.ports import TracePush
from tidings.gateway.resume.catch_up import GapFiller
from tidings.gateway.stats import GatewayStats
from tidings.gateway.transport.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.history import History, VisibleEntry
from tidings.messages.model import Entry, EntryKind
from tidings_wire.codec import encode_push


@final
class RenderedEntry:
    """One entry of a push. Each frame is encoded on first use and then shared."""

    __slots__ = ("_changed", "_chat", "_frames", "_shown", "entry", "refers_to")

    def __init__(self, chat: ChatId, shown: VisibleEntry, changed: VisibleEntry | None) -> None:
        self.entry: Entry = shown.entry
        self.refers_to = 0 if changed is None else changed.entry.sequence
        self._chat = chat
        self._shown = shown
        self._changed = changed
        self._frames: dict[tuple[bool, bool], bytes] = {}

    def frame(self, user: UserId, since: int) -> bytes:
        """Return the frame for a user who joined the chat at `since`."""
        is_own = user == self.entry.sender
        sees_changed = self.refers_to >= since
        frame = self._frames.get((is_own, sees_changed))
        if frame is None:
            changed = self._changed if sees_changed else None
            frame = encode_push(entry_push_frame(self._chat, self._shown, is_own=is_own, changed=changed))
            self._frames[is_own, sees_changed] = frame
        return frame


MAX_WAITING: Final = 256
"""Pushes of one chat that may wait for decryption. Beyond that, devices only record the sequences of the oldest push and
read its entries from the log.
"""


@dataclass(frozen=True, slots=True, eq=False)
class UndeliveredPush:
    """A push to a device that is not connected here. `messages`: those that other users sent to it."""

    chat: ChatKey
    target: DeviceTarget
    messages: tuple[Entry, ...]


class _Recipient(NamedTuple):
    """A device, and the range of the push that it may receive."""

    device: ConnectedDevice
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PushEvents:
    """Callbacks of the dispatcher.

    on_undelivered: the device of a push is not connected here.
    on_became_large: the device must subscribe to the channel of the chat, which has become large. With the last
        sequence of the push.
    on_late_leave: the user's leave from a large chat was pushed after the device had received it, or while it resumes.
        With the sequence of the leave.
    """

    on_undelivered: Callable[[UndeliveredPush], None]
    on_became_large: Callable[[ConnectedDevice, ChatId, int], None]
    on_late_leave: Callable[[ConnectedDevice, ChatId, int], None]


@final
class PushDispatcher:
    def __init__(
        self,
        hub: Hub[ConnectedDevice],
        history: History,
        gap_filler: GapFiller,
        memberships: MembershipEffects,
        events: PushEvents,
        *,
        ordinals: OrdinalCache,
        counts: GatewayStats,
        report: Callable[[str, BaseException], None],
        trace_push: TracePush | None = None,
    ) -> None:
        self._hub = hub
        self._history = history
        self._gap_filler = gap_filler
        self._memberships = memberships
        self._events = events
        self._ordinals = ordinals
        self._counts = counts
        self._report = report
        self._trace_push = trace_push
        self._waiting: dict[ChatKey, deque[tuple[Push, LargeChatChannel | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, push: Push, channel: LargeChatChannel | None = None) -> None:
        """Queue a push. `channel` is set if it was published on the channel of a large chat."""
        # One task for each chat. Two pushes that are decrypted concurrently could overtake each other.
        self._counts.pushes += 1
        waiting = self._waiting.get(push.key)
        if waiting is not None:
            waiting.append((push, channel))
            if len(waiting) > MAX_WAITING:
                self._record_only(*waiting.popleft())
            return
        self._waiting[push.key] = deque([(push, channel)])
        task = asyncio.get_running_loop().create_task(self._run(push.key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def wait_idle(self, within_s: float) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within_s)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, chat: ChatKey) -> None:
        waiting = self._waiting[chat]
        try:
            while waiting:
                push, channel = waiting.popleft()
                try:
                    if push.traces and self._trace_push is not None:
                        with self._trace_push(push):
                            await self._push(push, channel)
                    else:
                        await self._push(push, channel)
                except Exception as error:  # noqa: BLE001 - the pushes behind it must still be sent
                    self._report("a push failed", error)
        finally:
            # Race: `submit` queues a push while this task ends. Nothing is awaited between the last check of `waiting`
            # and this line, so the push is either taken by this task or starts a new one.
            del self._waiting[chat]

    async def _push(self, push: Push, channel: LargeChatChannel | None) -> None:
        try:
            rendered = await self._render(push)
        except Exception:  # noqa: BLE001 - keys or content are unavailable: each device reads the range, with retries
            rendered = []
        if rendered:
            self._ordinals.note(push.key, push.entries)
        # Race: devices connect and disconnect while `_render` awaits. The recipients are therefore determined after
        # it, and nothing is awaited from here to the write of the frames.
        recipients = self._recipients(push, channel)
        self._send(push, rendered, [to for each in recipients if (to := self._offer(push, each, rendered))])

    async def _render(self, push: Push) -> Sequence[RenderedEntry]:
        """Decrypt the entries. Changed messages are read for each push: a cached one may be redacted by the next."""
        shown = await self._history.show(push.key, push.entries)
        changed = await self._history.now(push.key, referenced_messages(push.entries))
        return [RenderedEntry(push.chat, each, changed.get(each.entry.refers_to or 0)) for each in shown]

    def _record_only(self, push: Push, channel: LargeChatChannel | None) -> None:
        # A device without a position in the chat would otherwise start after this push and never read it.
        for recipient in self._recipients(push, channel):
            self._offer(push, recipient, [])

    def _recipients(self, push: Push, channel: LargeChatChannel | None) -> Iterator[_Recipient]:
        return self._addressed(push) if channel is None else self._subscribed(push, channel)

    def _addressed(self, push: Push) -> Iterator[_Recipient]:
        for part in push.parts:
            for target in part.devices:
                # Race: the device has reconnected here since the worker looked up its route, so the push has the epoch
                # of the old one. The new connection compares the push with its own position, or records it while it
                # resumes.
                device = self._hub.get(DeviceKey(push.tenant, target.user, target.device))
                if device is None:
                    self._counts.undelivered += 1
                    messages = tuple(_messages_of_others(push, part, target.user))
                    self._events.on_undelivered(UndeliveredPush(push.key, target, messages))
                else:
                    yield _Recipient(device, part.first, part.last)

    def _subscribed(self, push: Push, channel: LargeChatChannel) -> Iterator[_Recipient]:
        """Yield the devices of a channel. A user who is removed by an entry receives that entry and none after it."""
        first, last = push.entries[0].sequence, push.entries[-1].sequence
        leaves = _first_leaves(push)
        for device in list(channel.devices):
            yield _Recipient(device, first, leaves.get(device.user, last))

    def _offer(
        self, push: Push, recipient: _Recipient, rendered: Sequence[RenderedEntry]
    ) -> _Recipient | None:
        """Return the range to send now, or None. A push that could not be decrypted counts as a gap."""
        device, first, last = recipient
        # `offered` advances the position, so read it before.
        position = device.positions.get(push.chat)
        before = position.position if position is not None else first - 1
        action = (
            device.offered(push.chat, first, last) if rendered else device.on_push(push.chat, first, last)
        )
        self._count(action)
        if action is PushAction.GAP:
            self._gap_filler.schedule(device, push.chat)
        if push.is_large and _removes(push, last, device.user):
            if action is PushAction.DUPLICATE or not device.is_live:
                self._events.on_late_leave(device, push.chat, last)
        elif push.is_large and push.parts:
            self._events.on_became_large(device, push.chat, push.entries[-1].sequence)
        return recipient._replace(first=max(first, before + 1)) if action is PushAction.SEND else None

    def _send(self, push: Push, rendered: Sequence[RenderedEntry], recipients: Sequence[_Recipient]) -> None:
        # Entry by entry: each frame goes to all of its receivers at once. Nothing is awaited between the advance of a
        # position and the write of its frame, so a range reader cannot send a later entry in between.
        for each in rendered:
            sequence, is_visibility_change = each.entry.sequence, each.entry.kind in VISIBILITY_KINDS
            receivers: dict[bytes, list[Socket]] = {}
            for device, first, last in recipients:
                if first <= sequence <= last:
                    if is_visibility_change:
                        self._memberships.entry_sent(device, push.chat, each.entry)
                    frame = each.frame(device.user, device.positions[push.chat].since)
                    receivers.setdefault(frame, []).append(device.socket)
            for frame, sockets in receivers.items():
                self._counts.entries += len(sockets)
                self._hub.send(frame, sockets)

    def _count(self, action: PushAction) -> None:
        if action is PushAction.GAP:
            self._counts.gaps += 1
        elif action is PushAction.DEFER:
            self._counts.deferred += 1
        elif action is PushAction.DUPLICATE:
            self._counts.old += 1


def _first_leaves(push: Push) -> dict[UserId, int]:
    """Return where each user leaves first. Entries after a rejoin are pushed to the user's route, or read."""
    return {user: e.sequence for e in reversed(push.entries) if e.kind is EntryKind.LEAVE for user in e.users}


def _removes(push: Push, at: int, user: UserId) -> bool:
    entry = push.entries[at - push.entries[0].sequence]
    return entry.kind is EntryKind.LEAVE and user in entry.users


def _messages_of_others(push: Push, part: PushSlice, user: UserId) -> Iterator[Entry]:
    for entry in push.entries:
        if (
            entry.kind is EntryKind.MESSAGE
            and part.first <= entry.sequence <= part.last
            and entry.sender != user
        ):
            yield entry
