"""Rehearse a restore or a failover: copy the tables, finish the restore, start the processes, send and read."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tidings.app.settings.loader import LoadedSettings
from tidings.drills.copies import find_lost_entries, newest_messages, replicate_tables
from tidings.drills.exchange import Exchange, exchange_messages
from tidings.drills.model import DrillKind, DrillReport, DrillStep, LostEntries
from tidings.drills.scratch import ScratchInstallation, scratch_installation
from tidings.engines import dynoxide
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.snapshots import dynamo_node, restore_snapshot, take_snapshot
from tidings.kernel.clock import format_ms, parse_ms

_MS: Final = 1000


@dataclass(slots=True, kw_only=True)
class Rehearsal:
    """One drill. `report` receives a line for each step."""

    production: LocalCluster
    loaded: LoadedSettings
    wait_s: float
    report: Callable[[str], None]
    _steps: list[DrillStep] = field(default_factory=list)
    _lost_at: datetime = field(init=False)
    _lost_s: float = field(init=False)

    def restore(self, snapshot: Path | None) -> DrillReport:
        """Restore a snapshot; without one, a new snapshot."""
        with scratch_installation(self.loaded) as scratch:
            path = snapshot or self._take_snapshot(scratch)
            self._lose_production()
            with self._step("snapshot restored"):
                restored = restore_snapshot(scratch.cluster, path)
            with self._step("engines started"):
                scratch.start_engines()
            return self._finish("restore", scratch, restored.at)

    def failover(self) -> DrillReport:
        """Take over with copies of different instants of the tables that a standby region has. The others are empty."""
        source = dynoxide.database(dynamo_node(self.production))
        with scratch_installation(self.loaded) as scratch:
            with self._step("standby prepared"):
                scratch.start_engines()
                scratch.run_command("tables", "apply")
            at = datetime.now(UTC)
            with self._step("tables replicated"):
                replicate_tables(source, scratch.database, self._prefix)
            self._lose_production()
            return self._finish("failover", scratch, at)

    def _take_snapshot(self, scratch: ScratchInstallation) -> Path:
        with self._step("snapshot taken"):
            return take_snapshot(self.production, scratch.home / "snapshots", datetime.now(UTC)).path

    def _lose_production(self) -> None:
        """From now on, production counts as lost."""
        self._lost_at, self._lost_s = datetime.now(UTC), time.monotonic()

    def _finish(self, drill: DrillKind, scratch: ScratchInstallation, backup_at: datetime) -> DrillReport:
        with self._step("entries compared"):
            lost = self._find_lost_entries(scratch)
            old = newest_messages(scratch.database, self._prefix)
        with self._step("topics created"):
            scratch.run_command("topics", "apply")
        with self._step("restore finished"):
            wait = f"--wait-s={self.wait_s:g}"
            scratch.run_command("restore", "finish", "--to", backup_at.isoformat(), "--yes", wait)
        with self._step("processes ready, message sent and read"):
            done = asyncio.run(exchange_messages(scratch, old))
        return self._report(drill, backup_at, lost, done)

    def _find_lost_entries(self, scratch: ScratchInstallation) -> LostEntries:
        production = dynoxide.database(dynamo_node(self.production))
        until = format_ms(round(self._lost_at.timestamp() * _MS))
        return find_lost_entries(production, scratch.database, self._prefix, until)

    def _report(
        self, drill: DrillKind, backup_at: datetime, lost: LostEntries, done: Exchange
    ) -> DrillReport:
        rpo_s = self._lost_at.timestamp() - parse_ms(lost.oldest_at) / _MS if lost.entries else 0.0
        return DrillReport(
            drill=drill,
            backup_at=backup_at.isoformat(timespec="seconds"),
            rpo_entries=lost.entries,
            rpo_s=round(rpo_s, 1),
            rto_s=round(done.acknowledged_s - self._lost_s, 1),
            delivered_s=round(done.delivered_s - self._lost_s, 1),
            has_read_old_message=done.has_read_old_message,
            steps=self._steps,
        )

    @property
    def _prefix(self) -> str:
        return self.loaded.settings.dynamo.table_prefix

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._steps.append(DrillStep(name=name, took_s=round(time.monotonic() - began, 1)))
        self.report(f"{name}: {self._steps[-1].took_s:g} s")
