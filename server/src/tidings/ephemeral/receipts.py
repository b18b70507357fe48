"""Merge and publish receipts: at most one event per chat and window, and a user's own `read` to their other devices.

The cost does not depend on the number of members: the publisher does not look up who watches the chat.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, final

from tidings.bus.model import ChatRowChanged, OwnReadAdvanced, encode_messages, group_by_gateway
from tidings.bus.ports import BusPublisher
from tidings.chats.model import ChatType, Membership, chat_type
from tidings.chats.ports import MembershipReader
from tidings.connections.model import GatewayId, RouteLookup
from tidings.delivery.model import ChatRow, WatermarkAdvanced
from tidings.ephemeral.model import MemberReceipt, ReceiptsEvent, RowReader, encode_event
from tidings.kernel.concurrency import gather_results
from tidings.kernel.debouncer import Debouncer, ErrorReporter
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

MAX_CHATS: Final = 20_000
"""Chats with pending receipts. Receipts of further chats are dropped; a device reads them when it opens the chat."""
_MAX_CONCURRENT: Final = 64

type _ReadsByUser = dict[UserId, dict[ChatId, int]]


@dataclass(slots=True)
class ReceiptStats:
    """`published`: events, one per chat and window. `own_devices`: messages to users' own devices. `dropped`: no Redis."""

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
        self._pending: dict[ChatKey, dict[UserId, MemberReceipt]] = {}
        self._pending_reads: dict[TenantId, _ReadsByUser] = {}
        self._debouncer = Debouncer(self._flush, within_s, on_error)
        self.stats = ReceiptStats()

    def publish_soon(self, advance: WatermarkAdvanced) -> None:
        """Publish with the current window. Large chats have no receipts; there only the user's own devices are notified."""
        self.stats.advances += 1
        if advance.is_read:
            reads = self._pending_reads.setdefault(advance.chat.tenant, {}).setdefault(advance.user, {})
            reads[advance.chat.chat] = max(advance.read, reads.get(advance.chat.chat, 0))
        if not advance.is_large and (advance.chat in self._pending or len(self._pending) < MAX_CHATS):
            receipts = self._pending.setdefault(advance.chat, {})
            merge_receipts(receipts, [MemberReceipt(advance.user, advance.delivered, advance.read)])
        self._debouncer.schedule()

    async def wait_idle(self, within_s: float) -> None:
        """Publish what is pending, or drop it after `within_s`."""
        await self._debouncer.wait_idle(within_s)

    async def _flush(self) -> None:
        chats, self._pending = self._pending, {}
        reads, self._pending_reads = self._pending_reads, {}
        for tenant, users in reads.items():
            await self._publish_own(tenant, users)
        publishing = (
            self._bus.publish_ephemeral(chat, encode_event(ReceiptsEvent(tuple(receipts.values()))))
            for chat, receipts in chats.items()
        )
        self.stats.published += self._count_successes(await gather_results(publishing, _MAX_CONCURRENT))

    async def _publish_own(self, tenant: TenantId, users: _ReadsByUser) -> None:
        """Notify all connected devices by their routes: a device shows the unread count of chats that are not open."""
        found = await self._routes.look_up(tenant, list(users))
        self.stats.dropped += len(found.unknown)
        messages: dict[GatewayId, list[OwnReadAdvanced]] = {}
        for user, routes in found.found.items():
            for gateway, devices in group_by_gateway(user, routes).items():
                messages.setdefault(gateway, []).extend(
                    OwnReadAdvanced(tenant, user, chat, read, devices) for chat, read in users[user].items()
                )
        publishing = (
            self._bus.publish_to_gateway(gateway, encode_messages(tuple(some)))
            for gateway, some in messages.items()
        )
        self.stats.own_devices += sum(map(len, messages.values()))
        self._count_successes(await gather_results(publishing, _MAX_CONCURRENT))

    def _count_successes(self, outcomes: Sequence[object]) -> int:
        """Count successful calls, and calls that Redis did not answer as dropped. Raises any other error."""
        successes = 0
        for outcome in outcomes:
            if isinstance(outcome, UnavailableError):
                self.stats.dropped += 1
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                successes += 1
        return successes


def newest_receipt(one: MemberReceipt, other: MemberReceipt) -> MemberReceipt:
    """Merge two receipts of one member. The order does not matter: watermarks only advance."""
    return MemberReceipt(
        one.user,
        max(one.delivered, other.delivered),
        max(one.read, other.read),
        max(one.since, other.since),
    )


def merge_receipts(known: dict[UserId, MemberReceipt], received: Iterable[MemberReceipt]) -> None:
    """Merge receipts into the known ones of their members."""
    for receipt in received:
        before = known.get(receipt.user)
        known[receipt.user] = receipt if before is None else newest_receipt(before, receipt)


def apply_receipts(
    snapshot: Iterable[MemberReceipt], received: Mapping[UserId, MemberReceipt]
) -> tuple[MemberReceipt, ...]:
    """Merge received receipts into a snapshot. Members missing from the snapshot stay missing."""
    return tuple(
        newest_receipt(receipt, received[receipt.user]) if receipt.user in received else receipt
        for receipt in snapshot
    )


class ReceiptSnapshot(NamedTuple):
    """Receipts of all current members. `silenced`: members of a direct chat with a block between them."""

    members: Sequence[MemberReceipt]
    silenced: frozenset[UserId]

    def seen_by(self, user: UserId) -> Sequence[MemberReceipt] | None:
        """Return the receipts that the user may see; None if they are no member or silenced."""
        is_member = any(receipt.user == user for receipt in self.members)
        return self.members if is_member and user not in self.silenced else None


NOBODY: Final = ReceiptSnapshot((), frozenset())
"""Snapshot of a large chat, or of a chat that does not exist."""


@final
class ReceiptSnapshotReader:
    def __init__(self, chats: MembershipReader, read_rows: RowReader) -> None:
        self._chats = chats
        self._read_rows = read_rows

    async def read_snapshot(self, chat: ChatKey) -> ReceiptSnapshot:
        """Read the receipts of a chat. One snapshot serves all devices that watch it."""
        if await self._is_large(chat):
            return NOBODY
        members = [member for member in await self._chats.members(chat) if member.is_member]
        rows = await self._read_rows(chat, [member.user for member in members])
        silenced = frozenset(member.user for member in members if _is_silenced(member))
        return ReceiptSnapshot([_receipt(member, rows.get(member.user)) for member in members], silenced)

    async def may_report(self, chat: ChatKey, user: UserId) -> bool:
        """Report whether the chat's watchers may see events of this user, who does not watch it themselves."""
        row = await self._chats.membership(chat, user)
        return row is not None and row.is_member and not _is_silenced(row) and not await self._is_large(chat)

    async def _is_large(self, chat: ChatKey) -> bool:
        if chat_type(chat.chat) is ChatType.DIRECT:
            return False
        row = await self._chats.chat(chat)
        return row is None or row.large_since is not None


def _is_silenced(row: Membership) -> bool:
    return row.blocks_other or row.blocked_by_other


def _receipt(member: Membership, row: ChatRow | None) -> MemberReceipt:
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

        Never raises `UnavailableError`: a device that is not notified reads the change with its chat list.
        """
        with suppress(UnavailableError):
            found = await self._routes.look_up(chat.tenant, [user])
            await asyncio.gather(
                *(
                    self._bus.publish_to_gateway(
                        gateway, encode_messages((ChatRowChanged(chat.tenant, user, chat.chat, devices),))
                    )
                    for gateway, devices in group_by_gateway(user, found.found.get(user, ())).items()
                )
            )
