"""What goes wrong beside the weather: processes die or stand still, Redis and Kafka forget, lines break.

Each is drawn with everything that it needs, and gives what is to be done at its time.
"""

from collections.abc import Callable
from random import Random

from simulation.world import SimulatedWorld

type Step = Callable[[], None]
type Fault = Callable[[SimulatedWorld, Random], Step]


def kill_gateway(town: SimulatedWorld, chance: Random) -> Step:
    place, back_s = chance.randrange(len(town.gateways)), chance.random() * 6

    def step() -> None:
        if town.gateways[place] is not None:
            town.kill_gateway(place)
            town.scheduler.outside.call_later(back_s, town.start_gateway, place)

    return step


def kill_worker(town: SimulatedWorld, chance: Random) -> Step:
    place, back_s = chance.randrange(len(town.workers)), chance.random() * 6

    def step() -> None:
        if town.workers[place] is not None:
            town.kill(town.workers, place)
            town.scheduler.outside.call_later(back_s, town.start_worker, place)

    return step


def kill_relay(town: SimulatedWorld, chance: Random) -> Step:
    back_s = chance.random() * 6

    def step() -> None:
        if town.relays[0] is not None:
            town.kill(town.relays, 0)
            town.scheduler.outside.call_later(back_s, town.start_relay, 0)

    return step


def stop_something(town: SimulatedWorld, chance: Random) -> Step:
    """As by SIGSTOP, sometimes for longer than a session or a lease lasts."""
    draw, stopped_s = chance.random(), chance.choice((1.0, 8.0, 70.0)) * chance.random()

    def step() -> None:
        gateways = [gateway.process for gateway in town.gateways if gateway is not None]
        there = [*gateways, *(p for p in (*town.workers, *town.relays) if p is not None)]
        if there:
            chosen = there[int(draw * len(there))]
            town.scheduler.tell(f"stopped {chosen.name} for {stopped_s:.1f} s")
            chosen.stop_for(stopped_s)

    return step


def wipe_redis(town: SimulatedWorld, chance: Random) -> Step:
    del chance

    def step() -> None:
        town.scheduler.tell("Redis was wiped")
        town.redis.wipe()

    return step


def take_redis_away(town: SimulatedWorld, chance: Random) -> Step:
    away_s, forgets = chance.random() * 6, chance.random() < 0.5

    def come_back() -> None:
        town.redis.is_away = False

    def step() -> None:
        town.scheduler.tell(f"Redis is away for {away_s:.1f} s")
        town.redis.is_away = True
        town.redis.break_lines()
        if forgets:
            town.redis.wipe()
        town.scheduler.outside.call_later(away_s, come_back)

    return step


def break_lines(town: SimulatedWorld, chance: Random) -> Step:
    del chance
    return town.redis.break_lines


def wipe_kafka(town: SimulatedWorld, chance: Random) -> Step:
    del chance

    def step() -> None:
        town.scheduler.tell("Kafka's log was wiped")
        town.topic.wipe()

    return step


def rewind_kafka(town: SimulatedWorld, chance: Random) -> Step:
    """The group begins again at an earlier offset: everything since comes a second time."""
    back = chance.randint(1, 6)

    def step() -> None:
        town.scheduler.tell("Kafka's offsets were set back")
        town.topic.rewind(back)

    return step


FAULTS: tuple[Fault, ...] = (
    kill_gateway,
    kill_gateway,
    kill_worker,
    kill_worker,
    kill_relay,
    stop_something,
    wipe_redis,
    take_redis_away,
    break_lines,
    wipe_kafka,
    rewind_kafka,
)
