"""Steps 3 and 4 of the worker: push to connected devices; in direct chats, queue messages for users without a route.

Chat rows and heads are already written. A gateway reads them after it has registered a route. So a device that this
look-up misses reads the entries itself; the order of the steps guarantees it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from tidings.bus.model import Push, ResumeSignal, encode_messages, group_by_gateway
from tidings.bus.ports import BusPublisher
from tidings.chats.model import ChatType, chat_type
from tidings.connections.model import GatewayId, LookupResult, Route, RouteLookup
from tidings.delivery import fanout_plan
from tidings.delivery.fanout_plan import FanoutPlan, RoutesByUser, UserKey
from tidings.delivery.mentions import MentionChecks
from tidings.delivery.model import DeliveryStats, OfflineQueueBatch
from tidings.delivery.ports import OfflineCheckPublisher, OfflineQueue
from tidings.kernel.concurrency import gather_limited, gather_results
from tidings.kernel.errors import TidingsError, UnavailableError
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, DeviceKey, TenantId, UserId
from tidings.messages.model import Entry

MAX_PAYLOAD_BYTES = 512 * 1024
"""Approximate limit of one publish, because it delays everything else on the gateway's Redis connection."""
_ENTRY_BYTES = 200

type BusMessages = tuple[Push | ResumeSignal, ...]


@dataclass(slots=True)
class DeferredChats:
    """Chats of which not all users were reached, and the first reason. Their checkpoints must not advance."""

    chats: set[ChatKey] = field(default_factory=set)
    reason: str = ""
    failed: dict[ChatKey, TidingsError] = field(default_factory=dict)
    """The chats among them for which an offline queue could not be written."""
    missed_by: dict[ChatKey, set[UserId]] = field(default_factory=dict)
    """The members who were not reached, for groups among them whose other members were."""

    def add(self, chats: Iterable[ChatKey], reason: str) -> None:
        self.chats.update(chats)
        self.reason = self.reason or reason

    def add_users(self, chat: ChatKey, users: Iterable[UserId], reason: str) -> None:
        """Defer a chat because these users were not reached."""
        self.add([chat], reason)
        # Race: a member of a group has no route now and connects before the next attempt, which pushes the entries to
        # the members in `missed_by` only. The gateway reads the group's head after the registration, and the head is already
        # written. In a direct chat, a queued message may need a signal, so the next attempt pushes to both users.
        if chat_type(chat.chat) is ChatType.GROUP:
            self.missed_by.setdefault(chat, set()).update(users)


