"""Running processes: whether they are ready, and if not, why. Found by their admin ports."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

from tidings.run.doctor.model import CheckState, DoctorContext, Finding, ok, skipped

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
