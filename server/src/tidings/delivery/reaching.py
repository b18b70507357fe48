"""Steps 3 and 4 of the worker: devices that are connected get a push, messages for users who have none are kept.

By then the truth is written. A gateway reads it after it has registered a route, so whoever is not found here finds
it there; that is why the order of the steps is the protocol.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidings.delivery import plan
from tidings.delivery.counts import Counts
from tidings.delivery.model import Kept
from tidings.delivery.plan import Found, Person, Plan
from tidings.delivery.ports import Line, Pending, Routes, UserAway
from tidings.delivery.side_by_side import few_at_once, settled
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatKey, DeviceKey, TenantId, UserId
from tidings.kernel.pauses import Pauses
from tidings.messages.model import Entry
from tidings.routing.model import Answers, GatewayId, Push, Ring, Route, RoutesAwayError, by_gateway, encode

MAX_PAYLOAD_BYTES = 512 * 1024
"""About: what goes to one gateway at once holds up everything else on its connection."""
_ENTRY_BYTES = 200

type Words = tuple[Push | Ring, ...]


@dataclass(slots=True)
class Late:
    """Chats of which not everybody could be reached, and the first reason. They are not to be marked as handled."""

    chats: set[ChatKey] = field(default_factory=set)
    why: str = ""
    failed: dict[ChatKey, TidingsError] = field(default_factory=dict)
    """Late because the queue of one of its users could not be written."""

    def add(self, chats: Iterable[ChatKey], why: str) -> None:
        self.chats.update(chats)
        self.why = self.why or why


class Reaching:
    def __init__(
        self, routes: Routes, line: Line, pending: Pending, away: UserAway, *, counts: Counts, pauses: Pauses
    ) -> None:
        self._routes = routes
        self._line = line
        self._pending = pending
        self._away = away
        self._counts = counts
        self._pauses = pauses

    async def reach(self, plans: Sequence[Plan]) -> Late:
        """Push to everybody who can be found, keep messages for users without a route, and return the chats that are late.

        A chat is late if one of its users, of the gateways that its devices are at, or its own channel could not be asked.
        Everybody else in it still gets the push; nothing is kept and nobody is told to be away, because the caller
        does not mark a late chat, so all of it comes again. Raises what the stores raise: then some may have got it,
        and all are to be tried again.
        """
        late = Late()
        found = await self._look_up(dict.fromkeys(person for each in plans for person in each.people))
        late.add((each.chat for each in plans if not found.unknown.isdisjoint(each.people)), found.why)
        await self._pauses.at("worker.looked_up")
        there = await self._push(plans, found.found, late)
        await self._pauses.at("worker.pushed")
        kept = [
            Kept(each.chat, user, messages)
            for each in plans
            if each.chat not in late.chats
            for user, messages in each.keeps.items()
            if (each.chat.tenant, user) not in there
        ]
        if kept:
            await self._keep(kept, late)
        return late

    async def _look_up(self, people: Iterable[Person]) -> Answers[Person, Sequence[Route]]:
        tenants: dict[TenantId, list[UserId]] = {}
        for tenant, user in people:
            tenants.setdefault(tenant, []).append(user)
        answers = await few_at_once(self._routes.of(tenant, users) for tenant, users in tenants.items())
        each = list(zip(tenants, answers, strict=True))
        return Answers(
            {(tenant, user): routes for tenant, a in each for user, routes in a.found.items()},
            frozenset((tenant, user) for tenant, a in each for user in a.unknown),
            next((a.why for a in answers if a.why), ""),
        )

    async def _push(self, plans: Sequence[Plan], found: Found, late: Late) -> set[Person]:
        """Return who has a route to a gateway that is there."""
        going = plan.pushes(plans, found)
        sent = await self._send({gateway: tuple(words) for gateway, words in going.items()})
        for gateway in sent.unknown:
            late.add((push.key for push in going[gateway]), sent.why)
        channels = [each for each in plans if each.on_channel]
        outcomes = await settled(self._line.to_chat(each.chat, _on_channel(each)) for each in channels)
        for each, outcome in zip(channels, outcomes, strict=True):
            if isinstance(outcome, RoutesAwayError):
                late.add([each.chat], str(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
        self._counts.pushed += sum(map(len, going.values())) + len(channels)
        return await self._still_there(found, sent)

    async def _send(self, going: Mapping[GatewayId, Words]) -> Answers[GatewayId, bool]:
        """Send each gateway its words. Found: whether it is there. Unknown: its channel could not be asked."""

        async def send(gateway: GatewayId, words: Words) -> bool:
            return all([await self._line.to_gateway(gateway, encode(some)) for some in _bounded(words)])

        outcomes = await settled(send(gateway, words) for gateway, words in going.items())
        found: dict[GatewayId, bool] = {}
        failed: dict[GatewayId, str] = {}
        for gateway, outcome in zip(going, outcomes, strict=True):
            if isinstance(outcome, RoutesAwayError):
                failed[gateway] = str(outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                found[gateway] = outcome
        return Answers(found, frozenset(failed), next(iter(failed.values()), ""))

    async def _still_there(self, found: Found, sent: Answers[GatewayId, bool]) -> set[Person]:
        """Delete routes to gateways that nobody listens at, each only if it is still the same.

        A user at a gateway that could not be asked counts as there: nothing says that they are away.
        """
        gone = {gateway for gateway, is_there in sent.found.items() if not is_there}
        stale = [
            (DeviceKey(*person, route.device), route)
            for person, routes in found.items()
            for route in routes
            if route.gateway in gone
        ]
        self._counts.stale += len(stale)
        removed = await settled(
            self._routes.remove(device, route.gateway, route.epoch) for device, route in stale
        )
        for outcome in removed:
            # A route that can't be deleted now is found stale again, or its lease runs out.
            if isinstance(outcome, BaseException) and not isinstance(outcome, RoutesAwayError):
                raise outcome
        return {person for person, routes in found.items() if any(r.gateway not in gone for r in routes)}

    async def _keep(self, kept: Sequence[Kept], late: Late) -> None:
        kept = await self._put(kept, late)
        self._counts.kept += sum(len(each.messages) for each in kept)
        await self._pauses.at("worker.pending_put")
        # Again: a device that came in meanwhile may have read the queue before the row was there.
        found = await self._look_up(dict.fromkeys(each.person for each in kept))
        await self._pauses.at("worker.looked_up_again")
        late.add((each.chat for each in kept if each.person in found.unknown), found.why)
        there = await self._ring(kept, found.found, late)
        await self._pauses.at("worker.rung")
        away = [each for each in kept if each.person not in there and each.person not in found.unknown]
        self._counts.unreached += len(away)
        await few_at_once(self._away.tell(*each) for each in away)

    async def _put(self, kept: Sequence[Kept], late: Late) -> Sequence[Kept]:
        """Put all at once; if that fails, chat by chat: a throttled user delays their own chats and no others."""
        try:
            await self._pending.put(kept)
        except TidingsError as error:
            if not error.retryable:
                raise
        else:
            return kept
        chats: dict[ChatKey, list[Kept]] = {}
        for each in kept:
            chats.setdefault(each.chat, []).append(each)
        outcomes = await settled(self._pending.put(some) for some in chats.values())
        for chat, outcome in zip(chats, outcomes, strict=True):
            if isinstance(outcome, TidingsError) and outcome.retryable:
                late.failed[chat] = outcome
                late.add([chat], outcome.message)
            elif isinstance(outcome, BaseException):
                raise outcome
        return [each for each in kept if each.chat not in late.failed]

    async def _ring(self, kept: Sequence[Kept], found: Found, late: Late) -> set[Person]:
        if not found:
            return set()
        rings: dict[GatewayId, list[Ring]] = {}
        for (tenant, user), routes in found.items():
            for gateway, devices in by_gateway(user, routes).items():
                rings.setdefault(gateway, []).append(Ring(tenant, user, devices))
        sent = await self._send({gateway: tuple(words) for gateway, words in rings.items()})
        unrung = {(ring.tenant, ring.user) for gateway in sent.unknown for ring in rings[gateway]}
        late.add((each.chat for each in kept if each.person in unrung), sent.why)
        self._counts.rung += len(found)
        return await self._still_there(found, sent)


def _on_channel(large: Plan) -> bytes:
    push = Push(large.chat.tenant, large.chat.chat, tuple(large.on_channel), is_large=True)
    return encode((push,))


def _bounded(words: Words) -> Iterator[Words]:
    """In order, several at once; one that is larger than the bound goes alone."""
    some: list[Push | Ring] = []
    size = 0
    for word in words:
        adds = _ENTRY_BYTES if isinstance(word, Ring) else sum(map(_size, word.entries))
        if some and size + adds > MAX_PAYLOAD_BYTES:
            yield tuple(some)
            some, size = [], 0
        some.append(word)
        size += adds
    if some:
        yield tuple(some)


def _size(entry: Entry) -> int:
    return _ENTRY_BYTES + len(entry.content or b"")
