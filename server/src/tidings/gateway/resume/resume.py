"""The flow "reconnect", in its order: here, buffering; registered; subscribed; read; sent; replayed; live; and then the
socket that was there before is closed. Who missed the route wrote what is read after it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import batched
from typing import Final, final

from tidings.bus.model import ConnectionReplaced, encode_messages
from tidings.connections.model import GatewayId, RegistrationResult, Route
from tidings.delivery import rules
from tidings.delivery.model import ChatRow, OfflineQueueKey, OfflineQueueMessage
from tidings.gateway.connected_device import NEVER_JOINED, ChatPosition, ConnectedDevice
from tidings.gateway.resume.catch_up import OnCharge, PageCharger, ResumeDeps, ResumeOptions
from tidings.gateway.resume.plan import (
    MAX_POSITIONS,
    MissedEntries,
    ResumePlan,
    chat_head,
    has_missed_entries,
    held_positions,
    large_chats,
    make_plan,
    removed_chats,
)
from tidings.gateway.stats import GatewayStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.fair_shares import FairSlots, release_slot
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.messages.model import Entry
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.session import Resume, Resumed

MAX_CONCURRENT_CHATS: Final = 8
_FIRST_WAIT_S: Final = 0.1


@final
class ResumeService:
    """Tells of a seat: `on_left`, that it had gone before the end; `on_registered`, that it has a new route; `on_read`, the rows of
    chats that the device knew; `on_live`, that it is.
    """

    def __init__(
        self,
        parts: ResumeDeps,
        gateway: GatewayId,
        options: ResumeOptions,
        *,
        counts: GatewayStats,
        failpoints: Failpoints,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._parts = parts
        self._gateway = gateway
        self._options = options
        self._counts = counts
        self._failpoints = failpoints
        share = max(1, int(options.at_once * options.tenant_share))
        self._reads: FairSlots[TenantId] = FairSlots(options.at_once, share)
        self._of_user: FairSlots[tuple[TenantId, UserId]] = FairSlots(each=options.per_user)
        self._pending_resumes: WorkQueue[ConnectedDevice] = WorkQueue(
            self._resume_again, options.max_concurrent_resumes, report
        )
        self._busy: dict[ConnectedDevice, asyncio.Event] = {}
        self.on_left: Callable[[ConnectedDevice], None] = lambda _: None
        self.on_registered: Callable[[ConnectedDevice], None] = lambda _: None
        self.on_read: Callable[[ConnectedDevice, Sequence[ChatRow]], None] = lambda _, __: None
        self.on_live: Callable[[ConnectedDevice], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._pending_resumes)

    async def __call__(
        self, device: ConnectedDevice, asked: Resume, epoch: int, charge: OnCharge | None = None
    ) -> Resumed:
        """Compare the device's positions with the rows once the last part of them has come, and send what it missed.

        `charge` counts what is read against the user's rate limit.
        """
        is_reset = not asked.counts_in(epoch)
        told = device.reported_positions = {
            **(device.reported_positions or {}),
            **({} if is_reset else asked.positions),
        }
        if len(told) > MAX_POSITIONS:
            raise TidingsError(Code.REQUEST_INVALID, f"More than {MAX_POSITIONS} positions.")
        if not asked.has_more:
            device.reported_positions = None
            positions = {ChatId(chat): at for chat, at in told.items()}
            await self._asked(device, positions, PageCharger(charge))
            self._counts.resumes += 1
        return Resumed(epoch=epoch, is_reset=is_reset, has_more=asked.has_more)

    def resume_again(self, device: ConnectedDevice) -> None:
        """Pushes may have been missed. Who resumes already begins anew when he is through."""
        device.wants_resume = True
        if device.is_live and not device.is_gone:
            self._pending_resumes.add(device)

    async def wait_idle(self, within_s: float) -> None:
        await self._pending_resumes.wait_idle(within_s)

    async def _asked(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], charges: PageCharger
    ) -> None:
        """Resume a device that asked for it.

        A user's devices resume a few at a time, to the end. Reading takes a slot of the tenant's share, and sending
        does not: a device that reads slowly keeps nobody else from resuming. A device that was live and could not
        be given what it asked for resumes again by itself: it is told, and need not ask again to be live.
        """
        tenant, was_live = device.key.tenant, device.is_live
        try:
            async with (
                self._in_time(device),
                self._of_user.slot((tenant, device.user)),
                self._reads.slot(tenant),
            ):
                await self._alone(device, positions, charges)
        except Exception:
            if was_live:
                self._pending_resumes.add(device)
            raise

    @asynccontextmanager
    async def _in_time(self, device: ConnectedDevice) -> AsyncIterator[None]:
        """Close a device that has not resumed in time; it comes back and goes on from where it got to."""
        try:
            async with asyncio.timeout(self._options.within_s):
                yield
        except TimeoutError:
            device.connected.close(CloseCode.TRY_LATER)
            raise TidingsError(Code.OVERLOADED, "The resume took too long.") from None

    async def _resume_again(self, device: ConnectedDevice) -> None:
        """Resume a device that may have missed pushes. It ends live or closed: else it would wait for ever."""
        for tried in range(self._options.tries):
            if device.is_gone:
                return
            try:
                async with self._in_time(device):
                    await self._alone(device, None, PageCharger(None))
            except TidingsError:
                self._counts.resumes_failed += 1
                async with release_slot():
                    wait_s = _FIRST_WAIT_S * 2**tried * (0.5 + random.random())  # noqa: S311 - spreads tries
                    await asyncio.sleep(wait_s)
            except Exception:
                device.connected.close(CloseCode.TRY_LATER)
                raise
            else:
                self._counts.resume_retries += 1
                return
        device.connected.close(CloseCode.TRY_LATER)

    async def _alone(
        self, device: ConnectedDevice, told: Mapping[ChatId, int] | None, charges: PageCharger
    ) -> None:
        """Of a device one at a time. One that has left meanwhile takes along what was built up after its end."""
        while (busy := self._busy.get(device)) is not None:
            async with release_slot():
                await busy.wait()
        done = self._busy[device] = asyncio.Event()
        try:
            await self._resume(device, told, charges)
        finally:
            del self._busy[device]
            done.set()
            if device.is_gone:
                self.on_left(device)
        if device.wants_resume:
            self.resume_again(device)

    async def _resume(
        self, device: ConnectedDevice, told: Mapping[ChatId, int] | None, charges: PageCharger
    ) -> None:
        """What is said of the device while this runs is only noted. What it asks for again meanwhile is done after.

        Who told no positions is where his seat is when the ranges are planned, not before: until then a range that
        was being read when this began is still sent, and would be sent again.
        """
        if device.is_gone:
            return
        pauses = self._failpoints
        device.is_live, device.wants_resume, device.slow_consumer_guard = False, False, None
        await pauses.hit("gateway.installed")
        before = await self._register(device)
        await pauses.hit("gateway.registered")
        rows = await self._rows(device)
        large = large_chats(rows)
        await self._subscribe(device, large)
        await pauses.hit("gateway.subscribed")
        rows = await self._with_heads(device, rows, large)
        rows = await self._without_removed(device, held_positions(device) if told is None else told, rows)
        kept = await self._queued(device, held_positions(device) if told is None else told, rows)
        await pauses.hit("gateway.read")
        positions = held_positions(device) if told is None else told
        await self._send(device, make_plan(positions, rows, kept, self._options.tails), charges)
        self._parts.ack_positions(device, positions, rows)
        self.on_read(device, [row for row in rows if row.chat in positions])
        await pauses.hit("gateway.sent")
        await self._replay(device)
        self.on_live(device)
        await pauses.hit("gateway.live")
        await self._close_old(device, before)

    async def _register(self, device: ConnectedDevice) -> Route | None:
        """Without routes the device is let in all the same: what it gets now it gets by reading."""
        if device.is_registered:
            return None
        try:
            done = await self._route(device)
        except UnavailableError:
            return None
        if done is None:
            # its route was lost, and the device came in elsewhere before we did: only a new socket takes over
            device.connected.close(CloseCode.TRY_LATER)
            return None
        device.epoch, device.is_registered = done.epoch, True
        self.on_registered(device)
        return done.replaced_route

    async def _route(self, device: ConnectedDevice) -> RegistrationResult | None:
        routes = self._parts.routes
        if not device.epoch:
            return await routes.register(device.key, self._gateway)
        return await routes.reregister(device.key, self._gateway, device.epoch)

    async def _rows(self, device: ConnectedDevice) -> list[ChatRow]:
        rows = await self._parts.rows.rows(device.key.tenant, device.user)
        return [row for row in rows if row.known.joined is not None]

    async def _subscribe(self, device: ConnectedDevice, large: Sequence[ChatId]) -> None:
        """Listen to large chats. The heartbeat compares those whose channel is not confirmed yet."""
        heard = await asyncio.gather(*(self._parts.large_chats.enter(device, chat) for chat in large))
        device.unheard.update(
            (chat, None) for chat, is_heard in zip(large, heard, strict=True) if not is_heard
        )

    async def _with_heads(
        self, device: ConnectedDevice, rows: list[ChatRow], large: Sequence[ChatId]
    ) -> list[ChatRow]:
        heads = await self._parts.rows.heads(device.key.tenant, large) if large else {}
        return [rules.with_head(row, heads.get(row.chat)) for row in rows] if heads else rows

    async def _without_removed(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: list[ChatRow]
    ) -> list[ChatRow]:
        """Who holds more of a large chat than its head says has read ahead of delivery, perhaps his own leave.

        His row does not know of it yet, so he is asked for where it stands first; out, he does not listen.
        """
        if not device.large_chat_channels:
            return rows
        ahead = [
            row
            for row in rows
            if row.chat in device.large_chat_channels and positions.get(row.chat, 0) > chat_head(row)
        ]
        left = {row.chat: await self._parts.history.left(device.chat(row.chat), device.user) for row in ahead}
        known = {chat: at for chat, at in left.items() if at is not None and at <= positions[chat]}
        for chat in known:
            self._parts.large_chats.leave(device, chat)
        return [removed_chats(row, known[row.chat]) if row.chat in known else row for row in rows]

    async def _queued(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: Sequence[ChatRow]
    ) -> dict[ChatId, dict[int, Entry]]:
        """The queue is asked only if something is ahead: who missed nothing costs nothing."""
        kept: dict[ChatId, dict[int, Entry]] = {}
        if has_missed_entries(positions, rows):
            device.drained = {}
            for each in await self._drained(device):
                device.drained.setdefault(each.chat.chat, []).append((each.entry.sequence, each.key))
                kept.setdefault(each.chat.chat, {})[each.entry.sequence] = each.entry
        return kept

    async def _drained(self, device: ConnectedDevice) -> list[OfflineQueueMessage]:
        found: list[OfflineQueueMessage] = []
        after: OfflineQueueKey | None = None
        while len(found) < self._options.max_queued:
            drained = await self._parts.queue.drain(device.key.tenant, device.user, after)
            found += drained.waiting
            after = drained.after
            if after is None:
                break
        return found

    async def _send(self, device: ConnectedDevice, planned: ResumePlan, charges: PageCharger) -> None:
        """What was noted of a chat stays noted: it is held against the place that the chat gets now."""
        listed_now = {row.chat for row in planned.rows}
        for chat, begun in planned.positions.items():
            place = ChatPosition(begun.position, NEVER_JOINED if begun.since is None else begun.since)
            noted = device.positions.get(chat)
            place.ahead = noted.ahead if noted is not None else 0
            place.is_member, place.has_row = begun.is_member, chat in listed_now
            device.positions[chat] = place
            if not begun.is_member and chat in device.large_chat_channels:
                # meanwhile he was told that it became large, as one of whom nothing was known yet
                place.had_channel = True
                self._parts.large_chats.leave(device, chat)
        if planned.rows:
            listed = await self._parts.listing.listed(device.key.tenant, device.user, planned.rows)
            await self._parts.sending.rows(device, listed)
        for some in batched(planned.ahead, MAX_CONCURRENT_CHATS):
            await charges.before(some)
            if len(some) == 1:
                await self._send_range(device, *some)
            else:
                await asyncio.gather(*(self._send_range(device, ahead) for ahead in some))

    async def _send_range(self, device: ConnectedDevice, ahead: MissedEntries) -> None:
        place = device.positions[ahead.chat]
        if ahead.is_sure:
            await self._parts.ranges.send_known_range(device, place, ahead)
        else:
            place.on_push(ahead.up_to)
            await self._parts.ranges.catch_up(device, ahead.chat, place)

    async def _replay(self, device: ConnectedDevice) -> None:
        """Between the last look and being live nothing is awaited, so nothing can be noted and forgotten.

        Who is gone stays behind for ever, and nothing is awaited for him: looking again would never end.
        """
        while not device.is_gone and (behind := device.behind()):
            for chat in behind:
                await self._parts.ranges.catch_up(device, chat, device.positions[chat])
        await self._failpoints.hit("gateway.replayed")
        if device.is_gone:
            return None
        if device.behind():
            return await self._replay(device)
        device.is_live = True
        return None

    async def _close_old(self, device: ConnectedDevice, before: Route | None) -> None:
        """Of two in this process the hub has closed the older one."""
        if before is None or before.gateway == self._gateway or not device.is_registered:
            return
        word = ConnectionReplaced(device.key.tenant, device.user, device.key.device, device.epoch)
        with suppress(UnavailableError):
            await self._parts.bus.publish_to_gateway(before.gateway, encode_messages((word,)))
