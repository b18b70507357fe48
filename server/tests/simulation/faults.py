"""Faults other than network conditions: processes die or stop, Redis and Kafka lose data, subscriptions are lost.

Each function draws all random values first and returns the step to run at its time.
"""

from collections.abc import Callable
from random import Random

from simulation.world import SimulatedWorld

type Step = Callable[[], None]
type Fault = Callable[[SimulatedWorld, Random], Step]


def kill_gateway(world: SimulatedWorld, chance: Random) -> Step:
    place, back_s = chance.randrange(len(world.gateways)), chance.random() * 6

    def step() -> None:
        if world.gateways[place] is not None:
            world.kill_gateway(place)
            world.scheduler.outside.call_later(back_s, world.start_gateway, place)

    return step


def kill_worker(world: SimulatedWorld, chance: Random) -> Step:
    place, back_s = chance.randrange(len(world.workers)), chance.random() * 6

    def step() -> None:
        if world.workers[place] is not None:
            world.kill(world.workers, place)
            world.scheduler.outside.call_later(back_s, world.start_worker, place)

    return step


def kill_relay(world: SimulatedWorld, chance: Random) -> Step:
    back_s = chance.random() * 6

    def step() -> None:
        if world.relays[0] is not None:
            world.kill(world.relays, 0)
            world.scheduler.outside.call_later(back_s, world.start_relay, 0)

    return step


def stop_something(world: SimulatedWorld, chance: Random) -> Step:
    """Stop a process as SIGSTOP does, sometimes for longer than a session or a lease."""
    draw, stopped_s = chance.random(), chance.choice((1.0, 8.0, 70.0)) * chance.random()

    def step() -> None:
        gateways = [gateway.process for gateway in world.gateways if gateway is not None]
        running = [*gateways, *(p for p in (*world.workers, *world.relays) if p is not None)]
        if running:
            chosen = running[int(draw * len(running))]
            world.scheduler.tell(f"stopped {chosen.name} for {stopped_s:.1f} s")
            chosen.stop_for(stopped_s)

    return step


def wipe_redis(world: SimulatedWorld, chance: Random) -> Step:
    del chance

    def step() -> None:
        world.scheduler.tell("Redis was wiped")
        world.redis.wipe()

    return step


def make_redis_unavailable(world: SimulatedWorld, chance: Random) -> Step:
    unavailable_s, forgets = chance.random() * 6, chance.random() < 0.5

    def come_back() -> None:
        world.redis.is_unavailable = False

    def step() -> None:
        world.scheduler.tell(f"Redis is unavailable for {unavailable_s:.1f} s")
        world.redis.is_unavailable = True
        world.redis.lose_subscriptions()
        if forgets:
            world.redis.wipe()
        world.scheduler.outside.call_later(unavailable_s, come_back)

    return step


def lose_subscriptions(world: SimulatedWorld, chance: Random) -> Step:
    del chance
    return world.redis.lose_subscriptions


def wipe_kafka(world: SimulatedWorld, chance: Random) -> Step:
    del chance

    def step() -> None:
        world.scheduler.tell("Kafka's log was wiped")
        world.topic.wipe()

    return step


def rewind_kafka(world: SimulatedWorld, chance: Random) -> Step:
    """Reset the group to an earlier offset, so that all later records are delivered again."""
    back = chance.randint(1, 6)

    def step() -> None:
        world.scheduler.tell("Kafka's offsets were set back")
        world.topic.rewind(back)

    return step


FAULTS: tuple[Fault, ...] = (
    kill_gateway,
    kill_gateway,
    kill_worker,
    kill_worker,
    kill_relay,
    stop_something,
    wipe_redis,
    make_redis_unavailable,
    lose_subscriptions,
    wipe_kafka,
    rewind_kafka,
)
