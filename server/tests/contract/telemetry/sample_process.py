"""A process that uses all of telemetry and life cycle, to be stopped, killed and starved by the tests.

Its one argument is a `Sample` in JSON. SIGUSR1 makes it do what `on_usr1` says.
"""

import asyncio
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import override

import msgspec
from contract.telemetry import pings

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret
from tidings.platform.lifecycle.admin import AdminOptions
from tidings.platform.lifecycle.component import Component, Ping, Probe, ProbeOptions
from tidings.platform.lifecycle.process import StopOptions
from tidings.platform.lifecycle.run import ProcessContext, ProcessOptions, run_process
from tidings.platform.lifecycle.watchdog import WatchdogOptions
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.tracing import TracingOptions

log = logs.get_logger("sample")

ENGINES: dict[str, tuple[str, Callable[[str, int], Ping]]] = {
    "dynamo": ("DynamoDB did not answer", pings.dynamo),
    "kafka": ("no broker answered", pings.kafka),
    "redis": ("Redis did not answer", pings.redis),
}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    kind: str = "sample"
    admin_port: int = 0
    engines: dict[str, int] = {}
    optional: tuple[str, ...] = ()
    drain_s: float = 0.05
    stop_s: float = 5.0
    warn_s: float = 1.0
    exit_s: float = 30.0
    worker_start: str = "well"
    worker_stop: str = "well"
    worker_stop_s: float = 2.0
    on_usr1: str = ""
    settings_are_wrong: bool = False
    otlp: str | None = None
    export_every_s: float = 0.2
    flush_s: float = 2.0
    traceparent: str | None = None


class Worker(Component):
    """Counts, spans and logs, as the real ones will."""

    name = "worker"

    def __init__(self, sample: Sample, host: ProcessContext) -> None:
        self._sample = sample
        self._host = host
        self.stop_s = sample.worker_stop_s
        self._turns = host.metrics.counters("sample_turns_total", "Turns.", {"outcome": ["ok", "failed"]})
        self._took = host.metrics.latency("sample_turn_seconds", "A turn.")

    @override
    async def start(self) -> None:
        await self._misbehave(self._sample.worker_start)
        self._working = self._host.tasks.spawn("work", self._work())

    @override
    async def stop(self) -> None:
        await self._misbehave(self._sample.worker_stop)
        await self._host.tasks.stop(self._working)

    async def _misbehave(self, how: str) -> None:
        if how == "hang":
            await asyncio.Event().wait()
        elif how == "hang on":
            _ = asyncio.get_running_loop().run_in_executor(None, time.sleep, 3_600)
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    log.warning("does not listen")
        elif how == "fail":
            raise RuntimeError("redis://app:hunter2@cache:6379 said no")

    async def _work(self) -> None:
        self._carry()
        while True:
            with self._took.time(), logs.bind_context(request_id="r-1", tenant="acme"):
                self._turns["ok"].inc()
                log.info("turned", password=Secret("hunter2"), body={"api_key": "hunter2"})
            await asyncio.sleep(0.02)

    def _carry(self) -> None:
        tracing = self._host.tracing
        parent = tracing.extract(self._sample.traceparent)
        with tracing.span(f"{self._sample.kind} work", parent=parent) as span:
            context = span.get_span_context()
            traceparent = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
            log.info("carried", traceparent=traceparent)


def compose(sample: Sample, host: ProcessContext) -> Sequence[Component]:
    if sample.settings_are_wrong:
        raise TidingsError(Code.SETTINGS_INVALID, "kafka.bootstrap_servers: is missing")
    if sample.on_usr1:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, DEEDS[sample.on_usr1], host)
    return [*(probe(name, port, sample, host) for name, port in sample.engines.items()), Worker(sample, host)]


def probe(name: str, port: int, sample: Sample, host: ProcessContext) -> Probe:
    complaint, ping = ENGINES[name]
    return Probe(
        name,
        ping("127.0.0.1", port),
        complaint=complaint,
        tasks=host.tasks,
        clock=host.clock,
        options=ProbeOptions(every_s=0.05, timeout_s=0.5, failure_threshold=2),
        gates_readiness=name not in sample.optional,
    )


def block(_: ProcessContext) -> None:
    time.sleep(3_600)


def block_a_little(_: ProcessContext) -> None:
    time.sleep(0.8)


def hold_the_interpreter(_: ProcessContext) -> None:
    """A regular expression that backtracks for ages, and lets no other thread run meanwhile."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def crash(host: ProcessContext) -> None:
    async def fail() -> None:
        raise RuntimeError("the consumer lost its mind")

    _ = host.tasks.spawn("consumer", fail())


DEEDS = {
    "block": block,
    "block a little": block_a_little,
    "hold the interpreter": hold_the_interpreter,
    "crash": crash,
}


def main() -> None:
    sample = msgspec.json.decode(sys.argv[1], type=Sample)
    options = ProcessOptions(
        tracing=TracingOptions(
            endpoint=sample.otlp, ratio=1.0, export_every_s=sample.export_every_s, flush_s=sample.flush_s
        ),
        admin=AdminOptions(port=sample.admin_port),
        stop=StopOptions(drain_s=sample.drain_s, stop_s=sample.stop_s),
        watchdog=WatchdogOptions(warn_s=sample.warn_s, exit_s=sample.exit_s),
        beat_s=0.05,
    )
    run_process(sample.kind, options, lambda host: compose(sample, host))


if __name__ == "__main__":
    main()
