"""Presence of the people whom devices here look at: hints on their channels, and a look at the leases now and then.

Nobody publishes that a gateway has died: its routes run out, and whoever looks finds that. What is shown, and when, is
`signs/rules.py`.
"""

import asyncio
import heapq
import random
from collections.abc import Callable, Collection, Iterable
from itertools import count, groupby
from typing import Final, Protocol, final

from tidings.gateway.crew import Crew
from tidings.gateway.hub import Hub
from tidings.gateway.seat import Seat
from tidings.gateway.signs.channels import Channel, Channels
from tidings.gateway.signs.counts import SignCounts
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.routing.ports import Ears, RoutesAwayError
from tidings.signs.model import UNKNOWN, Hint, Presence
from tidings.signs.ports import Presences
from tidings.signs.rules import ARRIVED, Watched, is_news, looked
from tidings.wire.codec import encode_push
from tidings.wire.frames.signs import PresencePush

LOOKED_UP_AT_ONCE: Final = 500
TURN_S: Final = 0.1
"""Looks that are due about the same time leave together."""
_JUDGED_AT_ONCE: Final = 8
_AGAIN_S: Final = 2.0

type Person = tuple[TenantId, UserId]
type Report = Callable[[str, BaseException], None]


class Seeing(Protocol):
    async def visible(
        self, tenant: TenantId, viewer: UserId, chats: Collection[ChatId], users: Collection[UserId], /
    ) -> set[UserId]: ...


class PersonChannel(Channel[Person]):
    """`due_at`: when he is looked up next; what stands in the queue for another time is void.

    `denied`: who may not see him. They are here all the same, to be judged anew when the rules change.
    """

    def __init__(self, key: Person) -> None:
        super().__init__(key)
        self.watched = Watched()
        self.due_at = 0.0
        self.denied: set[Seat] = set()

    @property
    def is_seen(self) -> bool:
        return len(self.denied) < len(self.seats)


