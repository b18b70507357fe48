"""Run a process: logs, metrics, tracing, admin server, watchdog and the components of its kind."""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn, override

from tidings.kernel.clock import Clock, SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.platform.lifecycle.admin import AdminOptions, AdminServer, health_endpoints
from tidings.platform.lifecycle.component import (
    Component,
    ExitCode,
    Health,
    HealthTracker,
    TaskSupervisor,
    describe_error,
)
from tidings.platform.lifecycle.process import Process, StopOptions, loop_factory
from tidings.platform.lifecycle.process_status import ProcessStatus
from tidings.platform.lifecycle.watchdog import CpuTimeKillSwitch, Heartbeat, Watchdog, WatchdogOptions
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.logs import LogOptions, LogSink, ProcessIdentity
from tidings.platform.telemetry.metrics import Metrics
from tidings.platform.telemetry.tracing import ExportCounts, Tracing, TracingOptions

log = logs.get_logger(__name__)


class SpanExport(Component):
    """The span exporter. It starts first and stops last, so that spans of the shutdown are sent.

    Lost spans do no harm, so it affects neither readiness nor the exit code.
    """

    name = "span_export"
    gates_readiness = False

    def __init__(self, tracing: Tracing, metrics: Metrics, clock: Clock) -> None:
        self._tracing = tracing
        self._pulse = HealthTracker(clock, "the collector took no spans")
        self._seen = (0, 0)
        self.stop_s = tracing.flush_s + 1.0
        counts = tracing.counts
        metrics.counter_callback(
            "spans_exported_total", "Spans that the collector accepted.", lambda: counts.taken
        )
        metrics.counter_callback(
            "spans_dropped_total", "Spans that the collector did not accept.", lambda: counts.failed
        )

    @override
    async def start(self) -> None:
        self._pulse.answered()

    @override
    async def stop(self) -> None:
        if not await asyncio.to_thread(self._tracing.close):
            log.warning("spans were not sent in time", waited_s=self._tracing.flush_s)

    @override
    def health(self) -> Health:
        counts = self._tracing.counts
        taken, failed = self._seen
        if counts.failed > failed:
            self._pulse.failed(f"{counts.failed} spans lost so far")
        elif counts.taken > taken:
            self._pulse.answered()
        self._seen = (counts.taken, counts.failed)
        return self._pulse.health()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """Settings of a process that do not depend on its kind."""

    logs: LogOptions = field(default_factory=LogOptions)
    tracing: TracingOptions = field(default_factory=TracingOptions)
    admin: AdminOptions = field(default_factory=AdminOptions)
    stop: StopOptions = field(default_factory=StopOptions)
    watchdog: WatchdogOptions = field(default_factory=WatchdogOptions)
    beat_s: float = 0.25
    clock: Clock = field(default_factory=SystemClock)
    failpoints: Failpoints = NO_FAILPOINTS


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """Services of the process that its components share."""

    identity: ProcessIdentity
    clock: Clock
    metrics: Metrics
    tracing: Tracing
    tasks: TaskSupervisor
    failpoints: Failpoints = NO_FAILPOINTS


type ComposeProcess = Callable[[ProcessContext], Sequence[Component]]


def run_process(kind: str, options: ProcessOptions, compose: ComposeProcess) -> NoReturn:
    """Run the process, then exit with an `ExitCode`.

    Exits without waiting for threads: one that hangs in a library must not keep a stopped process alive.
    """
    identity = ProcessIdentity.new(kind)
    sink = logs.configure_logs(identity, options.logs)
    try:
        code = _run(identity, options, sink, compose)
    except BaseException as error:
        log.critical("crashed", reason=describe_error(error), exc_info=error)
        code = ExitCode.CRASHED
    os._exit(code)


def _run(
    identity: ProcessIdentity, options: ProcessOptions, sink: LogSink, compose: ComposeProcess
) -> ExitCode:
    metrics = Metrics()
    metrics.counter_callback(
        "log_lines_dropped_total", "Log lines that could not be written to stdout.", lambda: sink.lost
    )
    spans = configure_tracing(identity, options.tracing)
    # The runner is never closed: that would wait for a thread or a task that did not stop in time.
    return asyncio.Runner(loop_factory=loop_factory()).run(_live(identity, options, metrics, spans, compose))


def configure_tracing(identity: ProcessIdentity, options: TracingOptions) -> Tracing:
    if options.endpoint is None:
        return Tracing(None, None, ExportCounts(), options.flush_s)
    # The SDK, its exporter and protobuf take half a second to import, so only processes that export spans do it.
    from tidings.platform.telemetry.span_export import otlp_tracing  # noqa: PLC0415 - see above

    return otlp_tracing(identity, options, options.endpoint)


async def _live(
    identity: ProcessIdentity,
    options: ProcessOptions,
    metrics: Metrics,
    spans: Tracing,
    compose: ComposeProcess,
) -> ExitCode:
    clock, loop = options.clock, asyncio.get_running_loop()
    board = ProcessStatus(clock, metrics)
    process = Process(options.stop, board)
    lag = metrics.latency("loop_lag_seconds", "Delay of the event loop's heartbeat.")
    heartbeat = Heartbeat(clock, options.beat_s, lag, board.publish)
    shown = health_endpoints(identity, board, heartbeat, options.watchdog.warn_s, metrics.render)
    host = ProcessContext(identity, clock, metrics, spans, process.tasks, options.failpoints)
    try:
        admin = AdminServer(options.admin, shown, partial(loop.call_soon_threadsafe, process.request_drain))
    except OSError as error:
        return _refused("cannot listen on the admin port", error)
    _announce(options.admin, admin.port)
    watchdog = Watchdog(lambda: heartbeat.count, options.watchdog, CpuTimeKillSwitch())
    with _supervised(process, heartbeat, watchdog, admin):
        try:
            components = [SpanExport(spans, metrics, clock), *compose(host)]
        except Exception as error:  # noqa: BLE001 - every error ends the process
            return _refused("cannot create the components", error)
        return await process.run(components)


def _announce(options: AdminOptions, port: int) -> None:
    loop = type(asyncio.get_running_loop()).__module__.partition(".")[0]
    log.info("process starting", admin_host=options.host, admin_port=port, pid=os.getpid(), loop=loop)


def _refused(event: str, error: Exception) -> ExitCode:
    log.critical(event, reason=describe_error(error), exc_info=error)
    is_settings = isinstance(error, TidingsError) and error.code is Code.SETTINGS_INVALID
    return ExitCode.SETTINGS_INVALID if is_settings else ExitCode.START_FAILED


@contextmanager
def _supervised(
    process: Process, heartbeat: Heartbeat, watchdog: Watchdog, admin: AdminServer
) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, process.signalled, number)
    heartbeat.start()
    watchdog.start()
    admin.start()
    try:
        yield
    finally:
        admin.stop()
        watchdog.stop()
        heartbeat.stop()
