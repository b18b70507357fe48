"""All checks, in the order in which one would look: first what the others stand on."""

from collections.abc import Callable, Iterator, Mapping

from tidings.kernel.clock import OffsetClock, SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.run.doctor import dynamo, epoch, kafka, machine, processes, redis, settings
from tidings.run.doctor.model import Check, CheckState, DoctorContext, Finding, skipped
from tidings.run.settings import Settings
from tidings.run.settings.load import LoadedSettings, load

CHECKS: Mapping[str, Check] = {
    "python": machine.check_python,
    "settings": settings.check_settings,
    "memory": machine.check_memory,
    "open files": machine.check_open_files,
    "ports": machine.check_ports,
    "secrets": machine.check_secrets,
    "dynamo": dynamo.check_dynamo,
    "epoch": epoch.check_epoch,
    "kafka": kafka.check_kafka,
    "redis": redis.check_redis,
    "processes": processes.check_processes,
}
_DEFAULTS = LoadedSettings(Settings(), {})


def run_checks(
    admin: tuple[str, ...] = (), tell: Callable[[str], None] = lambda _: None
) -> Iterator[Finding]:
    """`tell` hears what is looked at next."""
    try:
        loaded = load()
    except TidingsError as error:
        yield from machine.check_python(DoctorContext(_DEFAULTS))
        yield settings.load_failed(error)
        yield skipped("the rest", "needs settings that can be read")
        return
    case = make_context(loaded, admin)
    for name, look in CHECKS.items():
        tell(name)
        yield from _run_check(name, look, case)


def make_context(loaded: LoadedSettings, admin: tuple[str, ...] = ()) -> DoctorContext:
    offset_s = loaded.settings.testing.clock_offset_s
    clock = OffsetClock(offset_s) if offset_s else SystemClock()
    has_dev = bool(processes.dev_ports(loaded.settings.engines.data_dir))
    return DoctorContext(loaded, clock, admin, has_dev=has_dev)


def _run_check(name: str, look: Check, context: DoctorContext) -> Iterator[Finding]:
    """A check that breaks is a finding too, and the others go on."""
    try:
        yield from look(context)
    except Exception as error:  # noqa: BLE001 - see above
        found = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(name, CheckState.WRONG, found, f"[{Code.INTERNAL}]", "Please report it.")
