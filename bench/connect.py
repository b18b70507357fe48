"""Measure the gateway CPU to connect a device that missed nothing, and one that missed 100 messages.

connect_cpu_us              A known device with a known token, nothing missed.
connect_100_missed_cpu_us   The same, with 100 missed messages of one chat.
connect_new_cpu_us          A new device, with a token that the gateway has not seen.
*_min, *_max                Spread over the rounds.

The gateway is a real process on real engines. The load generator is the one of `just bench e2e`.
"""

import argparse
import asyncio
import statistics

import uvloop
from fixtures.chat_list_env import ChatListEnv
from fixtures.gateway_process import GatewayProcess, RunningGateway
from fixtures.installation import installation

from bench.e2e_devices import Line
from bench.report import print_figures, print_table
from bench.whole.using import cpu_us
from tidings.kernel.ids import ChatKey, UserId

MISSED = 100


async def prepare(env: GatewayProcess, users: list[str]) -> list[ChatKey]:
    """Create a chat with messages for each user."""
    chats = []
    async with env.use_cases() as use_cases:
        lists = ChatListEnv(use_cases)
        for user in users:
            chat = await use_cases.manage.direct(use_cases.tenant, UserId(user), UserId("ben"))
            for n in range(MISSED):
                await use_cases.send(chat, UserId("ben"), f"message {n} of some length, as people write them")
            await lists.deliver()
            chats.append(chat)
    return chats


class Measurement:
    def __init__(self, gateway: RunningGateway, users: list[str], chats: list[ChatKey]) -> None:
        self._gateway = gateway
        self._users = users
        self._chats = chats

    async def connect(self, tokens: list[str], missed: int) -> float:
        """Connect one device of each user and close it. Return the gateway's CPU µs for one."""
        before = cpu_us(self._gateway.popen.pid)
        for user, token, chat in zip(self._users, tokens, self._chats, strict=True):
            line = await Line.open(self._gateway.socket_port, token, user, {chat.chat: MISSED + 1 - missed})
            if len(line.sequences(chat.chat)) != missed:
                raise RuntimeError(f"{line.sequences(chat.chat)} received, {missed} missed")
            line.close()
        await asyncio.sleep(0.5)
        return (cpu_us(self._gateway.popen.pid) - before) / len(self._users)


async def measure(env: GatewayProcess, gateway: RunningGateway, devices: int, rounds: int) -> None:
    users = [f"anna-{number}" for number in range(devices)]
    it = Measurement(gateway, users, await prepare(env, users))
    tokens = [env.token(user) for user in users]
    new = await it.connect(tokens, 0)
    await it.connect(tokens, 0)
    found: dict[str, list[float]] = {"connect_cpu_us": [], "connect_100_missed_cpu_us": []}
    for _ in range(rounds):
        found["connect_cpu_us"].append(await it.connect(tokens, 0))
        found["connect_100_missed_cpu_us"].append(await it.connect(tokens, MISSED))
    rows = [("new device, new token", f"{new:.0f}", "")]
    figures = {"connect_new_cpu_us": new}
    for name, all_us in found.items():
        median, least, most = statistics.median(all_us), min(all_us), max(all_us)
        rows.append((name, f"{median:.0f}", f"{least:.0f} to {most:.0f}"))
        figures |= {name: median, f"{name}_min": least, f"{name}_max": most}
    print_table(["connect and resume", "CPU µs", "spread"], rows)
    print_figures(figures)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with installation() as env:
        gateway = env.start()
        uvloop.run(measure(env, gateway, given.devices, given.rounds))


if __name__ == "__main__":
    main()