class Fanout:
    def __init__(
        self,
        routes: RouteLookup,
        bus: BusPublisher,
        queue: OfflineQueue,
        offline_checks: OfflineCheckPublisher,
        *,
        stats: DeliveryStats,
        failpoints: Failpoints,
        mentions: MentionChecks,
        traces: Mapping[ChatKey, tuple[str, ...]] | None = None,
    ) -> None:
        self._routes = routes
        self._bus = bus
        self._queue = queue
        self._offline_checks = offline_checks
        self._stats = stats
        self._failpoints = failpoints
        self._mentions = mentions
        self._traces: Mapping[ChatKey, tuple[str, ...]] = {} if traces is None else traces

    async def deliver(self, plans: Sequence[FanoutPlan]) -> DeferredChats:
        """Push to all reachable devices, process messages for users without a route, and return the deferred chats.

        A chat is deferred if the shard of one of its users, gateways or its channel does not answer. Reachable devices
        of the chat still receive the push. Nothing is queued for a deferred chat, because its entries are processed
        again. Raises a store's error: some devices may have received the push; retry the whole call.
        """
        deferred = DeferredChats()
        found = await self._look_up_routes(dict.fromkeys(user for plan in plans for user in plan.users))
        for plan in plans:
            if unknown := [user for tenant, user in plan.users if (tenant, user) in found.unknown]:
                deferred.add_users(plan.chat, unknown, found.failure)
            if plan.left_out:
                deferred.add_users(plan.chat, plan.left_out, "members lack earlier entries of the chat")
        await self._failpoints.hit("worker.looked_up")
        # Race: a device registers at a gateway after our look-up, so it gets no push. Its gateway reads the chat rows
        # after the registration, and the worker has written them before the look-up: the device reads the entries.
        connected = await self._push(plans, found.found, deferred)
        await self._failpoints.hit("worker.pushed")
        await self._process_offline(plans, connected, deferred)
        for plan in plans:
            if plan.on_channel and plan.chat not in deferred.chats:
                await self._mentions.request(plan.chat, plan.on_channel)
        return deferred

    async def _process_offline(
        self, plans: Sequence[FanoutPlan], connected: set[UserKey], deferred: DeferredChats
    ) -> None:
        """Queue messages of direct chats for users without a route, and request offline checks of these users."""
        # Race: a device disconnects after our look-up. Its gateway is still subscribed, so its user counts as connected
        # and nothing is queued. The gateway finds no such device, removes the route and requests an offline check.
        # The device reads the entries when it resumes, because its chat row is ahead.
        offline = [
            OfflineQueueBatch(plan.chat, user, messages)
            for plan in plans
            if plan.chat not in deferred.chats
            for user, messages in plan.offline_messages.items()
            if (plan.chat.tenant, user) not in connected
        ]
        # Only direct chats have an offline queue. A member of a group reads the entries when a device resumes, because
        # the group's head is ahead.
        queued = [batch for batch in offline if chat_type(batch.chat.chat) is ChatType.DIRECT]
        offline = [batch for batch in offline if chat_type(batch.chat.chat) is not ChatType.DIRECT]
        if queued:
            offline += await self._queue_offline(queued, deferred)
        self._stats.offline += len(offline)
        missed: dict[tuple[ChatKey, int, int], list[UserId]] = {}
        for chat, user, messages in offline:
            missed.setdefault((chat, messages[0].sequence, messages[-1].sequence), []).append(user)
        for (chat, first, last), users in missed.items():
            self._offline_checks.check(chat, users, first, last)

    async def _look_up_routes(self, users: Iterable[UserKey]) -> LookupResult[UserKey, Sequence[Route]]:
        tenants: dict[TenantId, list[UserId]] = {}
        for tenant, user in users:
            tenants.setdefault(tenant, []).append(user)
        results = await gather_limited(
            self._routes.look_up(tenant, wanted) for tenant, wanted in tenants.items()
        )
        by_tenant = list(zip(tenants, results, strict=True))
        return LookupResult(
            {(tenant, user): routes for tenant, r in by_tenant for user, routes in r.found.items()},
            frozenset((tenant, user) for tenant, r in by_tenant for user in r.unknown),
            next((r.failure for r in results if r.failure), ""),
        )

    async def _push(
        self, plans: Sequence[FanoutPlan], routes: RoutesByUser, deferred: DeferredChats
    ) -> set[UserKey]:
        """Push by routes and on channels. Return the users with a route to a gateway that is subscribed."""
        pushes = fanout_plan.build_pushes(plans, routes)
        if self._traces:
            pushes = {gateway: [self._traced(push) for push in each] for gateway, each in pushes.items()}
        sent = await self._send({gateway: tuple(messages) for gateway, messages in pushes.items()})
        for push in (push for gateway in sent.unknown for push in pushes[gateway]):
            users = (target.user for part in push.parts for target in part.devices)
            deferred.add_users(push.key, users, sent.failure)
        # Race: a gateway receives pushes by routes and on channels over different subscriptions, in any order. An entry
        # that arrives too early is a gap, and the gateway reads the entries before it from the log.
        channels = [plan for plan in plans if plan.unpublished]
        outcomes = await gather_results(
            self._bus.publish_to_chat(plan.chat, self._channel_payload(plan)) for plan in channels
        )
        for plan, outcome in zip(channels, outcomes, strict=True):
            if isinstance(outcome, UnavailableError):
                deferred.add([plan.chat], str(outcome))
                deferred.missed_by.pop(plan.chat, None)
            elif isinstance(outcome, BaseException):
                raise outcome
        self._stats.pushed += sum(map(len, pushes.values())) + len(channels)
        return await self._remove_stale(routes, sent)

    def _channel_payload(self, plan: FanoutPlan) -> bytes:
        push = Push(plan.chat.tenant, plan.chat.chat, tuple(plan.unpublished), is_large=True)
        return encode_messages((self._traced(push) if self._traces else push,))

    def _traced(self, push: Push) -> Push:
        """Add the traces of the chat's entries, which the gateway continues."""
        traces = self._traces.get(push.key)
        return structs.replace(push, traces=traces) if traces else push

    async def _send(self, messages: Mapping[GatewayId, BusMessages]) -> LookupResult[GatewayId, bool]:
        """Publish to gateways. Found: whether the gateway is subscribed. Unknown: its shard does not answer."""

        async def send(gateway: GatewayId, wanted: BusMessages) -> bool:
            # In order, one after the other: the pushes of a chat must not overtake each other.
            return all(
                [
                    await self._bus.publish_to_gateway(gateway, encode_messages(part))
                    for part in _split_payloads(wanted)
                ]
            )

        outcomes = await gather_results(send(gateway, wanted) for gateway, wanted in messages.items())
        found: dict[GatewayId, bool] = {}
        failed: dict[GatewayId, str] = {}
        for gateway, outcome in zip(messages, outcomes, strict=True):
            if isinstance(outcome, UnavailableError):
                failed[gateway] = str(outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                found[gateway] = outcome
        return LookupResult(found, frozenset(failed), next(iter(failed.values()), ""))

    async def _remove_stale(self, routes: RoutesByUser, sent: LookupResult[GatewayId, bool]) -> set[UserKey]:
        """Delete routes to gateways without a subscription. Return the users that still have a route.

        A user at a gateway that did not answer counts as connected.
        """
        # Race: a gateway dies, and its device registers a route at another gateway after our look-up. Each delete
        # compares gateway and epoch, so the worker removes the old route only.
        gone = {gateway for gateway, is_subscribed in sent.found.items() if not is_subscribed}
        stale = [
            (DeviceKey(*user, route.device), route)
            for user, found in routes.items()
            for route in found
            if route.gateway in gone
        ]
        self._stats.stale_route += len(stale)
        removed = await gather_results(
            self._routes.remove(device, route.gateway, route.epoch) for device, route in stale
        )
        for outcome in removed:
            # A route that cannot be deleted now is found stale again, or its lease expires.
            if isinstance(outcome, BaseException) and not isinstance(outcome, UnavailableError):
                raise outcome
        return {user for user, found in routes.items() if any(r.gateway not in gone for r in found)}

    async def _queue_offline(
        self, queued: Sequence[OfflineQueueBatch], deferred: DeferredChats
    ) -> list[OfflineQueueBatch]:
        """Queue the messages and signal devices that connected meanwhile. Return the batches of offline users."""
        queued = await self._put(queued, deferred)
        self._stats.queued += sum(len(batch.messages) for batch in queued)
        await self._failpoints.hit("worker.pending_put")
        # Race: a device registers after our route look-up but before we write the offline-queue item, and its gateway
        # drains the queue in between. Look up again and signal the new gateway to resume; otherwise the message would
        # wait until the next reconnect.
        found = await self._look_up_routes(dict.fromkeys(batch.user_key for batch in queued))
        await self._failpoints.hit("worker.looked_up_again")
        deferred.add((batch.chat for batch in queued if batch.user_key in found.unknown), found.failure)
        connected = await self._signal_resume(queued, found.found, deferred)
        await self._failpoints.hit("worker.rung")
        # Race: a device connects after the second look-up. The check finds its route and waits for its ack.
        return [
            batch
            for batch in queued
            if batch.user_key not in connected and batch.user_key not in found.unknown
        ]

    async def _put(
        self, queued: Sequence[OfflineQueueBatch], deferred: DeferredChats
    ) -> Sequence[OfflineQueueBatch]:
        """Put all at once; if that fails, chat by chat, so that a throttled user delays only their own chats."""
        try:
            await self._queue.put(queued)
        except TidingsError as error:
            if not error.retryable:
                raise
        else:
            return queued
        chats: dict[ChatKey, list[OfflineQueueBatch]] = {}
        for batch in queued:
            chats.setdefault(batch.chat, []).append(batch)
        outcomes = await gather_results(self._queue.put(batches) for batches in chats.values())
        for chat, outcome in zip(chats, outcomes, strict=True):
            if isinstance(outcome, TidingsError) and outcome.retryable:
                deferred.failed[chat] = outcome
                deferred.add([chat], outcome.message)
            elif isinstance(outcome, BaseException):
                raise outcome
        return [batch for batch in queued if batch.chat not in deferred.failed]

    async def _signal_resume(
        self, queued: Sequence[OfflineQueueBatch], routes: RoutesByUser, deferred: DeferredChats
    ) -> set[UserKey]:
        """Make the gateways of these routes resume the devices. Return the users that are connected."""
        if not routes:
            return set()
        signals: dict[GatewayId, list[ResumeSignal]] = {}
        for (tenant, user), found in routes.items():
            for gateway, devices in group_by_gateway(user, found).items():
                signals.setdefault(gateway, []).append(ResumeSignal(tenant, user, devices))
        # Race: the device disconnects between the second look-up and this signal. Its gateway ignores the signal, and
        # the device reads the queue at its next connection.
        sent = await self._send({gateway: tuple(messages) for gateway, messages in signals.items()})
        unsignalled = {(s.tenant, s.user) for gateway in sent.unknown for s in signals[gateway]}
        deferred.add((batch.chat for batch in queued if batch.user_key in unsignalled), sent.failure)
        self._stats.resume_signalled += len(routes)
        return await self._remove_stale(routes, sent)


def _split_payloads(messages: BusMessages) -> Iterator[BusMessages]:
    """Split messages into payloads of limited size, in order. A larger message is sent alone."""
    part: list[Push | ResumeSignal] = []
    size = 0
    for message in messages:
        added = _ENTRY_BYTES if isinstance(message, ResumeSignal) else sum(map(_size, message.entries))
        if part and size + added > MAX_PAYLOAD_BYTES:
            yield tuple(part)
            part, size = [], 0
        part.append(message)
        size += added
    if part:
        yield tuple(part)


def _size(entry: Entry) -> int:
    return _ENTRY_BYTES + len(entry.content or b"")
