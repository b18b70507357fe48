"""All checks, in the order in which one would look: first what the others stand on."""

from collections.abc import Callable, Iterator, Mapping

from tidings.kernel.clock import OffsetClock, SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.run.doctor import dynamo, epoch, kafka, machine, processes, redis, settings
from tidings.run.doctor.model import Case, Finding, Look, State, skipped
from tidings.run.settings import Settings
from tidings.run.settings.load import Loaded, load

CHECKS: Mapping[str, Look] = {
    "python": machine.python,
    "settings": settings.settings,
    "memory": machine.memory,
    "open files": machine.open_files,
    "ports": machine.ports,
    "secrets": machine.secrets,
    "dynamo": dynamo.dynamo,
    "epoch": epoch.epoch,
    "kafka": kafka.kafka,
    "redis": redis.redis,
    "processes": processes.processes,
}
_DEFAULTS = Loaded(Settings(), {})


def examine(admin: tuple[str, ...] = (), tell: Callable[[str], None] = lambda _: None) -> Iterator[Finding]:
    """`tell` hears what is looked at next."""
    try:
        loaded = load()
    except TidingsError as error:
        yield from machine.python(Case(_DEFAULTS))
        yield settings.faulty(error)
        yield skipped("the rest", "needs settings that can be read")
        return
    case = case_of(loaded, admin)
    for name, look in CHECKS.items():
        tell(name)
        yield from _looked(name, look, case)


def case_of(loaded: Loaded, admin: tuple[str, ...] = ()) -> Case:
    offset_s = loaded.settings.testing.clock_offset_s
    clock = OffsetClock(offset_s) if offset_s else SystemClock()
    has_dev = bool(processes.dev_ports(loaded.settings.engines.data_dir))
    return Case(loaded, clock, admin, has_dev=has_dev)


def _looked(name: str, look: Look, case: Case) -> Iterator[Finding]:
    """A check that breaks is a finding too, and the others go on."""
    try:
        yield from look(case)
    except Exception as error:  # noqa: BLE001 - see above
        found = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(name, State.WRONG, found, f"[{Code.INTERNAL}]", "Please report it.")
