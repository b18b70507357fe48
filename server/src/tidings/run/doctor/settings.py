"""The settings, as every process judges them before it opens anything."""

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tidings.kernel.errors import TidingsError
from tidings.run.cli.run import group
from tidings.run.doctor.model import CheckState, DoctorContext, Finding, ok

if TYPE_CHECKING:
    from tidings.run.options import OptionsBuilder

WHY = "No process starts with settings that it can't use."
_MISSING = ": is missing;"
"""Of an engine: that is looked at by itself, in more words."""
TODO = "`tidings config show` says what is set and where, `tidings config doc` what can be."


def load_failed(error: TidingsError) -> Finding:
    """They can't even be read."""
    faults = error.details.get("faults")
    details = [str(fault) for fault in faults] if isinstance(faults, list) else [error.message]
    return Finding("settings", CheckState.WRONG, "have faults", WHY, TODO, details)


def check_settings(context: DoctorContext) -> Iterator[Finding]:
    from tidings.run.options import validate_settings  # noqa: PLC0415 - slow to import

    builds = dict.fromkeys(build for name in sorted(group.commands) for build in _builds(name))
    try:
        validate_settings(context.loaded.settings, [*builds])
    except TidingsError as error:
        found = load_failed(error)
        if details := [fault for fault in found.details if _MISSING not in fault]:
            yield replace(found, details=details)
            return
    yield ok("settings", f"{len(context.loaded.sources)} given, the rest are defaults")


def _builds(kind: str) -> tuple["OptionsBuilder", ...]:
    """What a process of this kind tries before it starts."""
    tried: tuple[OptionsBuilder, ...] = getattr(importlib.import_module(f"tidings.run.{kind}"), "BUILDS", ())
    return tried
