"""Redis in memory: routes with leases by its own clock, delivery checkpoints, and channels that can lose messages."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulation.loop import BEGAN_MS, Process, Scheduler
from simulation.network import Network, NoAnswerError, RefusedForNowError

from tidings.bus.ports import BusEvent, BusHandler, Subscribed, SubscriptionLost
from tidings.connections.model import (
    GatewayId,
    HeldRoute,
    LookupResult,
    RegistrationResult,
    RenewalResult,
    Route,
)
from tidings.kernel.errors import UnavailableError
from tidings.kernel.ids import ChatKey, DeviceId, DeviceKey, TenantId, UserId

_RECONNECTS_S = 0.5


@dataclass(slots=True)
class _Leased:
    gateway: GatewayId
    epoch: int
    ends_ms: float


@dataclass
class Redis:
    """The server. Each method is atomic, as a script is."""

    scheduler: Scheduler
    routes: dict[tuple[TenantId, UserId], dict[DeviceId, _Leased]] = field(default_factory=dict)
    marks: dict[ChatKey, int] = field(default_factory=dict)
    channels: dict[str, list["Subscription"]] = field(default_factory=dict)
    is_unavailable: bool = False
    cut_off: set[Process] = field(default_factory=set)
    """Processes that cannot reach it."""
    loses_at_publish: bool = False
    ended: set[tuple[DeviceKey, int]] = field(default_factory=set)
    """Routes that their owners removed or that were deleted with all data."""

    @property
    def now_us(self) -> int:
        return BEGAN_MS * 1000 + round(self.scheduler.now * 1_000_000)

    def wipe(self) -> None:
        """Delete all data as FLUSHALL does. Subscriptions stay."""
        for person, mine in self.routes.items():
            self.ended.update((DeviceKey(*person, name), leased.epoch) for name, leased in mine.items())
        self.routes.clear()
        self.marks.clear()

    def repair(self) -> None:
        self.is_unavailable = self.loses_at_publish = False
        self.cut_off.clear()

    def lose_subscriptions(self) -> None:
        """Lose every subscription. Clients subscribe again automatically."""
        for subscriptions in list(self.channels.values()):
            for each in list(subscriptions):
                each.lose()

    def lose_at_next_publish(self) -> None:
        """Lose every subscription with the next message in flight, after publish has counted the subscribers."""
        self.loses_at_publish = True

    def register(
        self, device: DeviceKey, gateway: GatewayId, lease_s: float, had: int
    ) -> RegistrationResult | None:
        mine = self.routes.setdefault(device[:2], {})
        now_ms = self.now_us // 1000
        for other in [name for name, leased in mine.items() if leased.ends_ms <= now_ms]:
            if other != device.device:
                self.ended.add((DeviceKey(*device[:2], other), mine.pop(other).epoch))
        before, epoch = mine.get(device.device), self.now_us
        if before is not None:
            if had and (before.gateway, before.epoch) != (gateway, had):
                return None
            epoch = max(epoch, before.epoch + 1)
            self.ended.add((device, before.epoch))
        mine[device.device] = _Leased(gateway, epoch, now_ms + lease_s * 1000)
        old = None if before is None else Route(device.device, before.gateway, before.epoch)
        return RegistrationResult(epoch, old)

    def renew(self, gateway: GatewayId, held: Sequence[HeldRoute], lease_s: float) -> RenewalResult:
        gone, elsewhere = [], []
        now_ms = self.now_us // 1000
        for device, epoch in held:
            leased = self.routes.get(device[:2], {}).get(device.device)
            if leased is None:
                gone.append(device)
                if (device, epoch) not in self.ended:
                    self.scheduler.faults.append(
                        f"the route of {device.device} was deleted by a process that does not own it"
                    )
            elif (leased.gateway, leased.epoch) != (gateway, epoch):
                elsewhere.append(device)
            elif leased.ends_ms <= now_ms:
                gone.append(device)
            else:
                leased.ends_ms = now_ms + lease_s * 1000
        return RenewalResult(gone, elsewhere)

    def remove(self, device: DeviceKey, gateway: GatewayId, epoch: int) -> bool:
        mine = self.routes.get(device[:2], {})
        leased = mine.get(device.device)
        if leased is None or (leased.gateway, leased.epoch) != (gateway, epoch):
            return False
        del mine[device.device]
        self.ended.add((device, epoch))
        return True

    def look_up(self, tenant: TenantId, users: Sequence[UserId]) -> Mapping[UserId, Sequence[Route]]:
        """Return live routes, sorted by user: callers pass sets, whose order does not depend on the seed."""
        now_ms = self.now_us // 1000
        found = {
            user: [
                Route(device, leased.gateway, leased.epoch)
                for device, leased in self.routes.get((tenant, user), {}).items()
                if leased.ends_ms > now_ms
            ]
            for user in sorted(users)
        }
        return {user: routes for user, routes in found.items() if routes}

    def mark(self, chat: ChatKey, first: int, last: int) -> int:
        mark = self.marks.get(chat)
        if mark is not None:
            if mark < first - 1:
                return mark
            last = max(mark, last)
        self.marks[chat] = last
        return last

    def publish(self, channel: str, payload: bytes) -> int:
        listening = self.channels.get(channel, [])
        count = len(listening)
        for each in listening:
            each.say(payload)
        if self.loses_at_publish and count and " " not in channel:
            self.loses_at_publish = False
            self.lose_subscriptions()
        return count


class Subscription:
    """A process's subscription to a channel. Messages arrive in order; a loss discards those in flight."""

    def __init__(
        self, redis: Redis, network: Network, channel: str, process: Process, hear: BusHandler
    ) -> None:
        self._redis, self._network = redis, network
        self._channel, self._process, self._hear = channel, process, hear
        self._line = 0
        self._last_at = 0.0
        self._is_open = True
        self._was_lost = False

    def subscribe(self) -> None:
        if not self._is_open or not self._process.is_alive:
            return
        if self._redis.is_unavailable:
            self._later(_RECONNECTS_S, self.subscribe)
            return
        listening = self._redis.channels.setdefault(self._channel, [])
        if self not in listening:
            listening.append(self)
        self._tell(Subscribed(was_lost=self._was_lost))
        self._was_lost = False

    def lose(self) -> None:
        self._leave()
        self._line += 1
        self._was_lost = True
        self._tell(SubscriptionLost("cut"))
        self._later(_RECONNECTS_S + self._network.delay_s(), self.subscribe)

    def close(self) -> None:
        self._is_open = False
        self._leave()

    def say(self, payload: bytes) -> None:
        if not self._process.is_alive:
            # The server notices the dead subscriber only after this message.
            self._leave_later()
            return
        self._tell(payload)

    def _tell(self, event: BusEvent) -> None:
        at = max(self._last_at, self._redis.scheduler.now + self._network.delay_s())
        self._last_at = at
        self._process.call_at(at, self._arrive, self._line, event)

    def _arrive(self, line: int, event: BusEvent) -> None:
        if self._is_open and (line == self._line or isinstance(event, SubscriptionLost | Subscribed)):
            self._hear(event)

    def _leave(self) -> None:
        listening = self._redis.channels.get(self._channel, [])
        if self in listening:
            listening.remove(self)

    def _leave_later(self) -> None:
        self._later(_RECONNECTS_S, self._leave)

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        self._redis.scheduler.outside.call_later(seconds, do)


