"""Kill one of two gateways whose users watch each other's presence.

Users who reconnect within the grace period cause no presence event. Users who do not cause exactly one for each
watcher.
"""

import argparse
import asyncio
import contextlib
import json
import resource
import struct
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from contract.gateway.raw_client import CLOSE, RawClient
from fixtures.chat_list_env import ChatListEnv
from fixtures.gateway_process import GatewayProcess, RunningGateway
from fixtures.installation import installation
from fixtures.loops import until
from fixtures.use_cases import by

from load.connecting_devices import connect_client, text
from tidings.kernel.ids import UserId

_PONG = text(b'{"pong":{}}')
_AT_ONCE = 50


@dataclass(frozen=True)
class Plan:
    """`stay_away`: how many devices of the killed gateway do not reconnect."""

    devices: int = 2_000
    watched: int = 10
    stay_away: int = 50
    lease_s: float = 30.0
    renew_every_s: float = 10.0
    hold_s: float = 10.0


@dataclass(frozen=True)
class Storm:
    """Results of a storm.

    `of_returned` counts presence frames about users who reconnected, to devices that stayed connected. `of_gone`
    counts frames about users who did not. `pairs` is the number of pairs of a watcher and a user who did not
    reconnect. `at_first` counts the presence states that reconnected devices received when they subscribed again.
    """

    devices: int
    killed: int
    returned: int
    back_in_s: float
    pairs: int
    of_returned: int
    of_gone: int
    most_of_gone_to_one: int
    told_in_s: float
    at_first: int
    looks: float
    resumed_again: float
    without_hold_would_be: int


class Light:
    """A device that watches the other members of its group, and records their presence events."""

    def __init__(self, number: int, circle: Sequence[str], token: str) -> None:
        self.user = circle[number % len(circle)]
        self.watches = [user for user in circle if user != self.user]
        self._token = token
        self.events: dict[str, list[str]] = defaultdict(list)
        self._client: RawClient | None = None
        self._reading: asyncio.Task[None] | None = None

    async def come(self, port: int) -> None:
        self.events.clear()
        self._client = (await connect_client(port, self._token, "phone")).client
        self._client.send(text(json.dumps({"subscribe": {"users": self.watches}}).encode()))
        self._reading = asyncio.create_task(self._read(self._client))

    async def go(self) -> None:
        if self._client is not None and self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._client.reset()

    @property
    def is_shown_all(self) -> bool:
        return all(self.events[user] for user in self.watches)

    def forget(self) -> None:
        """Start counting again."""
        self.events.clear()

    async def _read(self, client: RawClient) -> None:
        with contextlib.suppress(OSError, EOFError):
            while (frame := await _frame(client)) is not None:
                if "ping" in frame:
                    client.send(_PONG)
                elif "presence" in frame:
                    self.events[frame["presence"]["user"]].append(frame["presence"]["status"])


async def _frame(client: RawClient) -> dict[str, Any] | None:
    """Read the next frame, without a timeout."""
    first, second = await client.reader.readexactly(2)
    size = second & 0x7F
    if size == 126:
        (size,) = struct.unpack("!H", await client.reader.readexactly(2))
    elif size == 127:
        (size,) = struct.unpack("!Q", await client.reader.readexactly(8))
    payload = await client.reader.readexactly(size)
    if first & 0x0F == CLOSE:
        return None
    found: dict[str, Any] = json.loads(payload)
    return found


def start(env: GatewayProcess, plan: Plan) -> RunningGateway:
    unlimited = {
        f"TIDINGS_LIMITS_{whom}_{what}": f"1000000{unit}"
        for whom in ("TENANT", "USER", "ADDRESS")
        for what, unit in (("RATE", "/s"), ("BURST", ""))
    }
    return env.start(
        TIDINGS_GATEWAY_LEASE_S=str(plan.lease_s),
        TIDINGS_GATEWAY_RENEW_EVERY_S=str(plan.renew_every_s),
        TIDINGS_EPHEMERAL_PRESENCE_GRACE_S=str(plan.hold_s),
        **unlimited,
    )


