"""Gains, debounced: of each chat one word in a while, however many members acked; and to a user's own devices his `read`.

Step 2 of the flow "a receipt". Work does not grow with members: nobody looks up who would like to know.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from tidings.bus.model import ChatRowChanged, OwnReadAdvanced, encode_messages, group_by_gateway
from tidings.bus.model import encode_messages as encode_words
from tidings.chats.model import ChatType, Membership, chat_type
from tidings.connections.model import GatewayId
from tidings.delivery.model import ChatRow, WatermarkAdvanced
from tidings.ephemeral import rules
from tidings.ephemeral.model import MemberReceipt, ReceiptsEvent, encode_event
from tidings.ephemeral.ports import BusPublisher, ChatReader, RouteLookup, WatermarkReader
from tidings.kernel.concurrency import gather_results
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

MAX_CHATS: Final = 20_000
"""Of which gains wait to be told. Beyond that they are not: whoever looks again sees them."""
_MAX_CONCURRENT: Final = 64

type ErrorReporter = Callable[[str, BaseException], None]
type _Reads = dict[UserId, dict[ChatId, int]]


@dataclass(slots=True)
class ReceiptStats:
    """`published`: one for each chat and window. `own_devices`: to users' own devices. `dropped`: Redis did not answer."""

    advances: int = 0
    published: int = 0
    own_devices: int = 0
    dropped: int = 0


@final
class ReceiptPublisher:
    def __init__(
        self, bus: BusPublisher, routes: RouteLookup, *, within_s: float, on_error: ErrorReporter
    ) -> None:
        self._bus = bus
        self._routes = routes
        self._within_s = within_s
        self._report = on_error
        self._chats: dict[ChatKey, dict[UserId, MemberReceipt]] = {}
        self._reads: dict[TenantId, _Reads] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.stats = ReceiptStats()

    def __call__(self, advance: WatermarkAdvanced) -> None:
        """Of a large chat nobody is told but the user himself: ticks are not counted there."""
        self.stats.advances += 1
        if advance.is_read:
            his = self._reads.setdefault(advance.chat.tenant, {}).setdefault(advance.user, {})
            his[advance.chat.chat] = max(advance.read, his.get(advance.chat.chat, 0))
        if not advance.is_large and (advance.chat in self._chats or len(self._chats) < MAX_CHATS):
            waiting = self._chats.setdefault(advance.chat, {})
            rules.merge(waiting, [MemberReceipt(advance.user, advance.delivered, advance.read)])
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._within_s, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._tasks and self._within_s:
            # Redis has not taken the last window yet: this one waits with the next
            self._timer = asyncio.get_running_loop().call_later(self._within_s, self.flush)
            return
        chats, self._chats = self._chats, {}
        reads, self._reads = self._reads, {}
        if chats or reads:
            task = asyncio.get_running_loop().create_task(self._publish(chats, reads))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    async def wait_idle(self, within_s: float) -> None:
        """What is not told by then is not told."""
        deadline = asyncio.get_running_loop().time() + within_s
        for _ in range(2):
            if self._tasks:
                left_s = max(0.0, deadline - asyncio.get_running_loop().time())
                await asyncio.wait(list(self._tasks), timeout=left_s)
            self.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("receipts could not be told", error)

    async def _publish(
        self, chats: dict[ChatKey, dict[UserId, MemberReceipt]], reads: dict[TenantId, _Reads]
    ) -> None:
        for tenant, users in reads.items():
            await self._publish_own(tenant, users)
        sending = (
            self._bus.publish_ephemeral(chat, encode_event(ReceiptsEvent(tuple(got.values()))))
            for chat, got in chats.items()
        )
        self._count(await gather_results(sending, _MAX_CONCURRENT))

    async def _publish_own(self, tenant: TenantId, users: _Reads) -> None:
        """By routes: a device need not have the chat on its screen for its badge to be right."""
        found = await self._routes.look_up(tenant, list(users))
        self.stats.dropped += len(found.unknown)
        words: dict[GatewayId, list[OwnReadAdvanced]] = {}
        for user, routes in found.found.items():
            for gateway, devices in group_by_gateway(user, routes).items():
                mine = [
                    OwnReadAdvanced(tenant, user, chat, read, devices) for chat, read in users[user].items()
                ]
                words.setdefault(gateway, []).extend(mine)
        sending = (
            self._bus.publish_to_gateway(to, encode_words(tuple(those))) for to, those in words.items()
        )
        done = await asyncio.gather(*sending, return_exceptions=True)
        self.stats.own_devices += sum(map(len, words.values()))
        self._count(done, words=0)

    def _count(self, done: Sequence[object], words: int = 1) -> None:
        for outcome in done:
            if isinstance(outcome, UnavailableError):
                self.stats.dropped += 1
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                self.stats.published += words


class ReceiptSnapshot(NamedTuple):
    """Of a chat in which receipts are told. `members`: those who are in it now."""

    members: Sequence[MemberReceipt]
    silenced: frozenset[UserId]

    def seen_by(self, user: UserId) -> Sequence[MemberReceipt] | None:
        """None: he is not a member, or the two of a direct chat have a block between them."""
        is_member = any(got.user == user for got in self.members)
        return self.members if is_member and user not in self.silenced else None


NOBODY: Final = ReceiptSnapshot((), frozenset())
"""Of a large chat, or of none: nobody is told anything."""


@final
class ReceiptSnapshotReader:
    def __init__(self, chats: ChatReader, watermarks: WatermarkReader) -> None:
        self._chats = chats
        self._watermarks = watermarks

    async def of(self, chat: ChatKey) -> ReceiptSnapshot:
        """One read for all who look at the chat."""
        if await self._is_large(chat):
            return NOBODY
        members = [member for member in await self._chats.members(chat) if member.is_member]
        rows = await self._watermarks.rows_now(chat, [member.user for member in members])
        silenced = frozenset(member.user for member in members if _is_silenced(member))
        return ReceiptSnapshot([_got(member, rows.get(member.user)) for member in members], silenced)

    async def may_report(self, chat: ChatKey, user: UserId) -> bool:
        """May the others hear of him? Asked for a sign of somebody who does not look at the chat himself."""
        row = await self._chats.membership(chat, user)
        return row is not None and row.is_member and not _is_silenced(row) and not await self._is_large(chat)

    async def _is_large(self, chat: ChatKey) -> bool:
        if chat_type(chat.chat) is ChatType.DIRECT:
            return False
        row = await self._chats.chat(chat)
        return row is None or row.large_since is not None


def _is_silenced(row: Membership) -> bool:
    return row.blocks_other or row.blocked_by_other


def _got(member: Membership, row: ChatRow | None) -> MemberReceipt:
    since = member.intervals[-1].joined + 1
    if row is None:
        return MemberReceipt(member.user, since=since)
    return MemberReceipt(member.user, row.delivered_up_to, row.read_up_to, since)


@final
class ChatRowNotifier:
    def __init__(self, bus: BusPublisher, routes: RouteLookup) -> None:
        self._bus = bus
        self._routes = routes

    async def notify_changed(self, chat: ChatKey, user: UserId) -> None:
        """Notify every connected device of the user, also the one that made the change.

        Never raises for Redis: a device that is not notified reads the change with its chat list.
        """
        try:
            found = await self._routes.look_up(chat.tenant, [user])
            going = group_by_gateway(user, found.found.get(user, ()))
            sending = (
                self._bus.publish_to_gateway(
                    gateway, encode_messages((ChatRowChanged(chat.tenant, user, chat.chat, devices),))
                )
                for gateway, devices in going.items()
            )
            await asyncio.gather(*sending)
        except UnavailableError:
            return
