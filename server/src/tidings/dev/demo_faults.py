"""Faults that the demo page injects into the processes and engines of this directory."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum

from tidings.dev.console import DevConsole
from tidings.dev.engines import DevEngines
from tidings.engines.local_cluster import RUNNERS, no_progress
from tidings.engines.model import Engine, EngineNode
from tidings.engines.process import is_port_open
from tidings.kernel.errors import Code, TidingsError

GATEWAY = "gateway"


class Fault(StrEnum):
    KILL_GATEWAY = "kill-gateway"
    EMPTY_REDIS = "empty-redis"
    STOP_KAFKA = "stop-kafka"
    START_KAFKA = "start-kafka"


class ServiceState(StrEnum):
    RUNNING = "running"
    STARTING = "starting"
    STOPPED = "stopped"
    EXTERNAL = "external"
    """`tidings dev` did not start it, so the page must not stop it."""


class DemoFaults:
    def __init__(
        self, engines: DevEngines, gateway_port: int, kill_gateway: Callable[[], None], console: DevConsole
    ) -> None:
        self._engines = engines
        self._gateway_port = gateway_port
        self._kill_gateway = kill_gateway
        self._console = console
        self._is_starting_kafka = False
        self._one_at_a_time = asyncio.Lock()
        # An engine ends with the thread that started it, so this thread must live until the process ends. The event
        # loop's own threads end before the engines are stopped.
        self._thread = ThreadPoolExecutor(1, "engines")

    async def inject(self, fault: Fault) -> None:
        """Inject the fault and return when it is in effect. Raises `TidingsError` if `tidings dev` did not start the engine."""
        actions = {
            Fault.KILL_GATEWAY: self._kill_process,
            Fault.EMPTY_REDIS: self._empty_redis,
            Fault.STOP_KAFKA: self._stop_kafka,
            Fault.START_KAFKA: self._start_kafka,
        }
        async with self._one_at_a_time:
            self._console.info(f"the demo page requested: {fault}", "bold yellow")
            await actions[fault]()

    async def status(self) -> dict[str, ServiceState]:
        nodes = {engine: self._nodes(engine) for engine in (Engine.VALKEY, Engine.KAFKA)}
        return {
            "gateway": await asyncio.to_thread(self._gateway_state),
            "redis": await asyncio.to_thread(_engine_state, nodes[Engine.VALKEY]),
            "kafka": ServiceState.STARTING
            if self._is_starting_kafka
            else await asyncio.to_thread(_engine_state, nodes[Engine.KAFKA]),
        }

    async def _kill_process(self) -> None:
        self._kill_gateway()

    async def _empty_redis(self) -> None:
        (node,) = self._own_nodes(Engine.VALKEY)
        reader, writer = await asyncio.open_connection("127.0.0.1", node.port)
        try:
            writer.write(b"FLUSHALL SYNC\r\n")
            answer = await reader.readline()
        finally:
            writer.close()
        if not answer.startswith(b"+OK"):
            raise TidingsError(Code.INTERNAL, f"Redis answered FLUSHALL with {answer!r}.")

    async def _stop_kafka(self) -> None:
        for node in self._own_nodes(Engine.KAFKA):
            await self._in_thread(self._engines.cluster.kill, node.name)

    async def _start_kafka(self) -> None:
        self._own_nodes(Engine.KAFKA)
        self._is_starting_kafka = True
        try:
            await self._in_thread(self._engines.start, no_progress)
        finally:
            self._is_starting_kafka = False

    async def _in_thread(self, work: Callable[..., object], *args: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def _own_nodes(self, engine: Engine) -> list[EngineNode]:
        found = self._nodes(engine)
        if not found:
            raise TidingsError(
                Code.ENGINES_BUSY,
                f"`tidings dev` did not start {engine}, so the page cannot stop or empty it.",
                hint="Stop the engines with `tidings engines stop`, and start `tidings dev` again.",
            )
        return found

    def _nodes(self, engine: Engine) -> list[EngineNode]:
        """Return the nodes of an engine that this `tidings dev` started."""
        before = {each.node.name for each in self._engines.were_running}
        nodes = [each.node for each in self._engines.cluster.status()]
        return [node for node in nodes if node.engine is engine and node.name not in before]

    def _gateway_state(self) -> ServiceState:
        is_open = is_port_open("127.0.0.1", self._gateway_port)
        return ServiceState.RUNNING if is_open else ServiceState.STARTING


def _engine_state(nodes: list[EngineNode]) -> ServiceState:
    if not nodes:
        return ServiceState.EXTERNAL
    is_ready = all(RUNNERS[node.kind].is_ready(node) for node in nodes)
    return ServiceState.RUNNING if is_ready else ServiceState.STOPPED
