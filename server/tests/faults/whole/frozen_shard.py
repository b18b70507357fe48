"""Freeze one shard of a Redis Cluster: users on other shards must not notice, and no user may lose an entry."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf
from typing import Final

from fixtures.redis_cluster import FleetServer, Server, Servers, ask, form_cluster

from faults.whole.fault import Fault, FaultRun
from faults.whole.installation import WHOLE, FaultInstallation, passed, within
from tidings.platform.redis.keys import KeyBuilder, slot
from tidings_harness.workload.scenario import Scenario

_SHARDS: Final = 6
"""More than the gateways and chats of a small load, so that at least one shard has only keys of users."""
_SHORT_S, _LONG_S = 12.0, 60.0
_SHORT_LEASE: Final = {"GATEWAY_LEASE_S": "8", "GATEWAY_RENEW_EVERY_S": "2"}
"""Shorter than the freeze, as the usual lease of 30 s is shorter than the freeze of the full form."""
_BRIEF_S: Final = 4.0
_SHORT_AUDIT_DELAY: Final = {"RELAY_AUDIT_DELAY_S": "1"}
_REPUBLISHED_WITHIN_S: Final = 20.0
_ROUTED_WITHIN_S: Final = 120.0
_HEALED_WITHIN_S: Final = 180.0
_KEPT_UP_S, _KEPT_UP_TIMES = 10.0, 10.0
"""Users on other shards must catch up within `_KEPT_UP_S` plus `_KEPT_UP_TIMES` times the duration before the freeze.
"""

type Route = tuple[str, str]
"""Gateway and epoch, as text."""
type Routes = Mapping[str, Mapping[str, Route]]
"""Routes by user and device."""


@dataclass(frozen=True, slots=True)
class Shards:
    """A cluster that an installation runs on, and the mapping from keys to shards."""

    servers: Servers
    slots: Sequence[tuple[int, int, int]]
    """First slot, last slot, and port of the shard that has them."""
    keys: KeyBuilder
    tenant: str

    @classmethod
    async def take_over(cls, installation: FaultInstallation, **changes: str) -> "Shards":
        """Form a cluster and move the installation to it. The cluster ends with the installation."""
        processes = installation.processes
        home = processes.directory / f"cluster-{len(processes.started)}"
        servers = await asyncio.to_thread(form_cluster, "valkey-cluster", home, _SHARDS)
        installation.until_end.callback(servers.end)
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in servers.nodes)
        await installation.renew(*WHOLE, REDIS_URL=f"redis://{hosts}", REDIS_IS_CLUSTER="true", **changes)
        answer = await asyncio.to_thread(ask, servers.nodes[0].port, "CLUSTER", "SLOTS")
        assert isinstance(answer, list)
        slots = [(first, last, port) for first, last, (_, port, *_), *_ in answer]
        return cls(servers, slots, KeyBuilder(processes.space.key_prefix), processes.space.tenant)

    def routes(self, users: Iterable[str]) -> Routes:
        """Read routes directly from the shards."""
        found: dict[str, dict[str, Route]] = {}
        for user in users:
            answer = ask(self.of_user(user), "HGETALL", self.keys.key(self.tenant, user, "routes"))
            assert isinstance(answer, list)
            pairs = zip(answer[::2], answer[1::2], strict=True)
            found[user] = {device.decode(): _route(value.decode()) for device, value in pairs}
        return found

    def of_user(self, user: str) -> int:
        return self._port(self.tenant, user, "routes")

    def of_chat(self, chat: str) -> int:
        """Return the shard of a chat's checkpoint and channel."""
        return self._port(self.tenant, chat, "handled")

    def of_gateway(self, gateway: str) -> int:
        """Return the shard of a gateway's channel."""
        return self._port("_system", gateway, "push")

    def _port(self, tenant: str, name: str, kind: str) -> int:
        place = slot(self.keys.key(tenant, name, kind))
        return next(port for first, last, port in self.slots if first <= place <= last)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen shard, and the users and chats that need it."""

    node: Server | FleetServer
    shards: Shards
    routes: Routes
    """As they were before the freeze."""

    def is_needed_by(self, user: str) -> bool:
        """Whether the user's routes are on the shard, or the channel of a gateway that they are connected to."""
        needed = {self.shards.of_gateway(gateway) for gateway, _ in self.routes[user].values()}
        return self.node.port in {self.shards.of_user(user), *needed}

    def is_concerned(self, chat: str, user: str) -> bool:
        return self.is_needed_by(user) or self.node.port == self.shards.of_chat(chat)

    def is_spared(self, chat: str, user: str) -> bool:
        return not self.is_concerned(chat, user)


