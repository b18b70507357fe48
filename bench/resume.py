"""Compare the gateway CPU for a device that missed 100 messages with that for a device that missed none.

    just bench resume

The gateway is a real process on real engines. All devices belong to the same user.
"""

import argparse
import asyncio
import json

import psutil
from fixtures.chat_list_env import ChatListEnv
from fixtures.gateway_process import GatewayProcess, RunningGateway, SocketDevice
from fixtures.installation import installation

from bench.report import print_figures, print_table
from tidings.kernel.ids import ChatKey, UserId

MISSED = 100
WARM = 20


async def prepared(env: GatewayProcess) -> ChatKey:
    """Create a chat with messages and the chat rows of its members."""
    async with env.use_cases() as use_cases:
        lists = ChatListEnv(use_cases)
        chat = await use_cases.manage.direct(use_cases.tenant, UserId("anna"), UserId("ben"))
        for n in range(MISSED):
            await use_cases.send(chat, UserId("ben"), f"message {n} of some length, as people write them")
        await lists.deliver()
    return chat


async def resumed(env: GatewayProcess, port: int, name: str, chat: ChatKey, position: int) -> int:
    """Connect and return the number of received entries."""
    device = await SocketDevice.open(port)
    credential = env.token("anna")
    positions = {chat.chat: position}
    await device.say(
        {
            "id": 1,
            "connect": {
                "credential": credential,
                "protocol": 1,
                "device": name,
                "epoch": 0,
                "positions": positions,
            },
        }
    )
    got = 0
    while True:
        frame = json.loads(await device.ws.recv())
        got += len(frame["entries"]["entries"]) if "entries" in frame else 0
        if "resumed" in frame:
            await device.close()
            return got


async def measured(
    env: GatewayProcess, gateway: RunningGateway, chat: ChatKey, position: int, devices: int
) -> float:
    process = psutil.Process(gateway.popen.pid)
    port = gateway.socket_port
    for n in range(WARM):
        await resumed(env, port, f"warm-{position}-{n}", chat, position)
    before = sum(process.cpu_times()[:2])
    for n in range(devices):
        got = await resumed(env, port, f"d-{position}-{n}", chat, position)
        if got != MISSED + 1 - position:
            raise RuntimeError(f"{got} entries received")
    return float((sum(process.cpu_times()[:2]) - before) / devices * 1e6)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--devices", type=int, default=500)
    given = options.parse_args()
    with installation() as env:
        gateway = env.start()
        chat = asyncio.run(prepared(env))
        none = asyncio.run(measured(env, gateway, chat, MISSED + 1, given.devices))
        missed = asyncio.run(measured(env, gateway, chat, 1, given.devices))
    print_table(
        ["connect and resume", "CPU µs"], [("nothing missed", f"{none:.0f}"), ("100 missed", f"{missed:.0f}")]
    )
    print_figures({"resume_0_cpu_us": none, "resume_100_cpu_us": missed})


if __name__ == "__main__":
    main()