async def people(env: GatewayProcess, plan: Plan) -> list[Light]:
    """Create groups of users: a user may watch only users of a common chat."""
    size = plan.watched + 1
    circles = [[f"u-{c}-{n}" for n in range(size)] for c in range(-(-plan.devices // size))]
    async with env.use_cases() as use_cases:
        lists = ChatListEnv(use_cases)
        for circle in circles:
            owner, *others = map(UserId, circle)
            await use_cases.manage.group(use_cases.tenant, by(owner), "circle", others)
            await lists.deliver()
    everybody = [user for circle in circles for user in circle][: plan.devices]
    return [Light(n, circles[n // size], env.token(user)) for n, user in enumerate(everybody)]


async def all_come(lights: Sequence[Light], ports: Sequence[int]) -> float:
    began = time.monotonic()
    gate = asyncio.Semaphore(_AT_ONCE)

    async def come(number: int, light: Light) -> None:
        async with gate:
            await light.come(ports[number % len(ports)])

    await asyncio.gather(*(come(number, light) for number, light in enumerate(lights)))
    return time.monotonic() - began


async def storm(env: GatewayProcess, plan: Plan, within_s: float) -> Storm:
    one, two = start(env, plan), start(env, plan)
    lights = await people(env, plan)
    await all_come(lights, [one.socket_port, two.socket_port])
    # The last group is incomplete: for users without a device, only that they are offline is shown.
    await until(lambda: all(light.is_shown_all for light in lights), within_s)
    await until(lambda: _all_online(lights), within_s)
    for light in lights:
        light.forget()
    looks = one.metric('gateway_ephemeral_reads_total{what="presence"}')
    two.popen.kill()
    killed, stayed = lights[1::2], lights[0::2]
    gone, back = killed[: plan.stay_away], killed[plan.stay_away :]
    killed_at = time.monotonic()
    await asyncio.gather(*(light.go() for light in killed))
    back_in_s = await all_come(back, [one.socket_port])
    await until(lambda: all(light.is_shown_all for light in back), within_s)
    at_first = sum(len(each) for light in back for each in light.events.values())
    absent = {light.user for light in gone}
    watchers = [light for light in (*stayed, *back) if absent & set(light.watches)]
    pairs = sum(len(absent & set(light.watches)) for light in watchers)
    await until(lambda: _count_offline(watchers, absent) >= pairs, within_s)
    told_in_s = time.monotonic() - killed_at
    # Wait for a complete round of presence look-ups, which must cause no further events.
    seen = one.metric('gateway_ephemeral_reads_total{what="presence"}')
    await until(
        lambda: one.metric('gateway_ephemeral_reads_total{what="presence"}') >= seen + plan.devices, within_s
    )
    returned = {light.user for light in back}
    result = Storm(
        devices=len(lights),
        killed=len(killed),
        returned=len(back),
        back_in_s=round(back_in_s, 2),
        pairs=pairs,
        of_returned=sum(len(light.events[user]) for light in stayed for user in returned & set(light.watches))
        + sum(len(light.events[user]) - 1 for light in back for user in returned & set(light.watches)),
        of_gone=_count_offline(watchers, absent),
        most_of_gone_to_one=max(
            light.events[user].count("offline") for light in watchers for user in absent & set(light.watches)
        ),
        told_in_s=round(told_in_s, 1),
        at_first=at_first,
        looks=one.metric('gateway_ephemeral_reads_total{what="presence"}') - looks,
        resumed_again=one.metric('gateway_resumes_total{what="repeated"}'),
        without_hold_would_be=2 * sum(len(set(light.watches) & returned) for light in stayed),
    )
    await asyncio.gather(*(light.go() for light in (*stayed, *back)))
    return result


def _all_online(lights: Sequence[Light]) -> bool:
    here = {light.user for light in lights}
    return all(
        light.events[user][-1] == "online" for light in lights for user in light.watches if user in here
    )


def _count_offline(watchers: Sequence[Light], absent: set[str]) -> int:
    return sum(
        light.events[user].count("offline") for light in watchers for user in absent & set(light.watches)
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="just storm-presence", description=__doc__)
    parser.add_argument("--devices", type=int, default=2_000)
    parser.add_argument("--stay-away", type=int, default=50)
    given = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * given.devices + 1_000), hard))
    plan = Plan(devices=given.devices, stay_away=given.stay_away)
    with installation() as env:
        print(json.dumps(asdict(asyncio.run(storm(env, plan, 900.0)))), flush=True)
        print(json.dumps({"logged_errors": len(env.started[0].faults())}))


if __name__ == "__main__":
    main()
