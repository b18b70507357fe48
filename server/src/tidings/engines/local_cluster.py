"""Start, stop, wipe and kill the engines of one directory. Used by the command line and by tests."""

import contextlib
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import psutil

from tidings.engines import dynamodb_local, dynoxide, kafka, opensearch, process, seaweedfs, valkey
from tidings.engines.jars import DownloadCache, OnDownloadProgress
from tidings.engines.model import Engine, EngineNode, RunningEngine, StartRequest, StateFile
from tidings.engines.node_plan import engine_modules, plan_nodes
from tidings.kernel.errors import Code, TidingsError

RUNNERS: dict[str, ModuleType] = {
    "local": dynamodb_local,
    "dynoxide": dynoxide,
    "broker": kafka,
    "valkey": valkey,
    "seaweedfs": seaweedfs,
    "opensearch": opensearch,
}
_STOP_GRACE_S = 15.0
_POLL_S = 0.05
_LOG_TAIL_LINES = 15


def no_progress(what: str, done: int, total: int) -> None: ...


@dataclass
class LocalCluster:
    home: Path
    cache: DownloadCache
    progress: OnDownloadProgress = no_progress
    dies_with_us: bool = False
    """End the engines with this process, also if it is killed. For tests."""
    _state: StateFile = field(init=False)

    def __post_init__(self) -> None:
        self.home = self.home.absolute()
        self._state = StateFile(self.home)

    @property
    def logs(self) -> Path:
        return self._state.logs

    def status(self) -> list[RunningEngine]:
        return self._state.read()

    def start(self, request: StartRequest) -> list[RunningEngine]:
        """Start the requested engines that do not run yet, wait until they are ready, and return all that run."""
        for kind in engine_modules(request):
            RUNNERS[kind].install(self.cache, self.progress)
        with self._state.lock():
            return self._start(request)

    def stop(self) -> list[RunningEngine]:
        """Stop all engines, delete data that is not `on_disk`, and return the engines that ran."""
        if not self.home.exists():
            return []
        with self._state.lock():
            running = self._state.read()
            process.terminate([r.pid for r in running], _STOP_GRACE_S)
            for r in running:
                if not r.node.on_disk:
                    _erase(r.node)
            self._state.clear()
        return running

    def wipe(self, engine: Engine | None = None) -> list[RunningEngine]:
        """Delete the data of one engine or all, including `on_disk` data, and restart those that run."""
        with self._state.lock():
            running = self._state.read()
            chosen = [r for r in running if engine in (None, r.node.engine)]
            process.kill([r.pid for r in chosen])
            for r in chosen:
                _erase(r.node)
            self._erase_stopped(engine, {r.node.name for r in running})
            return self._restart(chosen, running)

    def kill(self, name: str) -> None:
        """Kill one node with SIGKILL. It can be started again with `restart`."""
        process.kill([self.find(name).pid])

    def pause(self, name: str) -> None:
        """Suspend one node with SIGSTOP, until `resume`."""
        process.send_signal([self.find(name).pid], signal.SIGSTOP)

    def resume(self, name: str) -> None:
        process.send_signal([self.find(name).pid], signal.SIGCONT)

    def restart(self, name: str) -> RunningEngine:
        """Start a killed or crashed node again, with its ports and data."""
        with self._state.lock():
            dead = self.find(name)
            process.kill([dead.pid])
            return self._restart([dead], self._state.read())[0]

    def find(self, name: str) -> RunningEngine:
        return next(r for r in self._state.read() if r.node.name == name)

    def _start(self, request: StartRequest) -> list[RunningEngine]:
        known = self._state.read()
        _refuse_other_shape(request, known)
        alive = [r for r in known if r.is_alive]
        dead = [r for r in known if not r.is_alive]
        for r in dead:
            if not r.node.on_disk:
                _erase(r.node)
        present = {r.node.name for r in alive}
        nodes = [
            n for n in [*(r.node for r in dead), *self._fresh_nodes(request, known)] if n.name not in present
        ]
        _refuse_short_memory(nodes)
        return alive + self._launch(nodes, alive, request.ready_timeout_s)

    def _fresh_nodes(self, request: StartRequest, known: list[RunningEngine]) -> list[EngineNode]:
        names = {r.node.name for r in known}
        return [n for n in plan_nodes(self.home, request) if n.name not in names]

    def _restart(self, chosen: list[RunningEngine], running: list[RunningEngine]) -> list[RunningEngine]:
        others = [r for r in running if r not in chosen]
        return self._launch([r.node for r in chosen], others, StartRequest().ready_timeout_s)

    def _launch(
        self, nodes: list[EngineNode], others: list[RunningEngine], timeout_s: float
    ) -> list[RunningEngine]:
        launched: list[RunningEngine] = []
        try:
            for node in nodes:
                launched.append(self._spawn(node))
                # Written before the engine is ready, so that `stop` finds it even if this process is killed.
                self._state.write(others + launched)
            self._await_ready(launched, timeout_s)
        except BaseException:
            process.kill([r.pid for r in launched])
            for r in launched:
                if not r.node.on_disk:
                    _erase(r.node)
            self._state.write(others)
            raise
        self._state.publish(others + launched)
        return launched

    def _spawn(self, node: EngineNode) -> RunningEngine:
        runner = RUNNERS[node.kind]
        runner.prepare(node, self.cache)
        command = runner.command(node, self.cache)
        return RunningEngine(
            node, process.spawn(command, node.log, node.data, dies_with_us=self.dies_with_us)
        )

    def _await_ready(self, launched: list[RunningEngine], timeout_s: float) -> None:
        waiting, deadline = list(launched), time.monotonic() + timeout_s
        while waiting:
            names = ", ".join(r.node.name for r in waiting)
            self.progress(f"starting: {names}", len(launched) - len(waiting), len(launched))
            waiting = [r for r in waiting if not RUNNERS[r.node.kind].is_ready(r.node)]
            for r in waiting:
                if not r.is_alive:
                    raise _died(r.node)
            if waiting and time.monotonic() > deadline:
                raise _not_ready(waiting[0].node, timeout_s)
            time.sleep(_POLL_S if waiting else 0)

    def _erase_stopped(self, engine: Engine | None, running: set[str]) -> None:
        for path in (self.home / "data").glob("*"):
            is_chosen = engine is None or path.name.startswith(engine)
            if is_chosen and path.name not in running:
                shutil.rmtree(path)


