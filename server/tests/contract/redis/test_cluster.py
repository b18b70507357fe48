"""A cluster that changes under traffic: slots that move, keys half-way, a node that dies, a fail-over."""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fixtures.event_recorder import Recorder
from fixtures.loops import until
from fixtures.redis_cluster import (
    FleetServer,
    Server,
    Servers,
    ask,
    end_slot_move,
    form_cluster,
    move_keys,
    move_slot,
    node_id,
    start_slot_move,
    wait_for,
)
from hypothesis import given
from hypothesis import strategies as st

from tidings.engines.node_plan import PortAllocator
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.command_router import Script
from tidings.platform.redis.errors import ClusterDownError, NotSentError
from tidings.platform.redis.keys import Key, slot

Client = Callable[..., Any]
MGET = Script("mget", "return redis.call('MGET', unpack(KEYS))", 2, is_read=True)
CLUSTERS = ["valkey-cluster", "redis-cluster"]
_ELECTIONS = 4
_ELECTION_S = 6.0
on_clusters = pytest.mark.parametrize("servers", CLUSTERS, indirect=True)


def own(redis: RedisClient, kind: str = "n") -> Key:
    return redis.keys.key("acme", "ann", kind)


@on_clusters
def test_slots_are_counted_as_the_server_counts_them(servers: Servers) -> None:
    @given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("{}#:"), max_size=30))
    def same(text: str) -> None:
        assert slot(text) == ask(servers.nodes[0].port, "CLUSTER", "KEYSLOT", text)

    same()


@on_clusters
async def test_one_seed_is_enough_and_a_dead_one_does_no_harm(servers: Servers, client: Client) -> None:
    dead = servers.options.seeds[0]._replace(port=1)
    async with client(servers.options, seeds=(dead, servers.options.seeds[2])) as redis:
        keys = [redis.keys.key("acme", str(n), "x") for n in range(50)]
        assert await asyncio.gather(*(redis.write("SET", key, 1) for key in keys)) == [b"OK"] * 50
        assert {link.address.port for link in redis._nodes.links()} == {node.port for node in servers.nodes}


@on_clusters
async def test_a_slot_moves_under_traffic_and_nothing_is_lost_or_done_twice(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options) as redis:
        key, done, is_over = own(redis), 0, False

        async def bump() -> None:
            nonlocal done
            while not is_over:
                await redis.write("INCR", key)
                done += 1

        bumping = asyncio.gather(*(bump() for _ in range(20)))
        for _ in range(3):
            so_far = done
            await until(lambda: done > so_far + 100)  # noqa: B023 - awaited in this round
            source = own_servers.owner(key)
            target = own_servers.other(source)
            await asyncio.to_thread(move_slot, slot(key), source.port, target.port, own_servers)
        is_over = True
        await bumping
        assert await redis.read("GET", key) == b"%d" % done


@on_clusters
async def test_a_key_that_is_being_migrated_is_requested_at_its_target(
    own_servers: Servers, client: Client
) -> None:
    async with client(own_servers.options) as redis:
        keys = [own(redis, kind) for kind in ("a", "b")]
        place = slot(keys[0])
        source = own_servers.owner(keys[0])
        target = own_servers.other(source)
        await redis.write("SET", keys[0], "moved")
        start_slot_move(place, source.port, target.port)
        move_keys(place, source.port, target.port)
        assert await redis.read("GET", keys[0]) == b"moved"  # ASK, and the map stays as it is
        assert redis._nodes.owner(place) == ("127.0.0.1", source.port)
        assert await redis.write("SET", keys[1], "born there") == b"OK"
        end_slot_move(place, source.port, target.port, own_servers)
        assert await redis.run(MGET, keys) == [b"moved", b"born there"]
        assert redis._nodes.owner(place) == ("127.0.0.1", target.port)


@on_clusters
async def test_keys_on_both_sides_are_waited_for(own_servers: Servers, client: Client) -> None:
    """TRYAGAIN: neither node can answer alone, until the move has finished."""
    async with client(own_servers.options) as redis:
        keys = [own(redis, kind) for kind in ("a", "b")]
        place = slot(keys[0])
        source = own_servers.owner(keys[0])
        target = own_servers.other(source)
        for key in keys:
            await redis.write("SET", key, key)
        start_slot_move(place, source.port, target.port)
        ask(source.port, "MIGRATE", "127.0.0.1", target.port, keys[0], 0, 2000)
        before = calls_of(source.port, "evalsha_ro")
        call = asyncio.create_task(redis.run(MGET, keys))
        await until(lambda: calls_of(source.port, "evalsha_ro") != before)
        move_keys(place, source.port, target.port)
        end_slot_move(place, source.port, target.port, own_servers)
        assert await call == [key.encode() for key in keys]


