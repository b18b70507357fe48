"""Running processes: whether they are ready, and if not, why. Found by their admin ports."""

import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tidings.app.settings import Settings
from tidings.app.settings.loader import LoadedSettings, load
from tidings.doctor import dynamo, kafka, machine, redis
from tidings.doctor.model import Check, CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError

_TIMEOUT_S = 3.0
_READY = 200


def dev_ports(data_dir: Path) -> dict[str, int]:
    """Of a `tidings dev` that runs in this directory."""
    try:
        found = json.loads((data_dir / "dev" / "client.json").read_text())
    except (OSError, ValueError):
        return {}
    ports = found.get("admin_ports", {})
    return {str(name): int(port) for name, port in ports.items()}


def check_processes(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings
    places = [f"127.0.0.1:{port}" for port in dev_ports(settings.engines.data_dir).values()]
    if settings.process.admin_port:
        places.append(f"{settings.process.admin_host}:{settings.process.admin_port}")
    places += context.admin
    if not places:
        yield skipped("processes", "none known: `tidings dev` runs some; or name one, --admin 127.0.0.1:9000")
    yield from (_check_process(place) for place in places)


def _check_process(place: str) -> Finding:
    host, _, port = place.rpartition(":")
    why = "A process that is not ready gets no traffic from a load balancer."
    try:
        connection = http.client.HTTPConnection(host, int(port), timeout=_TIMEOUT_S)
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        page = json.loads(answer.read())
        connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        todo = "Is it running? Its log says `process starting` with the admin port."
        return Finding("processes", CheckState.WRONG, f"nobody answers at {place}: {error}", why, todo)
    name = f"{page.get('process', 'process')} at {place}"
    if answer.status == _READY:
        return ok("processes", f"{name} is ready")
    problems = [str(each) for each in page.get("problems", [])]
    return Finding(
        "processes", CheckState.WRONG, f"{name} is not ready", why, "Its log says since when.", problems
    )


CHECKS: Mapping[str, Check] = {
    "python": machine.check_python,
    "settings": machine.check_settings,
    "memory": machine.check_memory,
    "open files": machine.check_open_files,
    "ports": machine.check_ports,
    "secrets": machine.check_secrets,
    "dynamo": dynamo.check_dynamo,
    "epoch": dynamo.check_epoch,
    "kafka": kafka.check_kafka,
    "redis": redis.check_redis,
    "processes": check_processes,
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
        yield machine.load_failed(error)
        yield skipped("the rest", "needs settings that can be read")
        return
    case = make_context(loaded, admin)
    for name, look in CHECKS.items():
        tell(name)
        yield from _run_check(name, look, case)


def make_context(loaded: LoadedSettings, admin: tuple[str, ...] = ()) -> DoctorContext:
    has_dev = bool(dev_ports(loaded.settings.engines.data_dir))
    return DoctorContext(loaded, SystemClock(), admin, has_dev=has_dev)


def _run_check(name: str, look: Check, context: DoctorContext) -> Iterator[Finding]:
    """A check that breaks is a finding too, and the others go on."""
    try:
        yield from look(context)
    except Exception as error:  # noqa: BLE001 - see above
        found = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(name, CheckState.WRONG, found, f"[{Code.INTERNAL}]", "Please report it.")
