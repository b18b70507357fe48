"""Apply a plan: make the tables or topics of an installation as declared."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from tidings.kernel.errors import TidingsError
from tidings.schema.plan import Change, ChangeKind, ResourceKind, ResourcePlan, SchemaPlan

_FIRST_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """A step of `apply`. The last one of each resource is `done`."""

    name: str
    action: str


@dataclass(frozen=True, slots=True)
class PollPolicy:
    """`timeout_s` limits the wait for a resource to become ready, `effect_s` that for an accepted change to show."""

    timeout_s: float
    effect_s: float
    longest_pause_s: float
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def attempts(self, for_s: float) -> Iterator[None]:
        """Yield at least once, then until `for_s` has passed, with growing pauses."""
        deadline = self.now() + for_s
        pause_s = _FIRST_PAUSE_S
        yield
        while self.now() < deadline:
            self.pause(pause_s)
            pause_s = min(pause_s * 1.5, self.longest_pause_s)
            yield


class ControlPlane[D, S, A: StrEnum](Protocol):
    """The tables or topics of one installation. Requests return before they take effect."""

    prefix: str

    def describe(self, name: str, /) -> S | None:
        """Return the resource, or None. The answer can be seconds old."""

    def create(self, declared: D, /) -> None:
        """Request a resource. One that exists by now is no error."""

    def change(self, declared: D, seen: S, change: Change[A], /) -> bool:
        """Request one step of a change. False: the engine is busy, request it again."""


@dataclass(frozen=True, slots=True)
class Reconciler[D, S, A: StrEnum]:
    """Makes resources as declared, one change at a time, and waits until each one shows.

    `replan` compares one resource again. `not_ready` says what a resource waits for; empty if it is ready.
    """

    plane: ControlPlane[D, S, A]
    replan: Callable[[D, S], ResourcePlan[D, S, A]]
    not_ready: Callable[[S | None], str]
    on_progress: Callable[[ProgressEvent], None]
    poll_policy: PollPolicy

    def apply(self, plan: SchemaPlan[D, S, A]) -> None:
        """Apply the whole plan. Safe to repeat; changes nothing if a change of the plan is refused.

        All missing resources are requested first, so that they are created at the same time.
        """
        plan.check_nothing_is_lost()
        missing = list(plan.having(ChangeKind.CREATE))
        for name, declared in missing:
            self.on_progress(ProgressEvent(name, "creating"))
            self.plane.create(declared)
        for name, declared in [*plan.having(ChangeKind.CHANGE), *missing]:
            _ResourceRun(self, plan.kind, name, declared).reconcile()


@dataclass(frozen=True, slots=True)
class _ResourceRun[D, S, A: StrEnum]:
    reconciler: Reconciler[D, S, A]
    kind: ResourceKind
    name: str
    declared: D

    def reconcile(self) -> None:
        seen = self._wait_until_ready()
        while change := next(iter(self._differences(seen)), None):
            self._report(f"{change.subject}: {change.before} → {change.after}")
            self._request(seen, change)
            seen = self._wait_until_changed(change)
        self._report("done")

    def _differences(self, seen: S) -> tuple[Change[A], ...]:
        """Compare again. A resource that another process created meanwhile can have refused differences."""
        rest = self.reconciler.replan(self.declared, seen)
        SchemaPlan(self.kind, (rest,)).check_nothing_is_lost()
        return rest.changes

    def _request(self, seen: S, change: Change[A]) -> None:
        for _ in self._attempts(self.reconciler.poll_policy.timeout_s):
            if self._is_accepted(seen, change):
                return
            self._report(f"waiting until {change.subject} can be changed")
        raise self._timeout(f"{change.subject} could not be changed")

    def _is_accepted(self, seen: S, change: Change[A]) -> bool:
        try:
            return self.reconciler.plane.change(self.declared, seen, change)
        except TidingsError:
            # Race: another `apply` makes the same change, and the engine rejects the second request. Compare again.
            if change in self._differences(self._wait_until_ready()):
                raise
            return True

    def _wait_until_changed(self, change: Change[A]) -> S:
        """Wait until the change shows: an answer of the engine can be older than the change."""
        for _ in self._attempts(self.reconciler.poll_policy.effect_s):
            seen = self._wait_until_ready()
            if change not in self._differences(seen):
                return seen
        raise TidingsError(
            self.kind.failed,
            f"{self.name}: {change.subject} was set to {change.after} and is still {change.before}",
            hint=f"The engine accepted the change without effect. Check that it supports it. {self.kind.failed_hint}",
        )

    def _wait_until_ready(self) -> S:
        waiting = ""
        for _ in self._attempts(self.reconciler.poll_policy.timeout_s):
            seen = self.reconciler.plane.describe(self.name)
            waiting = self.reconciler.not_ready(seen)
            if seen is not None and not waiting:
                return seen
            self._report(f"waiting: {waiting}")
        raise self._timeout(waiting)

    def _attempts(self, for_s: float) -> Iterator[None]:
        return self.reconciler.poll_policy.attempts(for_s)

    def _timeout(self, what: str) -> TidingsError:
        waited_s = self.reconciler.poll_policy.timeout_s
        return TidingsError(
            self.kind.failed, f"{self.name}: {what} after {waited_s:.0f} s", hint=self.kind.failed_hint
        )

    def _report(self, action: str) -> None:
        self.reconciler.on_progress(ProgressEvent(self.name, action))
