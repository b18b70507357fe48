"""Failpoints, a wrong clock and mutants, loaded by a process under test with `TIDINGS_FAILPOINTS=failpoints`.

Environment variables select them:

- `TIDINGS_FAILPOINTS_PAUSE_AT`: steps at which the process can be paused, separated by commas; `*` is every step.
- `TIDINGS_FAILPOINTS_PAUSE_DIR`: directory of the files that pause it, see `file_failpoints`.
- `TIDINGS_FAILPOINTS_CLOCK_OFFSET_S`: offset of the wall clock of the process; its monotonic clock is correct.
- `TIDINGS_FAILPOINTS_MUTANT`: the promise that the process breaks, see `chat_mutants`, `erasure_mutants`,
  `inbox_mutants`, `media_mutants` and `upgrade_mutants`.
- `TIDINGS_FAILPOINTS_SMALL_FILES`: files above 5 MB are uploaded in parts, and only images are decoded in a process of their
  own, see `small_files`.
- `TIDINGS_FAILPOINTS_SHORT_STEPS`: exports, retention sweeps and deletions of tenants have short steps, see `short_steps`.
- `TIDINGS_FAILPOINTS_RECORD_CALLS`: directory in which the process records its calls to AWS's services, see `recorded_calls`.
"""

import os
from functools import partial
from pathlib import Path
from typing import Final

from failpoints.chat_mutants import MUTANTS
from failpoints.clock import OffsetClock
from failpoints.erasure_mutants import ERASURE_MUTANTS
from failpoints.file_failpoints import FileFailpoints
from failpoints.inbox_mutants import NOTIFICATION_MUTANTS
from failpoints.media_mutants import MEDIA_MUTANTS
from failpoints.recorded_calls import record_calls
from failpoints.short_steps import use_short_steps
from failpoints.small_files import use_small_files
from failpoints.upgrade_mutants import UPGRADE_MUTANTS
from tidings.app.wiring import options
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints

LOADED: Final = {"TIDINGS_FAILPOINTS": "failpoints", "PYTHONPATH": str(Path(__file__).parents[1])}
"""The environment of a process that loads this package."""


def install() -> Failpoints:
    """Change the process as the environment says, before any part of it is built.

    Raise `ValueError` for an invalid value.
    """
    if offset_s := float(_given("CLOCK_OFFSET_S") or 0):
        options.SystemClock = partial(OffsetClock, offset_s)  # type: ignore[attr-defined,assignment]
    if _given("SMALL_FILES"):
        use_small_files()
    if _given("SHORT_STEPS"):
        use_short_steps()
    if folder := _given("RECORD_CALLS"):
        record_calls(Path(folder))
    if mutant := _given("MUTANT"):
        activate_mutant(mutant)
    steps = [step.strip() for step in _given("PAUSE_AT").split(",") if step.strip()]
    return FileFailpoints(Path(_given("PAUSE_DIR")), steps) if steps else NO_FAILPOINTS


def activate_mutant(name: str) -> None:
    mutants = MUTANTS | NOTIFICATION_MUTANTS | MEDIA_MUTANTS | ERASURE_MUTANTS | UPGRADE_MUTANTS
    if name not in mutants:
        raise ValueError(f"unknown mutant {name!r}; choose one of {', '.join(mutants)}")
    mutants[name]()


def _given(name: str) -> str:
    return os.environ.get(f"TIDINGS_FAILPOINTS_{name}", "")
