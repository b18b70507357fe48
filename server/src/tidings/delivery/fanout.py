"""Steps 3 and 4 of the worker: devices that are connected get a push, messages for users who have none are kept.

By then the truth is written. A gateway reads it after it has registered a route, so whoever is not found here finds
it there; that is why the order of the steps is the protocol.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tidings.bus.model import Push, ResumeSignal, encode_messages, group_by_gateway
from tidings.connections.model import GatewayId, LookupResult, RegistryUnavailableError, Route
from tidings.delivery import fanout_plan
from tidings.delivery.fanout_plan import FanoutPlan, RoutesByUser, UserKey
from tidings.delivery.model import DeliveryStats, OfflineQueueBatch
from tidings.delivery.ports import BusPublisher, OfflineNotifier, OfflineQueue, RouteLookup
from tidings.kernel.concurrency import gather_limited, gather_results
from tidings.kernel.errors import TidingsError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, DeviceKey, TenantId, UserId
from tidings.messages.model import Entry

MAX_PAYLOAD_BYTES = 512 * 1024
"""About: what goes to one gateway at once holds up everything else on its connection."""
_ENTRY_BYTES = 200

type BusMessages = tuple[Push | ResumeSignal, ...]


@dataclass(slots=True)
class DeferredChats:
    """Chats of which not everybody could be reached, and the first reason. They are not to be marked as handled."""

    chats: set[ChatKey] = field(default_factory=set)
    reason: str = ""
    failed: dict[ChatKey, TidingsError] = field(default_factory=dict)
    """Late because the queue of one of its users could not be written."""

    def add(self, chats: Iterable[ChatKey], why: str) -> None:
        self.chats.update(chats)
        self.reason = self.reason or why


class Fanout:
    def __init__(
        self,
        routes: RouteLookup,
        bus: BusPublisher,
        pending: OfflineQueue,
        away: OfflineNotifier,
        *,
        counts: DeliveryStats,
        failpoints: Failpoints,
    ) -> None:
        self._routes = routes
        self._bus = bus
        self._pending = pending
        self._offline_notifier = away
        self._counts = counts
        self._failpoints = failpoints

    async def deliver(self, plans: Sequence[FanoutPlan]) -> DeferredChats:
        """Push to everybody who can be found, keep messages for users without a route, and return the chats that are late.

        A chat is late if one of its users, of the gateways that its devices are at, or its own channel could not be asked.
        Everybody else in it still gets the push; nothing is kept and nobody is told to be away, because the caller
        does not mark a late chat, so all of it comes again. Raises what the stores raise: then some may have got it,
        and all are to be tried again.
        """
        late = DeferredChats()
        found = await self._look_up_routes(dict.fromkeys(person for each in plans for person in each.users))
        late.add((each.chat for each in plans if not found.unknown.isdisjoint(each.users)), found.failure)
        await self._failpoints.hit("worker.looked_up")
        there = await self._push(plans, found.found, late)
        await self._failpoints.hit("worker.pushed")
        kept = [
            OfflineQueueBatch(each.chat, user, messages)
            for each in plans
            if each.chat not in late.chats
            for user, messages in each.keeps.items()
            if (each.chat.tenant, user) not in there
        ]
        if kept:
            await self._queue_offline(kept, late)
        return late

    async def _look_up_routes(self, people: Iterable[UserKey]) -> LookupResult[UserKey, Sequence[Route]]:
        tenants: dict[TenantId, list[UserId]] = {}
        for tenant, user in people:
            tenants.setdefault(tenant, []).append(user)
        answers = await gather_limited(
            self._routes.look_up(tenant, users) for tenant, users in tenants.items()
        )
        each = list(zip(tenants, answers, strict=True))
        return LookupResult(
            {(tenant, user): routes for tenant, a in each for user, routes in a.found.items()},
            frozenset((tenant, user) for tenant, a in each for user in a.unknown),
            next((a.failure for a in answers if a.failure), ""),
        )

    async def _push(
        self, plans: Sequence[FanoutPlan], found: RoutesByUser, late: DeferredChats
    ) -> set[UserKey]:
        """Return who has a route to a gateway that is there."""
        going = fanout_plan.build_pushes(plans, found)
        sent = await self._send({gateway: tuple(words) for gateway, words in going.items()})
        for gateway in sent.unknown:
            late.add((push.key for push in going[gateway]), sent.failure)
        channels = [each for each in plans if each.on_channel]
        outcomes = await gather_results(
            self._bus.publish_to_chat(each.chat, _on_channel(each)) for each in channels
        )
        for each, outcome in zip(channels, outcomes, strict=True):
            if isinstance(outcome, RegistryUnavailableError):
                late.add([each.chat], str(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
        self._counts.pushed += sum(map(len, going.values())) + len(channels)
        return await self._still_there(found, sent)

    async def _send(self, going: Mapping[GatewayId, BusMessages]) -> LookupResult[GatewayId, bool]:
        """Send each gateway its words. Found: whether it is there. Unknown: its channel could not be asked."""

        async def send(gateway: GatewayId, words: BusMessages) -> bool:
            return all(
                [
                    await self._bus.publish_to_gateway(gateway, encode_messages(some))
                    for some in _bounded(words)
                ]
            )

        outcomes = await gather_results(send(gateway, words) for gateway, words in going.items())
        found: dict[GatewayId, bool] = {}
        failed: dict[GatewayId, str] = {}
        for gateway, outcome in zip(going, outcomes, strict=True):
            if isinstance(outcome, RegistryUnavailableError):
                failed[gateway] = str(outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                found[gateway] = outcome
        return LookupResult(found, frozenset(failed), next(iter(failed.values()), ""))

    async def _still_there(self, found: RoutesByUser, sent: LookupResult[GatewayId, bool]) -> set[UserKey]:
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
        self._counts.stale_route += len(stale)
        removed = await gather_results(
            self._routes.remove(device, route.gateway, route.epoch) for device, route in stale
        )
        for outcome in removed:
            # A route that can't be deleted now is found stale again, or its lease runs out.
            if isinstance(outcome, BaseException) and not isinstance(outcome, RegistryUnavailableError):
                raise outcome
        return {person for person, routes in found.items() if any(r.gateway not in gone for r in routes)}

    async def _queue_offline(self, queued: Sequence[OfflineQueueBatch], late: DeferredChats) -> None:
        queued = await self._put(queued, late)
        self._counts.queued += sum(len(each.messages) for each in queued)
        await self._failpoints.hit("worker.pending_put")
        # Again: a device that came in meanwhile may have read the queue before the row was there.
        found = await self._look_up_routes(dict.fromkeys(each.person for each in queued))
        await self._failpoints.hit("worker.looked_up_again")
        late.add((each.chat for each in queued if each.person in found.unknown), found.failure)
        there = await self._signal_resume(queued, found.found, late)
        await self._failpoints.hit("worker.rung")
        away = [each for each in queued if each.person not in there and each.person not in found.unknown]
        self._counts.offline += len(away)
        await gather_limited(self._offline_notifier.notify_offline(*each) for each in away)

    async def _put(
        self, queued: Sequence[OfflineQueueBatch], late: DeferredChats
    ) -> Sequence[OfflineQueueBatch]:
        """Put all at once; if that fails, chat by chat: a throttled user delays their own chats and no others."""
        try:
            await self._pending.put(queued)
        except TidingsError as error:
            if not error.retryable:
                raise
        else:
            return queued
        chats: dict[ChatKey, list[OfflineQueueBatch]] = {}
        for each in queued:
            chats.setdefault(each.chat, []).append(each)
        outcomes = await gather_results(self._pending.put(some) for some in chats.values())
        for chat, outcome in zip(chats, outcomes, strict=True):
            if isinstance(outcome, TidingsError) and outcome.retryable:
                late.failed[chat] = outcome
                late.add([chat], outcome.message)
            elif isinstance(outcome, BaseException):
                raise outcome
        return [each for each in queued if each.chat not in late.failed]

    async def _signal_resume(
        self, queued: Sequence[OfflineQueueBatch], found: RoutesByUser, late: DeferredChats
    ) -> set[UserKey]:
        if not found:
            return set()
        rings: dict[GatewayId, list[ResumeSignal]] = {}
        for (tenant, user), routes in found.items():
            for gateway, devices in group_by_gateway(user, routes).items():
                rings.setdefault(gateway, []).append(ResumeSignal(tenant, user, devices))
        sent = await self._send({gateway: tuple(words) for gateway, words in rings.items()})
        unrung = {(ring.tenant, ring.user) for gateway in sent.unknown for ring in rings[gateway]}
        late.add((each.chat for each in queued if each.person in unrung), sent.failure)
        self._counts.resume_signalled += len(found)
        return await self._still_there(found, sent)


def _on_channel(large: FanoutPlan) -> bytes:
    push = Push(large.chat.tenant, large.chat.chat, tuple(large.on_channel), is_large=True)
    return encode_messages((push,))


def _bounded(words: BusMessages) -> Iterator[BusMessages]:
    """In order, several at once; one that is larger than the bound goes alone."""
    some: list[Push | ResumeSignal] = []
    size = 0
    for word in words:
        adds = _ENTRY_BYTES if isinstance(word, ResumeSignal) else sum(map(_size, word.entries))
        if some and size + adds > MAX_PAYLOAD_BYTES:
            yield tuple(some)
            some, size = [], 0
        some.append(word)
        size += adds
    if some:
        yield tuple(some)


def _size(entry: Entry) -> int:
    return _ENTRY_BYTES + len(entry.content or b"")
