"""Steps 3 and 4 of the worker: devices that are connected get a push, messages for users who have none are kept.

By then the truth is written. A gateway reads it after it has registered a route, so whoever is not found here finds
it there; that is why the order of the steps is the protocol.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidings.delivery import plan
from tidings.delivery.counts import Counts
from tidings.delivery.model import Kept
from tidings.delivery.plan import Found, Person, Plan
from tidings.delivery.ports import Line, Pending, Routes, UserAway
from tidings.delivery.side_by_side import few_at_once
from tidings.kernel.ids import DeviceKey, TenantId, UserId
from tidings.kernel.pauses import Pauses
from tidings.messages.model import Entry
from tidings.routing.model import GatewayId, Push, Ring, by_gateway, encode

MAX_PAYLOAD_BYTES = 512 * 1024
"""About: what goes to one gateway at once holds up everything else on its connection."""
_ENTRY_BYTES = 200

type Words = tuple[Push | Ring, ...]


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

    async def reach(self, plans: Sequence[Plan]) -> None:
        """Raises `RoutesAwayError`, or what the stores raise: then some may have got it, and all are to be tried again."""
        found = await self._look_up({person for each in plans for person in each.people})
        await self._pauses.at("worker.looked_up")
        there = await self._push(plans, found)
        await self._pauses.at("worker.pushed")
        kept = [
            Kept(each.chat, user, messages)
            for each in plans
            for user, messages in each.keeps.items()
            if (each.chat.tenant, user) not in there
        ]
        if kept:
            await self._keep(kept)

    async def _look_up(self, people: Iterable[Person]) -> Found:
        tenants: dict[TenantId, list[UserId]] = {}
        for tenant, user in people:
            tenants.setdefault(tenant, []).append(user)
        answers = await few_at_once(self._routes.of(tenant, users) for tenant, users in tenants.items())
        return {
            (tenant, user): routes
            for tenant, answer in zip(tenants, answers, strict=True)
            for user, routes in answer.items()
        }

    async def _push(self, plans: Sequence[Plan], found: Found) -> set[Person]:
        """Answers who has a route to a gateway that is there."""
        going = plan.pushes(plans, found)
        gone = await self._send({gateway: tuple(words) for gateway, words in going.items()})
        channels = [each for each in plans if each.on_channel]
        await few_at_once(self._line.to_chat(each.chat, _on_channel(each)) for each in channels)
        self._counts.pushed += sum(map(len, going.values())) + len(channels)
        return await self._still_there(found, gone)

    async def _send(self, going: Mapping[GatewayId, Words]) -> set[GatewayId]:
        """Answers which gateways are gone."""

        async def send(gateway: GatewayId, words: Words) -> bool:
            return all([await self._line.to_gateway(gateway, encode(some)) for some in _bounded(words)])

        answers = await few_at_once(send(gateway, words) for gateway, words in going.items())
        return {gateway for gateway, is_there in zip(going, answers, strict=True) if not is_there}

    async def _still_there(self, found: Found, gone: set[GatewayId]) -> set[Person]:
        """Routes to a gateway that nobody listens at are taken out, unless they are others by now."""
        stale = [
            (DeviceKey(*person, route.device), route)
            for person, routes in found.items()
            for route in routes
            if route.gateway in gone
        ]
        self._counts.stale += len(stale)
        await few_at_once(self._routes.remove(device, route.gateway, route.epoch) for device, route in stale)
        return {person for person, routes in found.items() if any(r.gateway not in gone for r in routes)}

    async def _keep(self, kept: Sequence[Kept]) -> None:
        await self._pending.put(kept)
        self._counts.kept += sum(len(each.messages) for each in kept)
        await self._pauses.at("worker.pending_put")
        # Again: a device that came in meanwhile may have read the queue before the row was there.
        found = await self._look_up({each.person for each in kept})
        await self._pauses.at("worker.looked_up_again")
        there = await self._ring(found)
        await self._pauses.at("worker.rung")
        away = [each for each in kept if each.person not in there]
        self._counts.unreached += len(away)
        await few_at_once(self._away.tell(*each) for each in away)

    async def _ring(self, found: Found) -> set[Person]:
        if not found:
            return set()
        rings: dict[GatewayId, list[Ring]] = {}
        for (tenant, user), routes in found.items():
            for gateway, devices in by_gateway(user, routes).items():
                rings.setdefault(gateway, []).append(Ring(tenant, user, devices))
        gone = await self._send({gateway: tuple(words) for gateway, words in rings.items()})
        self._counts.rung += len(found)
        return await self._still_there(found, gone)


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
