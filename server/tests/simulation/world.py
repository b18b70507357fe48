"""Everything in one seed: engines, processes that start and die, devices, and a client that manages chats."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from simulation.change_stream import SimChangeStream
from simulation.device import Device
from simulation.kafka import Topic
from simulation.loop import Process, Scheduler
from simulation.network import Network
from simulation.record import Record
from simulation.redis import Redis
from simulation.server import Engines, Gateway, start_relay, start_worker
from simulation.tables import Tables

from tidings.gateway.resume.resume_deps import ResumeOptions
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import UserId

_ADMIN_WAITS_S = 15.0


class SimulatedWorld:
    def __init__(self, seed: int) -> None:
        self.scheduler = scheduler = Scheduler(seed)
        self.network = network = Network(scheduler, seed)
        self.tables = Tables()
        self.redis = Redis(scheduler)
        self.topic = Topic(scheduler, network)
        feed = SimChangeStream(network)
        quiet_after_s = Random(f"{seed}/quiet").choice((0.0, 0.5, ResumeOptions().quiet_after_s))
        self.engines = Engines(scheduler, network, self.tables, self.redis, self.topic, feed, quiet_after_s)
        self.record = Record(scheduler, self.tables, feed)
        self.chance = Random(f"{seed}/devices")
        self.gateways: list[Gateway | None] = []
        self.workers: list[Process | None] = []
        self.relays: list[Process | None] = []
        self.devices: list[Device] = []
        self.admin = scheduler.process("admin")
        self.busy = 0
        self._born = 0

    def _born_as(self, kind: str) -> Process:
        self._born += 1
        return self.scheduler.process(f"{kind}-{self._born}")

    def start_gateway(self, place: int) -> None:
        process = self._born_as("gateway")

        def begin() -> None:
            self.gateways[place] = Gateway(self.engines, process)

        process.call_soon(begin)

    def start_worker(self, place: int) -> None:
        process = self.workers[place] = self._born_as("worker")
        process.call_soon(start_worker, self.engines, process)

    def start_relay(self, place: int) -> None:
        process = self.relays[place] = self._born_as("relay")
        process.call_soon(start_relay, self.engines, process)

    def kill_gateway(self, place: int) -> None:
        gateway, self.gateways[place] = self.gateways[place], None
        if gateway is not None:
            self.scheduler.tell(f"killed {gateway.process.name}")
            gateway.process.kill()
            for wire in gateway.wires:
                wire.cut()

    def kill(self, kind: list[Process | None], place: int) -> None:
        process, kind[place] = kind[place], None
        if process is not None:
            self.scheduler.tell(f"killed {process.name}")
            process.kill()

    def start_all(self) -> None:
        """Start the processes that are not running."""
        for place, gateway in enumerate(self.gateways):
            if gateway is None:
                self.start_gateway(place)
        for place, worker in enumerate(self.workers):
            if worker is None:
                self.start_worker(place)
        for place, relay in enumerate(self.relays):
            if relay is None:
                self.start_relay(place)

    def device(self, user: UserId) -> Device:
        process = self._born_as(f"{user}")
        made = Device(process, user, find=self._any_gateway, record=self.record, chance=self.chance)
        self.devices.append(made)
        process.call_soon(made.start)
        return made

    def _any_gateway(self) -> Gateway | None:
        running = [gateway for gateway in self.gateways if gateway is not None]
        return self.chance.choice(running) if running else None

    def manage(self, what: str, ask: Callable[[Gateway], Awaitable[object]]) -> None:
        """Send a management request, as over REST, and repeat it until it has a definite answer."""
        self.busy += 1
        self.admin.spawn(self._managed(what, ask))

    async def _managed(self, what: str, ask: Callable[[Gateway], Awaitable[object]]) -> None:
        while True:
            gateway = self._any_gateway()
            if gateway is not None and (outcome := await self._asked(gateway, ask)) is not None:
                self.scheduler.tell(f"admin: {what}: {outcome}")
                self.busy -= 1
                return
            await asyncio.sleep(0.2 + self.chance.random())

    async def _asked(self, gateway: Gateway, ask: Callable[[Gateway], Awaitable[object]]) -> str | None:
        """Return the result, or None if it is unknown or the request must be repeated."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

        def settle(outcome: str | None) -> None:
            if not answer.done():
                answer.set_result(outcome)

        async def call() -> None:
            try:
                await ask(gateway)
            except TidingsError as error:
                outcome = None if error.retryable else f"refused, {error.code}"
            else:
                outcome = "done"
            self.scheduler.outside.call_later(self.network.delay_s(), settle, outcome)

        gateway.process.call_later(self.network.delay_s(), _begin, gateway.process, call)
        await asyncio.wait([answer], timeout=_ADMIN_WAITS_S)
        return answer.result() if answer.done() else None


def _begin(process: Process, call: Callable[[], Any]) -> None:
    process.begin(call())
