"""A push, opened and encoded once for all devices of a process that get it.

Two forms of each entry, because the sender's own devices see their `client_message_id`; and of a change two more,
because who came in after a message may see that it was changed, but not what it says.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, final

from tidings.bus.model import DeviceTarget, Push, PushSlice
from tidings.gateway.ack_buffer import OrdinalCache
from tidings.gateway.connected_device import VISIBILITY_KINDS, ConnectedDevice, PushAction
from tidings.gateway.fanout.large_chats import LargeChatChannel
from tidings.gateway.frames import entry_push_frame, referenced_messages
from tidings.gateway.hub import Hub
from tidings.gateway.ports import HistoryReading
from tidings.gateway.resume.catch_up import CatchUp
from tidings.gateway.stats import GatewayStats
from tidings.gateway.transport.ports import Socket
from tidings.kernel.ids import ChatId, ChatKey, DeviceKey, UserId
from tidings.messages.history import VisibleEntry
from tidings.messages.model import Entry, EntryKind
from tidings_wire.codec import encode_push


class RenderPush(Protocol):
    async def __call__(self, push: Push, /) -> "Sequence[RenderedEntry]": ...


@final
class RenderedEntry:
    """One entry of a push. Its frames are made when they are first asked for, and then shared."""

    __slots__ = ("_changed", "_chat", "_frames", "_shown", "entry", "refers_to")

    def __init__(self, chat: ChatId, shown: VisibleEntry, changed: VisibleEntry | None) -> None:
        self.entry: Entry = shown.entry
        self.refers_to = 0 if changed is None else changed.entry.sequence
        self._chat = chat
        self._shown = shown
        self._changed = changed
        self._frames: dict[tuple[bool, bool], bytes] = {}

    def frame(self, user: UserId, since: int) -> bytes:
        """For a user who is in the chat since `since`."""
        is_own = user == self.entry.sender
        sees = self.refers_to >= since
        found = self._frames.get((is_own, sees))
        if found is None:
            changed = self._changed if sees else None
            found = encode_push(entry_push_frame(self._chat, self._shown, is_own=is_own, changed=changed))
            self._frames[is_own, sees] = found
        return found


@final
class PushRenderer:
    def __init__(self, history: HistoryReading) -> None:
        self._history = history

    async def __call__(self, push: Push, /) -> Sequence[RenderedEntry]:
        """Changed messages are read anew each time, never kept: what they say may be gone by the next push."""
        shown = await self._history.show(push.key, push.entries)
        changed = await self._history.now(push.key, referenced_messages(push.entries))
        return [RenderedEntry(push.chat, each, changed.get(each.entry.refers_to or 0)) for each in shown]


WAITING = 256
"""Pushes of one chat that may wait to be opened. Of the oldest beyond that, devices only note the sequences: they
read the entries from the log.
"""


@dataclass(frozen=True, slots=True, eq=False)
class UndeliveredPush:
    """A device that was pushed to and is not here; the messages that it should have got from others."""

    chat: ChatKey
    addressee: DeviceTarget
    messages: tuple[Entry, ...]


class _PushRequest(NamedTuple):
    """Who is to get which part of a push."""

    device: ConnectedDevice
    first: int
    last: int


@final
class PushDispatcher:
    """Tells of who is not here, `on_undelivered`; who is to listen to a chat's own channel from now on, `on_became_large`; and whose leave,
    at that sequence, is pushed only after he was shown it, or while he resumes, `on_late_leave`.
    """

    def __init__(
        self,
        hub: Hub[ConnectedDevice],
        opening: RenderPush,
        ranges: CatchUp,
        *,
        ordinals: OrdinalCache,
        counts: GatewayStats,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._report = report
        self._hub = hub
        self._open = opening
        self._ranges = ranges
        self._ordinals = ordinals
        self._counts = counts
        self._waiting: dict[ChatKey, deque[tuple[Push, LargeChatChannel | None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.on_undelivered: Callable[[UndeliveredPush], None] = lambda _: None
        self.on_became_large: Callable[[ConnectedDevice, Push], None] = lambda _, __: None
        self.on_late_leave: Callable[[ConnectedDevice, ChatId, int], None] = lambda _, __, ___: None

    def submit(self, push: Push, room: LargeChatChannel | None = None) -> None:
        """Of each chat one at a time: two that are opened at once could overtake each other."""
        self._counts.pushes += 1
        waiting = self._waiting.get(push.key)
        if waiting is not None:
            waiting.append((push, room))
            if len(waiting) > WAITING:
                self._let_go(*waiting.popleft())
            return
        self._waiting[push.key] = deque([(push, room)])
        task = asyncio.get_running_loop().create_task(self._run(push.key))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def wait_idle(self, within_s: float) -> None:
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=within_s)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("a push could not be given out", error)

    async def _run(self, chat: ChatKey) -> None:
        waiting = self._waiting[chat]
        try:
            while waiting:
                push, room = waiting.popleft()
                await self._push(push, room)
        finally:
            del self._waiting[chat]

    async def _push(self, push: Push, room: LargeChatChannel | None) -> None:
        """Who is to have it is asked after it was opened: who has come or gone meanwhile is so by then."""
        try:
            opened = await self._open(push)
        except Exception:  # noqa: BLE001 - keys or content can't be had now: each device reads the range, which tries again
            opened = []
        if opened:
            self._ordinals.note(push.key, push.entries)
        everybody = self._recipients_of(push, room)
        self._send(push, opened, [to for wanted in everybody if (to := self._offer(push, wanted, opened))])

    def _let_go(self, push: Push, room: LargeChatChannel | None) -> None:
        """Note a push that is not opened. A device without a place in the chat would else begin behind it."""
        for wanted in self._recipients_of(push, room):
            self._offer(push, wanted, [])

    def _recipients_of(self, push: Push, room: LargeChatChannel | None) -> Iterator[_PushRequest]:
        return self._in_channel(push, room) if room is not None else self._addressed(push)

    def _addressed(self, push: Push) -> Iterator[_PushRequest]:
        for part in push.parts:
            for addressee in part.devices:
                device = self._hub.get(DeviceKey(push.tenant, addressee.user, addressee.device))
                if device is None:
                    self._counts.undelivered += 1
                    self.on_undelivered(
                        UndeliveredPush(push.key, addressee, tuple(_messages(push, part, addressee.user)))
                    )
                else:
                    yield _PushRequest(device, part.first, part.last)

    def _in_channel(self, push: Push, room: LargeChatChannel) -> Iterator[_PushRequest]:
        """Who is taken out by one of the entries gets it, and nothing behind it."""
        first, last = push.entries[0].sequence, push.entries[-1].sequence
        ends = _ends(push)
        for device in list(room.devices):
            yield _PushRequest(device, first, ends.get(device.user, last))

    def _offer(
        self, push: Push, wanted: _PushRequest, opened: Sequence[RenderedEntry]
    ) -> _PushRequest | None:
        """What of it is to be sent now. What could not be opened is as if a hole lay before it."""
        device, first, last = wanted
        place = device.positions.get(push.chat)
        before = place.position if place is not None else first - 1
        offer = device.offered(push.chat, first, last) if opened else device.on_push(push.chat, first, last)
        self._count(offer)
        if offer is PushAction.GAP:
            self._ranges.schedule(device, push.chat)
        if push.is_large and _is_taken_out(push, last, device.user):
            if offer is PushAction.DUPLICATE or not device.is_live:
                self.on_late_leave(device, push.chat, last)
        elif push.is_large and push.parts:
            self.on_became_large(device, push)
        return wanted._replace(first=max(first, before + 1)) if offer is PushAction.SEND else None

    def _send(self, push: Push, opened: Sequence[RenderedEntry], to: Sequence[_PushRequest]) -> None:
        """Entry by entry, each frame to all who get it at once. Nothing is awaited between a position and its frame."""
        for each in opened:
            sequence, stirs = each.entry.sequence, each.entry.kind in VISIBILITY_KINDS
            receivers: dict[bytes, list[Socket]] = {}
            for device, first, last in to:
                if first <= sequence <= last:
                    if stirs:
                        device.moved(push.chat, each.entry)
                    frame = each.frame(device.user, device.positions[push.chat].since)
                    receivers.setdefault(frame, []).append(device.socket)
            for frame, sockets in receivers.items():
                self._counts.entries += len(sockets)
                self._hub.send(frame, sockets)

    def _count(self, offer: PushAction) -> None:
        if offer is PushAction.GAP:
            self._counts.gaps += 1
        elif offer is PushAction.DEFER:
            self._counts.deferred += 1
        elif offer is PushAction.DUPLICATE:
            self._counts.old += 1


def _ends(push: Push) -> dict[UserId, int]:
    """Where each is taken out first: what comes after he came back goes by his route, or is read."""
    return {user: e.sequence for e in reversed(push.entries) if e.kind is EntryKind.LEAVE for user in e.users}


def _is_taken_out(push: Push, at: int, user: UserId) -> bool:
    entry = push.entries[at - push.entries[0].sequence]
    return entry.kind is EntryKind.LEAVE and user in entry.users


def _messages(push: Push, part: PushSlice, user: UserId) -> Iterator[Entry]:
    for entry in push.entries:
        if (
            entry.kind is EntryKind.MESSAGE
            and part.first <= entry.sequence <= part.last
            and entry.sender != user
        ):
            yield entry
