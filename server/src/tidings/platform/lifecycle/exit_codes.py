"""How a process of Tidings ends. `docs/reference/exit_codes.md` says what an operator does about each."""

from enum import IntEnum


class ExitCode(IntEnum):
    """70 and 75 are the system's EX_SOFTWARE and EX_TEMPFAIL."""

    CLEAN = 0
    START_FAILED = 1
    SETTINGS_INVALID = 2
    CRASHED = 70
    LATE = 75