class SimRedis:
    """The connection of one process: routes, checkpoints, publishing and subscriptions, as the ports define them."""

    def __init__(self, redis: Redis, network: Network, process: Process, lease_s: float = 60.0) -> None:
        self._redis, self._network, self._process = redis, network, process
        self._lease_s = lease_s

    async def _ask[T](self, what: str, do: Callable[[], T]) -> T:
        def reached() -> T:
            if self._redis.is_unavailable or self._process in self._redis.cut_off:
                raise RefusedForNowError(what)
            return do()

        try:
            return await self._network.ask(f"redis.{what}", reached, 1.0)
        except (NoAnswerError, RefusedForNowError) as error:
            raise UnavailableError(what) from error

    async def _answers[K, V](
        self, what: str, keys: Sequence[K], do: Callable[[Sequence[K]], Mapping[K, V]]
    ) -> LookupResult[K, V]:
        """Request each key separately: each is answered, lost or rejected alone, as with the shards of a cluster."""

        async def one(key: K) -> Mapping[K, V]:
            return await self._ask(what, lambda: do([key]))

        outcomes = await asyncio.gather(*map(one, keys), return_exceptions=True)
        found: dict[K, V] = {}
        unknown: set[K] = set()
        for key, outcome in zip(keys, outcomes, strict=True):
            if isinstance(outcome, UnavailableError):
                unknown.add(key)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                found |= outcome
        return LookupResult(found, frozenset(unknown), what if unknown else "")

    async def register(self, device: DeviceKey, gateway: GatewayId) -> RegistrationResult:
        done = await self._ask("register", lambda: self._redis.register(device, gateway, self._lease_s, 0))
        assert done is not None
        return done

    async def reregister(self, device: DeviceKey, gateway: GatewayId, had: int) -> RegistrationResult | None:
        done = await self._ask(
            "register_again", lambda: self._redis.register(device, gateway, self._lease_s, had)
        )
        return None if done is None else RegistrationResult(done.epoch, None)

    async def renew(self, gateway: GatewayId, held: Sequence[HeldRoute]) -> RenewalResult:
        """Renew all leases in one request, so with one outcome for all of them."""
        try:
            return await self._ask("renew", lambda: self._redis.renew(gateway, held, self._lease_s))
        except UnavailableError:
            return RenewalResult([], [], [each.device for each in held])

    async def keep_alive(self, gateway: GatewayId) -> None:
        """Do nothing: offline events are not simulated."""

    async def sign_off(self, gateway: GatewayId) -> None:
        """Do nothing, as above."""

    async def remove(
        self, device: DeviceKey, gateway: GatewayId, epoch: int, *, is_closed: bool = False
    ) -> bool:
        del is_closed
        return await self._ask("remove", lambda: self._redis.remove(device, gateway, epoch))

    async def look_up(
        self, tenant: TenantId, users: Sequence[UserId]
    ) -> LookupResult[UserId, Sequence[Route]]:
        return await self._answers("look_up", users, lambda some: self._redis.look_up(tenant, some))

    async def publish_to_gateway(self, gateway: GatewayId, payload: bytes) -> bool:
        return await self._ask("push", lambda: self._redis.publish(gateway, payload)) > 0

    async def publish_to_chat(self, chat: ChatKey, payload: bytes) -> int:
        return await self._ask("push_large", lambda: self._redis.publish(chat.chat, payload))

    async def publish_ephemeral(self, chat: ChatKey, payload: bytes) -> int:
        return await self._ask("signs", lambda: self._redis.publish(f"signs {chat.chat}", payload))

    async def publish_presence(self, tenant: TenantId, user: UserId, payload: bytes) -> int:
        return await self._ask("hint", lambda: self._redis.publish(f"presence {tenant} {user}", payload))

    async def publish_broadcasts(self, tenant: TenantId, inbox: str, payload: bytes) -> int:
        return await self._ask(
            "broadcasts", lambda: self._redis.publish(f"broadcasts {tenant} {inbox}", payload)
        )

    def subscribe_gateway(self, gateway: GatewayId, handler: BusHandler) -> Subscription:
        return self._soon(gateway, handler)

    def subscribe_ephemeral(self, chat: ChatKey, handler: BusHandler) -> Subscription:
        return self._soon(f"signs {chat.chat}", handler)

    def subscribe_presence(self, tenant: TenantId, user: UserId, handler: BusHandler) -> Subscription:
        return self._soon(f"presence {tenant} {user}", handler)

    def subscribe_broadcasts(self, tenant: TenantId, inbox: str, handler: BusHandler) -> Subscription:
        return self._soon(f"broadcasts {tenant} {inbox}", handler)

    def _soon(self, channel: str, hear: BusHandler) -> Subscription:
        made = Subscription(self._redis, self._network, channel, self._process, hear)
        self._redis.scheduler.outside.call_later(self._network.delay_s(), made.subscribe)
        return made

    async def subscribe_chat(self, chat: ChatKey, handler: BusHandler) -> Subscription:
        """Subscribe, or give up without an answer, as the real client does: nothing is received later."""
        made = Subscription(self._redis, self._network, chat.chat, self._process, handler)
        try:
            await self._ask("subscribe", made.subscribe)
        except BaseException:
            made.close()
            raise
        return made
