"""Connect many devices to one gateway at the same time; refused ones retry after the time that the gateway asks for.

All are connected within the calculated time. After they have disconnected, the next wave reuses their memory.
"""

import argparse
import asyncio
import json
import resource
import time
from dataclasses import asdict, dataclass

import psutil
from fixtures.gateway_process import GatewayProcess, RunningGateway, open_crowd
from fixtures.installation import installation
from fixtures.loops import until

from load.connecting_devices import ConnectedClient, connect_client
from tidings.gateway.admission import AdmissionOptions, max_admission_delay_s

_GONE_WITHIN_S = 60.0
_GIVEN_BACK_S = 12.0


@dataclass(frozen=True)
class Wave:
    """One wave of connections. `kb_each` is the gateway's memory growth per device while all are connected."""

    clients: int
    refusals: int
    in_s: float
    stated_s: float
    cpu_us_each: float
    kb_each: float
    left_kb: float


def start(env: GatewayProcess, options: AdmissionOptions, library: str) -> RunningGateway:
    return env.start(
        TIDINGS_GATEWAY_SOCKET_LIBRARY=library,
        TIDINGS_GATEWAY_MAX_CONNECTS_PER_S=str(options.max_connects_per_s),
        TIDINGS_GATEWAY_CONNECT_BURST=str(options.burst),
        TIDINGS_GATEWAY_MAX_CONNECTIONS="12000",
        **open_crowd(12_000),
        TIDINGS_LIMITS_TENANT_RATE="100000/s",
        TIDINGS_LIMITS_TENANT_BURST="100000",
    )


async def wave(
    gateway: RunningGateway, tokens: list[str], options: AdmissionOptions, given_back_s: float = 0.0
) -> Wave:
    """Connect and disconnect all devices. Measure the remaining memory `given_back_s` after they disconnected."""
    process, port = psutil.Process(gateway.popen.pid), gateway.socket_port
    before_kb, cpu_s, began = _kb(process), _cpu_s(process), time.monotonic()
    arrived = await _connect_all(port, tokens)
    in_s = time.monotonic() - began
    assert gateway.metric("socket_devices") == len(tokens)
    cpu_us = (_cpu_s(process) - cpu_s) / len(tokens) * 1e6
    kb_each = (_kb(process) - before_kb) / len(tokens)
    await _leave(gateway, arrived)
    await asyncio.sleep(given_back_s)
    return Wave(
        clients=len(tokens),
        refusals=sum(each.refusals for each in arrived),
        in_s=round(in_s, 2),
        stated_s=round(max_admission_delay_s(len(tokens), options), 2),
        cpu_us_each=round(cpu_us, 1),
        kb_each=round(kb_each, 2),
        left_kb=round(_kb(process) - before_kb, 1),
    )


async def _connect_all(port: int, tokens: list[str]) -> list[ConnectedClient]:
    """Connect a device for each token. If one fails, disconnect the others."""
    tasks: list[asyncio.Task[ConnectedClient]] = []
    try:
        async with asyncio.TaskGroup() as group:
            for n, token in enumerate(tokens):
                tasks.append(group.create_task(connect_client(port, token, f"d-{n}")))
    except BaseException:
        for task in tasks:
            if not task.cancelled() and task.exception() is None:
                task.result().client.reset()
        raise
    return [task.result() for task in tasks]


async def _leave(gateway: RunningGateway, arrived: list[ConnectedClient]) -> None:
    for each in arrived:
        each.client.reset()
    await until(lambda: gateway.metric("socket_open") == 0, _GONE_WITHIN_S)


def _kb(process: psutil.Process) -> float:
    return float(process.memory_info().rss / 1_024)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> None:
    parser = argparse.ArgumentParser(prog="just storm-gateway", description=__doc__)
    parser.add_argument("--clients", type=int, default=5_000)
    parser.add_argument("--waves", type=int, default=3)
    parser.add_argument("--library", default="picows", choices=["picows", "websockets"])
    given = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * given.clients + 1_000), hard))
    options = AdmissionOptions()
    with installation() as env:
        gateway = start(env, options, given.library)
        tokens = [env.token(f"user-{n}") for n in range(given.clients)]
        for _ in range(given.waves):
            print(json.dumps(asdict(asyncio.run(wave(gateway, tokens, options, _GIVEN_BACK_S)))), flush=True)
        print(json.dumps({"library": given.library, "logged_errors": len(gateway.faults())}))


if __name__ == "__main__":
    main()
