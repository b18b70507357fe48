"""Resume a device: the flow "reconnect".

Order of the reads: buffer pushes; register the route; read chat rows, then the heads of groups; subscribe to the channels
of large chats and read their heads again; read the offline queue. Then send what was missed, replay the buffered pushes,
go live, and close the previous socket.

A worker that looked up routes before the registration has already written the rows and heads that are read after it. A
worker that looks up routes later pushes to this gateway, which buffers the push. No entry is missed in either case. A
quiet row proves that its head is not further, so that head is not read.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import batched
from typing import Final, final

from tidings.bus.model import ConnectionReplaced, encode_messages
from tidings.connections.model import GatewayId, RegistrationResult, Route
from tidings.delivery import rules
from tidings.delivery.chat_list import needs_head
from tidings.delivery.model import ChatRow
from tidings.gateway.connected_device import NEVER_JOINED, ChatPosition, ConnectedDevice
from tidings.gateway.resume.catch_up import OnCharge, PageCharger, read_queued
from tidings.gateway.resume.plan import (
    MAX_POSITIONS,
    MissedEntries,
    ResumePlan,
    chat_head,
    current_positions,
    large_chats,
    make_plan,
    with_removal,
)
from tidings.gateway.resume.resume_deps import ResumeDeps, ResumeOptions
from tidings.gateway.stats import GatewayStats
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.fair_shares import FairSlots, release_slot
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.session import Resume, Resumed

MAX_CONCURRENT_CHATS: Final = 8
_FIRST_WAIT_S: Final = 0.1


@final
class ResumeService:
    """Resume devices on request, and again whenever they may have missed pushes.

    on_left: called if the device disconnected during its resume, to undo what the resume set up after that.
    on_live: called when the device has become live.
    """

    def __init__(
        self,
        parts: ResumeDeps,
        gateway: GatewayId,
        options: ResumeOptions,
        *,
        on_left: Callable[[ConnectedDevice], None],
        on_live: Callable[[ConnectedDevice], None],
        counts: GatewayStats,
        failpoints: Failpoints,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._parts = parts
        self._gateway = gateway
        self._options = options
        self._on_left = on_left
        self._on_live = on_live
        self._counts = counts
        self._failpoints = failpoints
        share = max(1, int(options.at_once * options.tenant_share))
        self._reads: FairSlots[TenantId] = FairSlots(options.at_once, share)
        self._of_user: FairSlots[tuple[TenantId, UserId]] = FairSlots(each=options.per_user)
        self._pending_resumes: WorkQueue[ConnectedDevice] = WorkQueue(
            self._resume_again, options.max_concurrent_resumes, report
        )
        self._busy: dict[ConnectedDevice, asyncio.Event] = {}

    def __len__(self) -> int:
        return len(self._pending_resumes)

    async def resume(
        self, device: ConnectedDevice, frame: Resume, epoch: int, charge: OnCharge | None = None
    ) -> Resumed:
        """Collect the device's positions. With their last part, send what the device missed and make it live.

        `charge` counts the pages that are read against the user's rate limit. Raises if the device did not become
        live; frames that were sent stay sent.
        """
        is_reset = not frame.counts_in(epoch)
        reported = device.reported_positions = {
            **(device.reported_positions or {}),
            **({} if is_reset else frame.positions),
        }
        if len(reported) > MAX_POSITIONS:
            raise TidingsError(Code.REQUEST_INVALID, f"A resume has at most {MAX_POSITIONS} positions.")
        if not frame.has_more:
            device.reported_positions = None
            positions = {ChatId(chat): at for chat, at in reported.items()}
            await self._resume_on_request(device, positions, PageCharger(charge))
            self._counts.resumes += 1
        return Resumed(epoch=epoch, is_reset=is_reset, has_more=frame.has_more)

    def resume_again(self, device: ConnectedDevice) -> None:
        """Resume a device that may have missed pushes. A resume in progress is followed by another one."""
        device.wants_resume = True
        if device.is_live and not device.is_gone:
            self._pending_resumes.add(device)

    async def wait_idle(self, within_s: float) -> None:
        await self._pending_resumes.wait_idle(within_s)

    async def _resume_on_request(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], charges: PageCharger
    ) -> None:
        """Resume a device that requested it.

        A user's devices resume a few at a time, to the end. Reading takes a slot of the tenant's share and sending
        does not: a slow device does not keep others from resuming. If a device that was live cannot resume, it receives
        the error and resumes again automatically, because it would otherwise stay without pushes.
        """
        tenant, was_live = device.key.tenant, device.is_live
        try:
            async with (
                self._in_time(device),
                self._of_user.slot((tenant, device.user)),
                self._reads.slot(tenant),
            ):
                await self._resume_alone(device, positions, charges)
        except Exception:
            if was_live:
                self._pending_resumes.add(device)
            raise

    @asynccontextmanager
    async def _in_time(self, device: ConnectedDevice) -> AsyncIterator[None]:
        """Close a device that does not resume in time. It reconnects and continues from its new position."""
        try:
            async with asyncio.timeout(self._options.within_s):
                yield
        except TimeoutError:
            device.connected.close(CloseCode.TRY_AGAIN_LATER)
            raise TidingsError(Code.OVERLOADED, "The resume took too long.") from None

    async def _resume_again(self, device: ConnectedDevice) -> None:
        """Retry the resume of a device that may have missed pushes. It ends live or closed, never in between."""
        for tried in range(self._options.tries):
            if device.is_gone:
                return
            try:
                async with self._in_time(device):
                    await self._resume_alone(device, None, PageCharger(None))
            except TidingsError:
                self._counts.resumes_failed += 1
                async with release_slot():
                    wait_s = _FIRST_WAIT_S * 2**tried * (0.5 + random.random())  # noqa: S311 - spreads retries
                    await asyncio.sleep(wait_s)
            except Exception:
                device.connected.close(CloseCode.TRY_AGAIN_LATER)
                raise
            else:
                self._counts.resume_retries += 1
                return
        device.connected.close(CloseCode.TRY_AGAIN_LATER)

    async def _resume_alone(
        self, device: ConnectedDevice, reported: Mapping[ChatId, int] | None, charges: PageCharger
    ) -> None:
        """Run one resume of the device at a time."""
        while (busy := self._busy.get(device)) is not None:
            async with release_slot():
                await busy.wait()
        done = self._busy[device] = asyncio.Event()
        try:
            await self._resume(device, reported, charges)
        finally:
            del self._busy[device]
            done.set()
            if device.is_gone:
                # Race: the connection closed while the resume registered a route or subscribed to channels. The
                # connection cleaned up before that, so clean up again.
                self._on_left(device)
        if device.wants_resume:
            self.resume_again(device)

    async def _resume(
        self, device: ConnectedDevice, reported: Mapping[ChatId, int] | None, charges: PageCharger
    ) -> None:
        """Run the steps in their order. Without reported positions, resume from those of the connection."""
        if device.is_gone:
            return
        failpoints, tenant = self._failpoints, device.key.tenant
        # Race: a worker or a lost channel requests a resume during this one, perhaps after its reads. The request is
        # reset before the reads, so a later one leads to another resume.
        device.is_live, device.wants_resume, device.slow_consumer_guard = False, False, None
        await failpoints.hit("gateway.installed")
        before = await self._register(device)
        await failpoints.hit("gateway.registered")
        rows = await self._rows(device)
        heads = await self._parts.rows.heads(tenant, [row.chat for row in rows if needs_head(row)])
        self._parts.quiet_rows.offer(tenant, device.user, rows, heads)
        rows = [rules.with_head(row, heads.get(row.chat), device.user) for row in rows]
        rows = await self._subscribe(device, rows)
        rows = await self._without_removed(device, current_positions(device, reported), rows)
        positions = current_positions(device, reported)
        queued = await read_queued(self._parts.queue, device, positions, rows, self._options.max_queued)
        await failpoints.hit("gateway.read")
        # Race: a gap filler that read a range when this resume began still sends it, and advances the position. Take
        # the positions only now, after the last await before the plan, so that the plan does not send the range again.
        positions = current_positions(device, reported)
        await self._send(device, make_plan(positions, rows, queued, self._options.tails), charges)
        self._parts.acks.take_resumed(device, positions, rows)
        self._parts.ephemeral.send_own_reads(device, [row for row in rows if row.chat in positions])
        await failpoints.hit("gateway.sent")
        await self._replay(device)
        self._on_live(device)
        await failpoints.hit("gateway.live")
        await self._close_old(device, before)

    async def _subscribe(self, device: ConnectedDevice, rows: list[ChatRow]) -> list[ChatRow]:
        """Subscribe to large chats and read their heads. The lease renewer retries those that Redis does not confirm."""
        large = large_chats(rows)
        confirmed = await asyncio.gather(*(self._parts.large_chats.enter(device, chat) for chat in large))
        device.unconfirmed_channels.update(
            (chat, None) for chat, is_confirmed in zip(large, confirmed, strict=True) if not is_confirmed
        )
        await self._failpoints.hit("gateway.subscribed")
        if not large:
            return rows
        # Race: a worker raises the head of a large chat, then publishes. These heads are read again after the channel is
        # confirmed: an entry is in the head that is read, or arrives on the channel.
        heads = await self._parts.rows.heads(device.key.tenant, large)
        return [rules.with_head(row, heads.get(row.chat), device.user) for row in rows]

    async def _register(self, device: ConnectedDevice) -> Route | None:
        """Register the device's route and return the one that it replaced.

        If the registry is unavailable, the device continues without a route: it receives what the resume reads, and
        the lease renewer retries the registration.
        """
        if device.is_registered:
            return None
        try:
            done = await self._route(device)
        except UnavailableError:
            # Race: Redis registers the route, but the answer is lost, so its epoch is unknown here. The next attempt
            # replaces the route of a new socket, and closes a socket that had a route before. Else the lease expires.
            return None
        if done is None:
            # Race: this device lost its route and another gateway registered a newer connection of it first. Only a
            # new connection may replace that one.
            device.connected.close(CloseCode.TRY_AGAIN_LATER)
            return None
        device.epoch, device.is_registered = done.epoch, True
        self._parts.ephemeral.on_registered(device)
        return done.replaced_route

    async def _route(self, device: ConnectedDevice) -> RegistrationResult | None:
        routes = self._parts.routes
        if not device.epoch:
            return await routes.register(device.key, self._gateway)
        return await routes.reregister(device.key, self._gateway, device.epoch)

    async def _rows(self, device: ConnectedDevice) -> list[ChatRow]:
        rows = await self._parts.rows.rows(device.key.tenant, device.user)
        return [row for row in rows if row.known.joined is not None]

    async def _without_removed(
        self, device: ConnectedDevice, positions: Mapping[ChatId, int], rows: list[ChatRow]
    ) -> list[ChatRow]:
        """Unsubscribe from large chats whose leave the device has read, although its row does not show it yet."""
        # Race: the device read its user's leave from the log before the delivery worker wrote it into the row, and
        # resumes from the old row. A position above the delivered head shows that this is possible, so ask the log.
        if not device.large_chat_channels:
            return rows
        ahead = [
            row
            for row in rows
            if row.chat in device.large_chat_channels and positions.get(row.chat, 0) > chat_head(row)
        ]
        left = {row.chat: await self._parts.history.left(device.chat(row.chat), device.user) for row in ahead}
        removed = {chat: at for chat, at in left.items() if at is not None and at <= positions[chat]}
        for chat in removed:
            self._parts.large_chats.leave(device, chat)
        return [with_removal(row, removed[row.chat]) if row.chat in removed else row for row in rows]

    async def _send(self, device: ConnectedDevice, plan: ResumePlan, charges: PageCharger) -> None:
        self._start_positions(device, plan)
        if plan.rows:
            listed = await self._parts.chat_list.confirmed(device.key.tenant, device.user, plan.rows)
            await self._parts.sender.rows(device, listed)
        for some in batched(plan.ahead, MAX_CONCURRENT_CHATS):
            await charges.before(some)
            if len(some) == 1:
                await self._send_range(device, *some)
            else:
                # Race: a range fails, and the resume is repeated while others are still sent. The repetition starts
                # from the positions reached and replaces them, which ends the others.
                await asyncio.gather(*(self._send_range(device, missed) for missed in some))

    def _start_positions(self, device: ConnectedDevice, plan: ResumePlan) -> None:
        """Replace the positions by those of the plan. Pushes that were recorded during the resume stay recorded."""
        listed = {row.chat for row in plan.rows}
        for chat, start in plan.positions.items():
            position = ChatPosition(start.position, NEVER_JOINED if start.since is None else start.since)
            position.replace(device.positions.get(chat), is_gone=device.is_gone)
            position.is_member, position.has_row = start.is_member, chat in listed
            device.positions[chat] = position
            if not start.is_member and chat in device.large_chat_channels:
                # Race: during this resume a push announced that the chat became large. The device had no position yet
                # that showed its user's leave, so the node subscribed it.
                position.had_channel = True
                self._parts.large_chats.leave(device, chat)

    async def _send_range(self, device: ConnectedDevice, missed: MissedEntries) -> None:
        position = device.positions[missed.chat]
        if missed.is_sure:
            await self._parts.ranges.send_known_range(device, position, missed)
        else:
            position.on_push(missed.up_to)
            await self._parts.ranges.catch_up(device, missed.chat, position)

    async def _replay(self, device: ConnectedDevice) -> None:
        """Send what was pushed during the resume, then make the device live."""
        # The ranges of a disconnected device are never sent, so it stays behind: the loop must check `is_gone`.
        while not device.is_gone:
            for chat in device.behind():
                await self._parts.ranges.catch_up(device, chat, device.positions[chat])
            await self._failpoints.hit("gateway.replayed")
            # Race: the dispatcher records a push between the check for recorded pushes and `is_live`. Nothing is
            # awaited between the two, so it cannot run there.
            if not device.behind():
                device.is_live = not device.is_gone
                return

    async def _close_old(self, device: ConnectedDevice, before: Route | None) -> None:
        """Close the previous connection of the device on another gateway. The hub closes one in this process."""
        if before is None or before.gateway == self._gateway or not device.is_registered:
            return
        message = ConnectionReplaced(device.key.tenant, device.user, device.key.device, device.epoch)
        with suppress(UnavailableError):
            await self._parts.bus.publish_to_gateway(before.gateway, encode_messages((message,)))