@final
class PeopleSigns:
    """`hold_s`: how long one must be gone to be shown as gone. `look_every_s`: about how often each is looked up."""

    def __init__(
        self,
        ears: Ears,
        presences: Presences,
        seeing: Seeing,
        hub: Hub[Seat],
        *,
        hold_s: float,
        look_every_s: float,
        counts: SignCounts,
        report: Report,
    ) -> None:
        self._presences = presences
        self._seeing = seeing
        self._hub = hub
        self._hold_s = hold_s
        self._look_every_s = look_every_s
        self._counts = counts
        self.channels: Channels[Person, PersonChannel] = Channels(
            PersonChannel, lambda key, hear: ears.at_presence(*key, hear), self
        )
        self._asked: dict[Seat, set[UserId]] = {}
        self._judging: Crew[Seat] = Crew(self._judge, _JUDGED_AT_ONCE, report)
        self._looking: Crew[None] = Crew(self._look, 1, report)
        self._queue: list[tuple[float, int, PersonChannel]] = []
        self._numbers = count()
        self._timer: asyncio.TimerHandle | None = None
        self._turns_at = 0.0

    def look(self, seat: Seat, users: Iterable[UserId], *, anew: bool = False) -> None:
        """Also for one who looks already: whether he may is judged anew. What he was told is told again with `anew`."""
        users = list(users)
        for user in users if anew else ():
            if (channel := self.channels.get((seat.key.tenant, user))) is not None and seat in channel.seats:
                channel.seats[seat] = False
        self._asked.setdefault(seat, set()).update(users)
        if self._asked[seat]:
            self._judging.add(seat)

    def leave(self, seat: Seat, user: UserId) -> None:
        if seat in self._asked:
            self._asked[seat].discard(user)
        if (channel := self.channels.get((seat.key.tenant, user))) is not None:
            channel.denied.discard(seat)
        self.channels.leave(seat, (seat.key.tenant, user))

    def gone(self, seat: Seat) -> None:
        self._asked.pop(seat, None)

    async def settled(self) -> None:
        self.channels.close()
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        await self._judging.settled(0)
        await self._looking.settled(0)

    def stands(self, channel: PersonChannel, /) -> None:
        self._look_in(channel, TURN_S * random.random())  # noqa: S311 - spreads look-ups

    def said(self, channel: PersonChannel, payload: bytes, /) -> None:
        match payload.decode(errors="replace"):
            case Hint.RULES:
                for seat in list(channel.seats):
                    self.look(seat, [channel.key[1]])
            case Hint.CAME if channel.is_seen:
                self._show(channel, ARRIVED)
            case _:
                self._look_in(channel, TURN_S)

    async def _judge(self, seat: Seat) -> None:
        """Whom of those he asked for he may see: a few reads for all of them."""
        users = self._asked.pop(seat, set())
        if seat.is_gone or not users:
            return
        chats = {chat for chat, place in seat.places.items() if place.is_member}
        try:
            visible = await self._seeing.visible(seat.key.tenant, seat.user, chats, users)
        except TidingsError:
            asyncio.get_running_loop().call_later(_AGAIN_S, self._judge_again, seat, users)
            return
        wanted = set(seat.looks.users) if seat.looks is not None and not seat.is_gone else set()
        for user in users & wanted:
            channel = self.channels.enter(seat, (seat.key.tenant, user))
            if user in visible:
                self._enter(seat, channel)
            else:
                self._deny(seat, channel)

    def _judge_again(self, seat: Seat, users: set[UserId]) -> None:
        if not seat.is_gone:
            self.look(seat, users)

    def _deny(self, seat: Seat, channel: PersonChannel) -> None:
        """Once he has been told that nothing is known he is told no more."""
        was_told = seat in channel.denied and channel.seats[seat]
        channel.denied.add(seat)
        channel.seats[seat] = True
        if not channel.is_seen:
            # nobody looks him up now: who may see him again begins with a look
            channel.watched = Watched()
        if not was_told:
            self._push([seat], channel.key[1], UNKNOWN)

    def _enter(self, seat: Seat, channel: PersonChannel) -> None:
        if seat in channel.denied:
            channel.denied.discard(seat)
            channel.seats[seat] = False
        if channel.watched.shown is not None:
            self._tell(channel, [] if channel.seats[seat] else [seat], channel.watched.shown)
        elif channel.is_standing:
            self._look_in(channel, 0.0)

    def _show(self, channel: PersonChannel, after: Watched) -> None:
        """News go to all who look; to who has just begun to, whatever is shown."""
        before, channel.watched = channel.watched, after
        if after.shown is None:
            return
        everybody = is_news(before, after)
        self._tell(
            channel,
            [
                seat
                for seat, is_open in channel.seats.items()
                if (everybody or not is_open) and seat not in channel.denied
            ],
            after.shown,
        )

    def _tell(self, channel: PersonChannel, seats: Iterable[Seat], shown: Presence) -> None:
        """Who resumes is told when he is through."""
        to = [seat for seat in seats if seat.is_live]
        channel.seats.update({seat: seat.is_live for seat in seats})
        self._push(to, channel.key[1], shown)

    def _push(self, seats: Iterable[Seat], user: UserId, shown: Presence) -> None:
        sockets = [seat.socket for seat in seats]
        if sockets:
            frame = PresencePush(user=user, status=shown.status.value, at=shown.seen_ms)
            self._counts.presence += len(sockets)
            self._hub.send(encode_push(frame), sockets)

    def _look_in(self, channel: PersonChannel, wait_s: float) -> None:
        channel.due_at = self._now() + wait_s
        heapq.heappush(self._queue, (channel.due_at, next(self._numbers), channel))
        self._arm()

    def _arm(self) -> None:
        if self._queue and (self._timer is None or self._turns_at > self._queue[0][0] + TURN_S):
            if self._timer is not None:
                self._timer.cancel()
            self._turns_at = self._queue[0][0]
            self._timer = asyncio.get_running_loop().call_at(self._turns_at, self._turn)

    def _turn(self) -> None:
        self._timer = None
        self._looking.add(None)

    async def _look(self, _: None) -> None:
        """All that are due, tenant by tenant, some at once."""
        due = self._take_due()
        for tenant, channels in groupby(sorted(due, key=lambda each: each.key), lambda each: each.key[0]):
            await self._look_up(tenant, list(channels))
        self._arm()

    def _take_due(self) -> list[PersonChannel]:
        due: dict[PersonChannel, None] = {}
        until = self._now() + TURN_S / 2
        while self._queue and self._queue[0][0] <= until and len(due) < LOOKED_UP_AT_ONCE:
            at, _, channel = heapq.heappop(self._queue)
            if channel.due_at != at or self.channels.get(channel.key) is not channel:
                continue
            channel.due_at = 0.0
            if channel.is_seen:
                due[channel] = None
        return list(due)

    async def _look_up(self, tenant: TenantId, channels: list[PersonChannel]) -> None:
        self._counts.looks += len(channels)
        try:
            found = await self._presences.of(tenant, [channel.key[1] for channel in channels])
        except RoutesAwayError:
            for channel in channels:
                self._look_in(channel, _AGAIN_S * (0.5 + random.random()))  # noqa: S311 - as above
            return
        for channel in channels:
            if not channel.is_seen:
                continue
            if channel.key[1] not in found:
                self._look_in(channel, _AGAIN_S * (0.5 + random.random()))  # noqa: S311 - as above
                continue
            self._show(channel, looked(channel.watched, found[channel.key[1]], self._now(), self._hold_s))
            if not channel.due_at:
                self._look_in(channel, self._next_s(channel.watched))

    def _next_s(self, watched: Watched) -> float:
        usual_s = self._look_every_s * (0.75 + 0.5 * random.random())  # noqa: S311 - as above
        if watched.absent_since is None:
            return usual_s
        return min(usual_s, max(0.0, watched.absent_since + self._hold_s - self._now()) + TURN_S / 2)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
