"""The flow "reconnect", in its order: here, buffering; registered; subscribed; read; sent; replayed; live; and then the
socket that was there before is closed. Who missed the route wrote what is read after it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import batched
from typing import Final, final

from tidings.delivery import rules
from tidings.delivery.model import PendingKey, Row, Waiting
from tidings.gateway.counts import Counts
from tidings.gateway.crew import Crew
from tidings.gateway.resume.charges import Charge, PageCharges
from tidings.gateway.resume.parts import Parts, ResumeOptions
from tidings.gateway.resume.plan import Ahead, Plan, head_of, is_any_ahead, large_chats, plan, taken_out
from tidings.gateway.seat import NOT_SEEN, UNKNOWN, Place, Seat
from tidings.gateway.shares import SharedSlots, aside
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.kernel.pauses import Pauses
from tidings.messages.model import Entry
from tidings.routing.model import GatewayId, Registered, Replaced, Route, encode
from tidings.routing.ports import RoutesAwayError
from tidings.wire.close_codes import CloseCode
from tidings.wire.frames.connecting import Resume, Resumed

CHATS_AT_ONCE: Final = 8
MOST_POSITIONS: Final = 100_000
_FIRST_WAIT_S: Final = 0.1


@final
class Resuming:
    """Tells of a seat: `left`, that it had gone before the end; `routed`, that it has a new route; `read`, the rows of
    chats that the device knew; `live`, that it is.
    """

    def __init__(
        self,
        parts: Parts,
        gateway: GatewayId,
        options: ResumeOptions,
        *,
        counts: Counts,
        pauses: Pauses,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._parts = parts
        self._gateway = gateway
        self._options = options
        self._counts = counts
        self._pauses = pauses
        share = max(1, int(options.at_once * options.tenant_share))
        self._reads: SharedSlots[TenantId] = SharedSlots(options.at_once, share)
        self._of_user: SharedSlots[tuple[TenantId, UserId]] = SharedSlots(each=options.per_user)
        self._again: Crew[Seat] = Crew(self._resume_again, options.again_at_once, report)
        self._busy: dict[Seat, asyncio.Event] = {}
        self.left: Callable[[Seat], None] = lambda _: None
        self.routed: Callable[[Seat], None] = lambda _: None
        self.read: Callable[[Seat, Sequence[Row]], None] = lambda _, __: None
        self.live: Callable[[Seat], None] = lambda _: None

    def __len__(self) -> int:
        return len(self._again)

    async def __call__(self, seat: Seat, asked: Resume, epoch: int, charge: Charge | None = None) -> Resumed:
        """Compare the device's positions with the rows once the last part of them has come, and send what it missed.

        `charge` counts what is read against the user's rate limit.
        """
        is_reset = not asked.counts_in(epoch)
        told = seat.told = {**(seat.told or {}), **({} if is_reset else asked.positions)}
        if len(told) > MOST_POSITIONS:
            raise TidingsError(Code.REQUEST_INVALID, f"More than {MOST_POSITIONS} positions.")
        if not asked.has_more:
            seat.told = None
            positions = {ChatId(chat): at for chat, at in told.items()}
            await self._asked(seat, positions, PageCharges(charge))
            self._counts.resumes += 1
        return Resumed(epoch=epoch, is_reset=is_reset, has_more=asked.has_more)

    def again(self, seat: Seat) -> None:
        """Pushes may have been missed. Who resumes already begins anew when he is through."""
        seat.wants_again = True
        if seat.is_live and not seat.is_gone:
            self._again.add(seat)

    async def settled(self, within_s: float) -> None:
        await self._again.settled(within_s)

    async def _asked(self, seat: Seat, positions: Mapping[ChatId, int], charges: PageCharges) -> None:
        """Resume a device that asked for it.

        A user's devices resume a few at a time, to the end. Reading takes a slot of the tenant's share, and sending
        does not: a device that reads slowly keeps nobody else from resuming. A device that was live and could not
        be given what it asked for resumes again by itself: it is told, and need not ask again to be live.
        """
        tenant, was_live = seat.key.tenant, seat.is_live
        try:
            async with (
                self._in_time(seat),
                self._of_user.slot((tenant, seat.user)),
                self._reads.slot(tenant),
            ):
                await self._alone(seat, positions, charges)
        except Exception:
            if was_live:
                self._again.add(seat)
            raise

    @asynccontextmanager
    async def _in_time(self, seat: Seat) -> AsyncIterator[None]:
        """Close a device that has not resumed in time; it comes back and goes on from where it got to."""
        try:
            async with asyncio.timeout(self._options.within_s):
                yield
        except TimeoutError:
            seat.connected.close(CloseCode.TRY_LATER)
            raise TidingsError(Code.OVERLOADED, "The resume took too long.") from None

    async def _resume_again(self, seat: Seat) -> None:
        """Resume a device that may have missed pushes. It ends live or closed: else it would wait for ever."""
        for tried in range(self._options.tries):
            if seat.is_gone:
                return
            try:
                async with self._in_time(seat):
                    await self._alone(seat, None, PageCharges(None))
            except TidingsError:
                self._counts.resumes_failed += 1
                async with aside():
                    wait_s = _FIRST_WAIT_S * 2**tried * (0.5 + random.random())  # noqa: S311 - spreads tries
                    await asyncio.sleep(wait_s)
            except Exception:
                seat.connected.close(CloseCode.TRY_LATER)
                raise
            else:
                self._counts.resumed_again += 1
                return
        seat.connected.close(CloseCode.TRY_LATER)

    async def _alone(self, seat: Seat, told: Mapping[ChatId, int] | None, charges: PageCharges) -> None:
        """Of a device one at a time. One that has left meanwhile takes along what was built up after its end."""
        while (busy := self._busy.get(seat)) is not None:
            async with aside():
                await busy.wait()
        done = self._busy[seat] = asyncio.Event()
        try:
            await self._resume(seat, told, charges)
        finally:
            del self._busy[seat]
            done.set()
            if seat.is_gone:
                self.left(seat)
        if seat.wants_again:
            self.again(seat)

    async def _resume(self, seat: Seat, told: Mapping[ChatId, int] | None, charges: PageCharges) -> None:
        """What is said of the device while this runs is only noted. What it asks for again meanwhile is done after.

        Who told no positions is where his seat is when the ranges are planned, not before: until then a range that
        was being read when this began is still sent, and would be sent again.
        """
        if seat.is_gone:
            return
        pauses = self._pauses
        seat.is_live, seat.wants_again, seat.pace = False, False, None
        await pauses.at("gateway.installed")
        before = await self._register(seat)
        await pauses.at("gateway.registered")
        rows = await self._rows(seat)
        large = large_chats(rows)
        await self._subscribe(seat, large)
        await pauses.at("gateway.subscribed")
        rows = await self._with_heads(seat, rows, large)
        rows = await self._without_left(seat, _held(seat) if told is None else told, rows)
        kept = await self._kept(seat, _held(seat) if told is None else told, rows)
        await pauses.at("gateway.read")
        positions = _held(seat) if told is None else told
        await self._send(seat, plan(positions, rows, kept, self._options.tails), charges)
        self._ack(seat, positions, rows)
        self.read(seat, [row for row in rows if row.chat in positions])
        await pauses.at("gateway.sent")
        await self._replay(seat)
        self.live(seat)
        await pauses.at("gateway.live")
        await self._close_old(seat, before)

    async def _register(self, seat: Seat) -> Route | None:
        """Without routes the device is let in all the same: what it gets now it gets by reading."""
        if seat.is_routed:
            return None
        try:
            done = await self._route(seat)
        except RoutesAwayError:
            return None
        if done is None:
            # its route was lost, and the device came in elsewhere before we did: only a new socket takes over
            seat.connected.close(CloseCode.TRY_LATER)
            return None
        seat.epoch, seat.is_routed = done.epoch, True
        self.routed(seat)
        return done.before

    async def _route(self, seat: Seat) -> Registered | None:
        routes = self._parts.routes
        if not seat.epoch:
            return await routes.register(seat.key, self._gateway)
        return await routes.register_again(seat.key, self._gateway, seat.epoch)

    async def _rows(self, seat: Seat) -> list[Row]:
        rows = await self._parts.rows.rows(seat.key.tenant, seat.user)
        return [row for row in rows if row.known.joined is not None]

    async def _subscribe(self, seat: Seat, large: Sequence[ChatId]) -> None:
        """Listen to large chats. The heartbeat compares those whose channel is not confirmed yet."""
        heard = await asyncio.gather(*(self._parts.rooms.enter(seat, chat) for chat in large))
        seat.unheard.update((chat, None) for chat, is_heard in zip(large, heard, strict=True) if not is_heard)

    async def _with_heads(self, seat: Seat, rows: list[Row], large: Sequence[ChatId]) -> list[Row]:
        heads = await self._parts.rows.heads(seat.key.tenant, large) if large else {}
        return [rules.with_head(row, heads.get(row.chat)) for row in rows] if heads else rows

    async def _without_left(self, seat: Seat, positions: Mapping[ChatId, int], rows: list[Row]) -> list[Row]:
        """Who holds more of a large chat than its head says has read ahead of delivery, perhaps his own leave.

        His row does not know of it yet, so he is asked for where it stands first; out, he does not listen.
        """
        if not seat.rooms:
            return rows
        ahead = [row for row in rows if row.chat in seat.rooms and positions.get(row.chat, 0) > head_of(row)]
        left = {row.chat: await self._parts.history.left(seat.chat(row.chat), seat.user) for row in ahead}
        known = {chat: at for chat, at in left.items() if at is not None and at <= positions[chat]}
        for chat in known:
            self._parts.rooms.leave(seat, chat)
        return [taken_out(row, known[row.chat]) if row.chat in known else row for row in rows]

    async def _kept(
        self, seat: Seat, positions: Mapping[ChatId, int], rows: Sequence[Row]
    ) -> dict[ChatId, dict[int, Entry]]:
        """The queue is asked only if something is ahead: who missed nothing costs nothing."""
        kept: dict[ChatId, dict[int, Entry]] = {}
        if is_any_ahead(positions, rows):
            seat.drained = {}
            for each in await self._drained(seat):
                seat.drained.setdefault(each.chat.chat, []).append((each.entry.sequence, each.key))
                kept.setdefault(each.chat.chat, {})[each.entry.sequence] = each.entry
        return kept

    async def _drained(self, seat: Seat) -> list[Waiting]:
        found: list[Waiting] = []
        after: PendingKey | None = None
        while len(found) < self._options.kept:
            drained = await self._parts.queue.drain(seat.key.tenant, seat.user, after)
            found += drained.waiting
            after = drained.after
            if after is None:
                break
        return found

    async def _send(self, seat: Seat, planned: Plan, charges: PageCharges) -> None:
        """What was noted of a chat stays noted: it is held against the place that the chat gets now."""
        listed_now = {row.chat for row in planned.rows}
        for chat, begun in planned.places.items():
            place = Place(begun.position, NOT_SEEN if begun.since is None else begun.since)
            noted = seat.places.get(chat)
            place.ahead = noted.ahead if noted is not None else 0
            place.is_member, place.has_row = begun.is_member, chat in listed_now
            seat.places[chat] = place
            if not begun.is_member and chat in seat.rooms:
                # meanwhile he was told that it became large, as one of whom nothing was known yet
                place.had_room = True
                self._parts.rooms.leave(seat, chat)
        if planned.rows:
            listed = await self._parts.listing.listed(seat.key.tenant, seat.user, planned.rows)
            await self._parts.sending.rows(seat, listed)
        for some in batched(planned.ahead, CHATS_AT_ONCE):
            await charges.before(some)
            if len(some) == 1:
                await self._send_range(seat, *some)
            else:
                await asyncio.gather(*(self._send_range(seat, ahead) for ahead in some))

    async def _send_range(self, seat: Seat, ahead: Ahead) -> None:
        place = seat.places[ahead.chat]
        if ahead.is_sure:
            await self._parts.ranges.sure(seat, place, ahead)
        else:
            place.hear(ahead.up_to)
            await self._parts.ranges.catch_up(seat, ahead.chat, place)

    def _ack(self, seat: Seat, positions: Mapping[ChatId, int], rows: Sequence[Row]) -> None:
        """A position is an ack. Only one that is news to the row is written, and never one above its head."""
        drained = seat.drained or {}
        for row in rows:
            at = positions.get(row.chat, 0)
            if row.chat in drained:
                self._parts.acks.done_with(seat, row.chat, at)
            had = row.delivered.sequence if row.delivered else 0
            if had < at <= head_of(row):
                self._parts.acks.position(seat, row, at)

    async def _replay(self, seat: Seat) -> None:
        """Between the last look and being live nothing is awaited, so nothing can be noted and forgotten.

        Who is gone stays behind for ever, and nothing is awaited for him: looking again would never end.
        """
        while not seat.is_gone and (behind := seat.behind()):
            for chat in behind:
                await self._parts.ranges.catch_up(seat, chat, seat.places[chat])
        await self._pauses.at("gateway.replayed")
        if seat.is_gone:
            return None
        if seat.behind():
            return await self._replay(seat)
        seat.is_live = True
        return None

    async def _close_old(self, seat: Seat, before: Route | None) -> None:
        """Of two in this process the hub has closed the older one."""
        if before is None or before.gateway == self._gateway or not seat.is_routed:
            return
        word = Replaced(seat.key.tenant, seat.user, seat.key.device, seat.epoch)
        try:
            await self._parts.line.to_gateway(before.gateway, encode((word,)))
        except RoutesAwayError:
            return


def _held(seat: Seat) -> dict[ChatId, int]:
    return {chat: place.position for chat, place in seat.places.items() if place.position != UNKNOWN}