async def inflict(run: FaultRun) -> None:
    """Freeze a shard for longer than a lease; in the full form another shard in each round."""
    shards = await Shards.take_over(run.installation, **(_SHORT_LEASE if run.is_short else {}))
    for turn in run.rounds():
        await _outlive_leases(run, shards, turn)
        run.load.talk()
    await run.installation.renew(*WHOLE)


async def _outlive_leases(run: FaultRun, shards: Shards, turn: int) -> None:
    load = run.load
    usual_s = await load.caught_up(_ROUTED_WITHIN_S)
    async with _freeze(run, shards, turn) as frozen:
        await passed(_SHORT_S if run.is_short else _LONG_S)
        took_s = await load.caught_up(_KEPT_UP_S + _KEPT_UP_TIMES * usual_s, frozen.is_spared)
        assert took_s < inf, f"users on other shards are late: {load.behind(frozen.is_spared)[:10]}"
        assert load.behind(frozen.is_concerned), "no user is late: the fault had no effect"
        await load.hush()
    spared = [user for user in frozen.routes if not frozen.is_needed_by(user)]
    now = await asyncio.to_thread(shards.routes, spared)
    lost = [user for user in spared if now[user] != frozen.routes[user]]
    assert spared, "every user needs this shard"
    assert not lost, f"{len(lost)} of {len(spared)} users on other shards lost a route: {lost[:10]}"
    assert await load.caught_up(_HEALED_WITHIN_S) < inf, f"still late: {load.behind()[:10]}"


async def freeze_briefly(run: FaultRun, changes: Mapping[str, str]) -> None:
    """Freeze a shard for less than a lease, and stop all sends, so that no later message or resume can help.

    Entries that users on the shard missed are pushed because no checkpoint covers them, or never. The installation
    stays on the cluster, so that no device reconnects before the history is checked.
    """
    load = run.load
    shards = await Shards.take_over(run.installation, **_SHORT_AUDIT_DELAY, **changes)
    async with _freeze(run, shards) as frozen:
        await passed(_BRIEF_S)
        await load.hush()
        await load.caught_up(_REPUBLISHED_WITHIN_S, frozen.is_spared)
    await load.caught_up(_REPUBLISHED_WITHIN_S)


@asynccontextmanager
async def _freeze(run: FaultRun, shards: Shards, turn: int = 0) -> AsyncIterator[Frozen]:
    """Freeze the shard that the fewest gateways and chats are on, and of these the one with the most users."""
    routes = await _wait_for_routes(run, shards)
    gateways = {gateway for theirs in routes.values() for gateway, _ in theirs.values()}
    shared = [*map(shards.of_gateway, gateways), *(shards.of_chat(group.chat) for group in run.load.groups)]
    users = [shards.of_user(user) for user in routes]
    # The channels of all gateways may be on one shard, which every user needs.
    choice = [
        node
        for node in shards.servers.nodes
        if not all(map(Frozen(node, shards, routes).is_needed_by, routes))
    ]
    nodes = sorted(choice, key=lambda node: (shared.count(node.port), -users.count(node.port)))
    node = nodes[turn % len(nodes)]
    run.load.step("SIGSTOP of a shard")
    node.freeze()
    try:
        yield Frozen(node, shards, routes)
    finally:
        run.load.step("SIGCONT of the shard")
        node.thaw()


async def _wait_for_routes(run: FaultRun, shards: Shards) -> Routes:
    """Wait until each device has a route to a gateway of this cluster."""
    devices = {(each.user, each.name) for group in run.load.groups for each in group.everyone()}
    users = {user for user, _ in devices}
    found: Routes = {}

    def have_routes() -> bool:
        nonlocal found
        found = shards.routes(users)
        return all(name in found[user] for user, name in devices)

    await within(_ROUTED_WITHIN_S, have_routes, "every device has a route")
    return found


def _route(value: str) -> Route:
    gateway, epoch, _ = value.split(" ")
    return gateway, epoch


FAULT = Fault(
    name="frozen shard",
    invariant="Users whose keys are on other shards keep their routes and are not late; the others get everything afterwards.",
    fault="SIGSTOP of one of six shards of a Redis Cluster for a minute and more, longer than a lease; 12 s in the short form",
    inflict=inflict,
    scenario=Scenario(groups=4, members=12, devices=1, large_chat_members=104, rate=4),
    full_scenario=Scenario(groups=4, members=60, devices=2, large_chat_members=104, rate=3),
)
