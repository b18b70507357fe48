"""Inboxes that devices here look at: who is told of which, and what they are told. Read anew for each word, so that an
old word tells nothing wrong; one inbox at a time, so that what is told of it comes in order.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

from msgspec import Struct

from tidings.bus.model import InboxChanged
from tidings.gateway.broadcast_notifier import BroadcastNotifier
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.frames import counts_frame, notification_frame
from tidings.gateway.ports import InboxUseCases
from tidings.inboxes.model import InboxId, InboxKey, NotificationId
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import Code, TidingsError
from tidings_wire.codec import encode_push
from tidings_wire.frames.inbox import (
    InboxCounts,
    InboxUpdate,
    ListNotifications,
    Notification,
    NotificationPage,
)

MAX_PENDING_USERS: Final = 20
"""Inboxes of one connection."""
_MAX_CONCURRENT_READ: Final = 16
_TRIES: Final = 5
_RETRY_S: Final = 0.5


@dataclass(slots=True)
class _InboxUpdates:
    """What was heard of one inbox and is yet to be told."""

    added: dict[NotificationId, None] = field(default_factory=dict)
    amended: dict[NotificationId, None] = field(default_factory=dict)
    removed: dict[NotificationId, None] = field(default_factory=dict)
    has_more: bool = False

    def add(self, word: InboxChanged) -> None:
        for ids, into in (
            (word.added, self.added),
            (word.amended, self.amended),
            (word.removed, self.removed),
        ):
            into.update(dict.fromkeys(map(NotificationId, ids)))
        self.has_more = self.has_more or word.has_more

    @property
    def requested(self) -> list[NotificationId]:
        return [notice for notice in {**self.added, **self.amended} if notice not in self.removed]


@final
class InboxNotifier:
    """`broadcasts` tells of what is not one user's."""

    def __init__(
        self,
        cases: InboxUseCases | None,
        broadcasts: BroadcastNotifier,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._cases = cases
        self.broadcasts = broadcasts
        self._watchers: dict[InboxKey, dict[ConnectedDevice, None]] = {}
        self._inboxes: dict[ConnectedDevice, dict[InboxKey, None]] = {}
        self._updates: dict[InboxKey, _InboxUpdates] = {}
        self._busy: set[InboxKey] = set()
        self._crew: WorkQueue[InboxKey] = WorkQueue(self._push, _MAX_CONCURRENT_READ, report)

    def watch(self, device: ConnectedDevice, inbox: str) -> None:
        """Before the inbox is read for the answer: what changes after the read is heard."""
        if device.is_gone:
            return
        owner = InboxKey(device.key.tenant, device.user, InboxId(inbox))
        mine = self._inboxes.setdefault(device, {})
        if owner not in mine and len(mine) >= MAX_PENDING_USERS:
            raise TidingsError(
                Code.REQUEST_INVALID, f"A connection looks at {MAX_PENDING_USERS} inboxes at most."
            )
        mine[owner] = None
        self._watchers.setdefault(owner, {})[device] = None
        self.broadcasts.enter(device, inbox)

    def answered(
        self, device: ConnectedDevice, asked: Struct, answer: InboxCounts | NotificationPage
    ) -> None:
        """What a device was given is not told to it again. A list counts if it is the newest, of everything."""
        counts = answer if isinstance(answer, InboxCounts) else answer.counts
        has_list = isinstance(asked, ListNotifications) and asked.below is None and not asked.is_filtered
        self.broadcasts.answered(device, counts.inbox, counts.broadcasts_up_to, has_list=has_list)

    def on_left(self, device: ConnectedDevice) -> None:
        for owner in self._inboxes.pop(device, ()):
            devices = self._watchers.get(owner, {})
            devices.pop(device, None)
            if not devices:
                self._watchers.pop(owner, None)
            self.broadcasts.leave(device, owner.inbox)

    def live(self, device: ConnectedDevice) -> None:
        """It resumed: what changed before its route stood nobody has said."""
        for owner in self._inboxes.get(device, ()):
            self._updates.setdefault(owner, _InboxUpdates()).has_more = True
            self._crew.add(owner)

    def noticed(self, word: InboxChanged) -> None:
        owner = InboxKey(word.tenant, word.user, InboxId(word.inbox))
        if owner in self._watchers:
            self._updates.setdefault(owner, _InboxUpdates()).add(word)
            self._crew.add(owner)

    async def wait_idle(self, within_s: float) -> None:
        await self.broadcasts.wait_idle(within_s)
        await self._crew.wait_idle(within_s)

    async def _push(self, inbox_key: InboxKey) -> None:
        """Whoever finds it busy leaves it to the one who is: he looks again when he is through."""
        if inbox_key in self._busy or self._cases is None:
            return
        self._busy.add(inbox_key)
        try:
            while (news := self._updates.pop(inbox_key, None)) is not None and inbox_key in self._watchers:
                if (frame := await self._frame(self._cases, inbox_key, news)) is not None:
                    for device in list(self._watchers.get(inbox_key, ())):
                        device.connected.push(frame)
        finally:
            self._busy.discard(inbox_key)

    async def _frame(self, cases: InboxUseCases, inbox_key: InboxKey, news: _InboxUpdates) -> bytes | None:
        for tried in range(_TRIES):
            try:
                return encode_push(await _inbox_update(cases, inbox_key, news))
            except TidingsError as error:
                if not error.retryable:
                    return None
                await asyncio.sleep(_RETRY_S * 2**tried)
        return None


async def _inbox_update(cases: InboxUseCases, inbox_key: InboxKey, news: _InboxUpdates) -> InboxUpdate:
    """What is gone by now, or archived, is told of by no words; its id was told by whoever took it."""
    known = await cases.known.of(inbox_key.tenant, inbox_key.inbox)
    page = await cases.read.some(inbox_key, news.requested)
    shown = {each.row.id: notification_frame(each, known) for each in page.notifications}
    return InboxUpdate(
        counts=counts_frame(page.snapshot, known),
        added=_in_order(news.added, shown),
        amended=_in_order([each for each in news.amended if each not in news.added], shown),
        gone=tuple(news.removed),
        has_more=news.has_more,
    )


def _in_order(
    ids: Sequence[NotificationId] | Mapping[NotificationId, None],
    shown: Mapping[NotificationId, Notification],
) -> tuple[Notification, ...]:
    return tuple(shown[each] for each in ids if each in shown)
