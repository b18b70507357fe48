"""One shard of a Redis Cluster is silent for longer than a lease. Devices on the other shards are not affected."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from fixtures.engines import Namespace
from fixtures.gateway_env import WITHIN_S, GatewayEnv, InProcessGateway, ScreenDevice, gateway_env_on
from fixtures.loops import until
from fixtures.redis_cluster import Servers
from fixtures.tables import REGION, Tables
from fixtures.use_cases import UseCaseEnv

from tidings.kernel.ids import ChatKey, UserId
from tidings.platform.dynamo.open_client import open_client


async def test_a_frozen_shard_delays_only_users_whose_keys_are_on_it(
    cluster: Servers,
    tables_local: Tables,
    space: Namespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The shard is frozen for longer than a lease. The gateway's channel and the checkpoints are on other shards."""
    monkeypatch.setattr("fixtures.gateway_env.LEASE_S", 3.0)
    quick = {"timeout_s": 0.4, "connect_s": 0.4, "detect_s": 0.8, "confirm_s": 0.5}
    options = replace(cluster.options, key_prefix=space.key_prefix, **quick)  # type: ignore[arg-type]
    async with open_client(tables_local.url, REGION, tables_local.prefix) as client:
        use_cases = UseCaseEnv(client, space.tenant, tmp_path / "tidings.key")
        async with gateway_env_on(use_cases, options) as gateways:
            here = await gateways.gateway()
            keys = gateways.routes._redis.keys
            home = cluster.owner(keys.key("_system", here.id, "push"))
            frozen = cluster.other(home)

            def is_on_frozen(*parts: str) -> bool:
                return cluster.owner(keys.key(use_cases.tenant, *parts)) is frozen

            names = [UserId(f"user-{n}") for n in range(40)]
            theirs = [name for name in names if is_on_frozen(name, "routes")]
            others = [name for name in names if name not in theirs]
            near = await heard_chat(gateways, others[0], others[1:], is_on_frozen)
            far = await heard_chat(gateways, theirs[0], others[1:], is_on_frozen)
            screens = {name: await here.live(name) for name in (near.other, far.other, others[0], theirs[0])}
            epochs = {name: here.device(name).epoch for name in screens}
            frozen.freeze()
            last = await held_up(gateways, here, near, screens[near.other])
            late = await gateways.say(far.chat, far.other, "to one on the frozen shard")
            assert late not in screens[theirs[0]].sequences(far.chat)
            await until(lambda: late in screens[far.other].sequences(far.chat), WITHIN_S)
            frozen.thaw()
            async with asyncio.timeout(WITHIN_S):
                while late not in screens[theirs[0]].sequences(far.chat):
                    await here.node.leases.renew_all()
                    await asyncio.sleep(0.05)
            healthy = (near.other, far.other, others[0])
            assert {name: here.device(name).epoch for name in healthy} == {n: epochs[n] for n in healthy}
            assert gateways.offline_users == [], "nobody was taken to be away"
            assert screens[near.other].sequences(near.chat)[-1] == last


class _Pair(NamedTuple):
    chat: ChatKey
    other: UserId


async def heard_chat(
    gateways: GatewayEnv, one: UserId, others: Sequence[UserId], is_on_frozen: Callable[[str, str], bool]
) -> _Pair:
    """Create a direct chat whose checkpoint is on a shard that answers."""
    for other in others:
        chat = await gateways.use_cases.manage.direct(gateways.use_cases.tenant, one, other)
        if not is_on_frozen(chat.chat, "handled"):
            await gateways.deliver()
            return _Pair(chat, other)
    raise AssertionError("no chat is on another shard")


async def held_up(gateways: GatewayEnv, here: InProcessGateway, near: _Pair, screen: ScreenDevice) -> int:
    """Renew and send for two lease times. Every message arrives, and the route always exists."""
    began = asyncio.get_running_loop().time()
    last = 0
    while asyncio.get_running_loop().time() - began < 6:
        await here.node.leases.renew_all()
        last = await gateways.say(near.chat, near.other, "on healthy shards")
        await until(lambda n=last: n in screen.sequences(near.chat), WITHIN_S)  # type: ignore[misc]
        assert (await gateways.routes.look_up(gateways.use_cases.tenant, [near.other])).found
    return last