def calls_of(port: int, command: str) -> bytes | None:
    """The server's own line of statistics for a command."""
    stats = ask(port, "INFO", "commandstats")
    assert isinstance(stats, bytes)
    return next((line for line in stats.split() if line.startswith(b"cmdstat_%s:" % command.encode())), None)


@on_clusters
async def test_many_redirections_cause_few_slot_map_requests(own_servers: Servers, client: Client) -> None:
    async with client(own_servers.options) as redis:
        key = own(redis)
        await redis.write("SET", key, 0)
        source = own_servers.owner(key)
        target = own_servers.other(source)
        move_slot(slot(key), source.port, target.port, own_servers)
        for node in own_servers.nodes:
            ask(node.port, "CONFIG", "RESETSTAT")
        await asyncio.gather(*(redis.write("INCR", key) for _ in range(500)))
        await until(lambda: asked_for_maps(own_servers) >= 1)
        assert asked_for_maps(own_servers) <= 3
        assert await redis.read("GET", key) == b"500"


def asked_for_maps(servers: Servers) -> int:
    lines = [calls_of(node.port, "cluster|slots") for node in servers.nodes]
    return sum(int(line.partition(b"calls=")[2].partition(b",")[0]) for line in lines if line)


@on_clusters
async def test_a_dead_node_fails_its_slots_until_it_returns(own_servers: Servers, client: Client) -> None:
    async with client(own_servers.options, longest_pause_s=0.2) as redis:
        key = own(redis)
        await redis.write("SET", key, 1)
        own_servers.owner(key).kill()
        await until(lambda: "refused" in redis.health().text)
        with pytest.raises((NotSentError, ClusterDownError)):
            await redis.write("SET", key, 2)
        await asyncio.to_thread(own_servers.mend)
        await until(lambda: redis.health().is_well)
        assert await redis.write("SET", key, 3) == b"OK"


@pytest.mark.parametrize("kind", CLUSTERS)
async def test_after_a_failover_the_subscription_is_at_the_new_primary(
    kind: str, client: Client, tmp_path: Path
) -> None:
    """A replica would still pass messages on, but publishers count listeners at the primary alone.

    A client that only subscribes gets no redirection: it reads the map regularly, here every second.
    """
    servers = form_cluster(kind, tmp_path)
    try:
        async with client(servers.options, longest_pause_s=0.2, refresh_s=1.0) as redis:
            name, recorder = own(redis, "push"), Recorder()
            replica = add_replica(servers, servers.owner(name), tmp_path / "replica")
            await redis.subscribe(name, recorder)
            await asyncio.to_thread(fail_over_to, replica)
            await until(lambda: redis._nodes.owner(slot(name)) == ("127.0.0.1", replica.port))
            await until(lambda: recorder.standings[-1] is recorder.events[-1] and len(recorder.losses) > 0)
            assert await redis.publish(name, b"x") == 1
            await until(lambda: recorder.payloads == [b"x"])
            assert re.fullmatch("S(LS)+m", recorder.shape)
    finally:
        servers.end()


def add_replica(servers: Servers, primary: Server | FleetServer, home: Path) -> Server:
    assert isinstance(primary, Server)
    ports = PortAllocator()
    replica = Server(primary.binary, home, ports.take(0, "redis"), ports.take(0, "redis"))
    replica.start()
    servers.nodes.append(replica)
    ask(replica.port, "CLUSTER", "MEET", "127.0.0.1", primary.port, primary.bus_port)
    known = node_id(primary.port)
    wait_for(lambda: known in nodes_known_to(replica.port), "a replica that knows its primary")
    ask(replica.port, "CLUSTER", "REPLICATE", known)
    wait_for(lambda: b"master_link_status:up" in replication_of(replica.port), "a replica in step")
    wait_for(lambda: is_known_to_all(servers, known), "a cluster that knows its replica")
    return replica


def is_known_to_all(servers: Servers, primary: bytes) -> bool:
    """Return whether every node knows the replica. A node that does not know it does not vote for it."""
    return all(ask(node.port, "CLUSTER", "REPLICAS", primary) for node in servers.nodes)


def fail_over_to(replica: Server) -> None:
    """Asked for again when it came to nothing: a server gives an election up after 5 s and forgets it."""
    for _ in range(_ELECTIONS):
        ask(replica.port, "CLUSTER", "FAILOVER")
        given_up_at = time.monotonic() + _ELECTION_S
        while time.monotonic() < given_up_at:
            if is_primary(replica.port):
                return
            time.sleep(0.02)
    pytest.fail(f"the replica was not elected in {_ELECTIONS} elections")


def is_primary(port: int) -> bool:
    return b"role:master" in replication_of(port)


def nodes_known_to(port: int) -> bytes:
    answer = ask(port, "CLUSTER", "NODES")
    assert isinstance(answer, bytes)
    return answer


def replication_of(port: int) -> bytes:
    answer = ask(port, "INFO", "replication")
    assert isinstance(answer, bytes)
    return answer
