"""`just storm-presence`: people who watch each other, on two gateways of which one is killed, and comes not back.

Who reconnects within the hold-down was never gone: nobody is told anything of him. Who does not is told of once.
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

from load.connecting_devices import connect_all, text
from tidings.kernel.ids import UserId

_PONG = text(b'{"pong":{}}')
_AT_ONCE = 50


@dataclass(frozen=True)
class Plan:
    """`stay_away`: of those whose gateway died, so many do not come back."""

    devices: int = 2_000
    watched: int = 10
    stay_away: int = 50
    lease_s: float = 30.0
    renew_every_s: float = 10.0
    hold_s: float = 10.0


@dataclass(frozen=True)
class Storm:
    """`of_returned`: presence frames about people who came back, to whoever was not himself away. `of_gone`: about those
    who did not. `pairs`: how many watch one who did not. `at_first`: states given to those who came back, when they
    subscribed again.
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
    """A device that watches the others of its circle, and counts what it is told of each."""

    def __init__(self, number: int, circle: Sequence[str], token: str) -> None:
        self.user = circle[number % len(circle)]
        self.watches = [user for user in circle if user != self.user]
        self._token = token
        self.told: dict[str, list[str]] = defaultdict(list)
        self._client: RawClient | None = None
        self._reading: asyncio.Task[None] | None = None

    async def come(self, port: int) -> None:
        self.told.clear()
        self._client = (await connect_all(port, self._token, "phone")).client
        self._client.send(text(json.dumps({"subscribe": {"users": self.watches}}).encode()))
        self._reading = asyncio.create_task(self._read(self._client))

    async def go(self) -> None:
        if self._client is not None and self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
            self._client.reset()

    @property
    def is_shown_all(self) -> bool:
        return all(self.told[user] for user in self.watches)

    def forget(self) -> None:
        """Counting begins anew."""
        self.told.clear()

    async def _read(self, client: RawClient) -> None:
        with contextlib.suppress(OSError, EOFError):
            while (frame := await _frame(client)) is not None:
                if "ping" in frame:
                    client.send(_PONG)
                elif "presence" in frame:
                    self.told[frame["presence"]["user"]].append(frame["presence"]["status"])


async def _frame(client: RawClient) -> dict[str, Any] | None:
    """However long it takes."""
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


def start(house: GatewayProcess, plan: Plan) -> RunningGateway:
    unlimited = {
        f"TIDINGS_LIMITS_{whom}_{what}": f"1000000{unit}"
        for whom in ("TENANT", "USER", "ADDRESS")
        for what, unit in (("RATE", "/s"), ("BURST", ""))
    }
    return house.start(
        TIDINGS_GATEWAY_LEASE_S=str(plan.lease_s),
        TIDINGS_GATEWAY_RENEW_EVERY_S=str(plan.renew_every_s),
        TIDINGS_EPHEMERAL_PRESENCE_GRACE_S=str(plan.hold_s),
        **unlimited,
    )


async def people(house: GatewayProcess, plan: Plan) -> list[Light]:
    """In circles, each a group chat, because one watches those with whom one shares a chat."""
    size = plan.watched + 1
    circles = [[f"u-{c}-{n}" for n in range(size)] for c in range(-(-plan.devices // size))]
    async with house.stage() as stage:
        lists = ChatListEnv(stage)
        for circle in circles:
            owner, *others = map(UserId, circle)
            await stage.manage.group(stage.tenant, by(owner), "circle", others)
            await lists.deliver()
    everybody = [user for circle in circles for user in circle][: plan.devices]
    return [Light(n, circles[n // size], house.token(user)) for n, user in enumerate(everybody)]


async def all_come(lights: Sequence[Light], ports: Sequence[int]) -> float:
    began = time.monotonic()
    gate = asyncio.Semaphore(_AT_ONCE)

    async def come(number: int, light: Light) -> None:
        async with gate:
            await light.come(ports[number % len(ports)])

    await asyncio.gather(*(come(number, light) for number, light in enumerate(lights)))
    return time.monotonic() - began


async def storm(house: GatewayProcess, plan: Plan, within_s: float) -> Storm:
    one, two = start(house, plan), start(house, plan)
    lights = await people(house, plan)
    await all_come(lights, [one.socket_port, two.socket_port])
    # the last circle is not whole: of whom is not there nothing is shown but that
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
    at_first = sum(len(each) for light in back for each in light.told.values())
    absent = {light.user for light in gone}
    watchers = [light for light in (*stayed, *back) if absent & set(light.watches)]
    pairs = sum(len(absent & set(light.watches)) for light in watchers)
    await until(lambda: _told_of(watchers, absent) >= pairs, within_s)
    told_in_s = time.monotonic() - killed_at
    # a whole round of looks, and nothing more comes of it
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
        of_returned=sum(len(light.told[user]) for light in stayed for user in returned & set(light.watches))
        + sum(len(light.told[user]) - 1 for light in back for user in returned & set(light.watches)),
        of_gone=_told_of(watchers, absent),
        most_of_gone_to_one=max(
            light.told[user].count("offline") for light in watchers for user in absent & set(light.watches)
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
    return all(light.told[user][-1] == "online" for light in lights for user in light.watches if user in here)


def _told_of(watchers: Sequence[Light], absent: set[str]) -> int:
    return sum(
        light.told[user].count("offline") for light in watchers for user in absent & set(light.watches)
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="just storm-presence", description=__doc__)
    parser.add_argument("--devices", type=int, default=2_000)
    parser.add_argument("--stay-away", type=int, default=50)
    given = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * given.devices + 1_000), hard))
    plan = Plan(devices=given.devices, stay_away=given.stay_away)
    with installation() as house:
        print(json.dumps(asdict(asyncio.run(storm(house, plan, 900.0)))), flush=True)
        print(json.dumps({"logged_errors": len(house.started[0].faults())}))


if __name__ == "__main__":
    main()