def _erase(node: EngineNode) -> None:
    shutil.rmtree(node.data, ignore_errors=True)
    with contextlib.suppress(OSError):  # The parent may contain data of other nodes.
        node.data.parent.rmdir()


def _refuse_other_shape(request: StartRequest, known: list[RunningEngine]) -> None:
    wanted = {node.name: node for node in plan_nodes(Path("/"), _portless(request))}
    for r in (r for r in known if r.is_alive):
        other = wanted.get(r.node.name)
        is_cluster_other = r.node.engine is Engine.KAFKA and len(r.node.peers) != request.kafka_brokers
        if other and (other.kind != r.node.kind or other.on_disk != r.node.on_disk or is_cluster_other):
            raise TidingsError(
                Code.ENGINES_BUSY,
                f"{r.node.name} already runs with other options.",
                hint="Run `tidings engines stop`, then start it again.",
            )


def _portless(request: StartRequest) -> StartRequest:
    return StartRequest(
        engines=request.engines,
        dynamo=request.dynamo,
        on_disk=request.on_disk,
        kafka_brokers=request.kafka_brokers,
    )


def _refuse_short_memory(nodes: list[EngineNode]) -> None:
    needed_mb = sum(RUNNERS[node.kind].MEMORY_MB for node in nodes)
    available_mb = psutil.virtual_memory().available // 2**20
    if needed_mb > available_mb:
        raise TidingsError(
            Code.ENGINE_OUT_OF_MEMORY,
            f"The engines need about {needed_mb} MB of memory; {available_mb} MB are free.",
            hint="Free memory, start fewer engines (`tidings engines start valkey`), or configure remote engines.",
        )


def _died(node: EngineNode) -> TidingsError:
    tail = "\n".join(node.log.read_text(errors="replace").splitlines()[-_LOG_TAIL_LINES:])
    if "ddress already in use" in tail:
        return TidingsError(
            Code.ENGINE_PORT_TAKEN,
            f"{node.name} cannot listen on port {node.port}: address already in use.\n{tail}",
            hint="Try again. A free port is chosen unless one is set.",
        )
    if "OutOfMemory" in tail or "Could not reserve" in tail or "Cannot allocate memory" in tail:
        code, hint = Code.ENGINE_OUT_OF_MEMORY, "Free memory, or start fewer engines."
    else:
        code, hint = Code.ENGINE_DIED, f"Full log: {node.log}"
    return TidingsError(code, f"{node.name} ended while starting. Last lines of its log:\n{tail}", hint=hint)


def _not_ready(node: EngineNode, timeout_s: float) -> TidingsError:
    return TidingsError(
        Code.ENGINE_NOT_READY,
        f"{node.name} runs but did not answer within {timeout_s:g} s.",
        hint=f"On a slow machine, increase engines.ready_timeout_s. Log: {node.log}",
    )
