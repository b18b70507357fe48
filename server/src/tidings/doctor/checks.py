"""Run all checks, and check the processes through their admin ports."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tidings.app.settings import Settings
from tidings.app.settings.loader import LoadedSettings, load
from tidings.doctor import dynamo, kafka, machine, mail, media, production, redis, search, webhooks
from tidings.doctor.model import Check, CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.platform.lifecycle.admin import fetch_admin_page

_READY = 200


def dev_ports(data_dir: Path) -> dict[str, int]:
    """Return the admin ports of a `tidings dev` that runs in this directory."""
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
    versions: dict[str, str] = {}
    for place in dict.fromkeys(places):
        yield _check_process(place, versions)
    if len(set(versions.values())) > 1:
        yield Finding(
            "versions",
            CheckState.WARNING,
            "processes run different versions of Tidings",
            "That is right during an upgrade only: versions further apart than one are not tested together.",
            "Finish the upgrade: docs/howto/upgrade.md.",
            [f"{place}: {version}" for place, version in versions.items()],
        )


def _check_process(place: str, versions: dict[str, str]) -> Finding:
    """Check one process, and add its version to `versions`."""
    why = "A process that is not ready gets no traffic from a load balancer."
    try:
        answer = fetch_admin_page(place, "/readyz")
        page = json.loads(answer.body)
    except (UnavailableError, ValueError) as error:
        todo = "Is it running? Its log says `process starting` with the admin port."
        return Finding("processes", CheckState.WRONG, f"no answer at {place}: {error}", why, todo)
    name = f"{page.get('process', 'process')} at {place}"
    versions[place] = str(page.get("version", "unknown"))
    if answer.status == _READY:
        return ok("processes", f"{name} is ready")
    problems = [str(each) for each in page.get("problems", [])]
    return Finding(
        "processes",
        CheckState.WRONG,
        f"{name} is not ready",
        why,
        "Its log has the time and the cause.",
        problems,
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
    "webhooks": webhooks.check_webhooks,
    "search": search.check_search,
    "mail": mail.check_mail,
    "media": media.check_media,
    "certificates": production.check_certificates,
    "alerts": production.check_alerts,
    "backups": production.check_backups,
}
_DEFAULTS = LoadedSettings(Settings(), {})


def run_checks(
    admin: tuple[str, ...] = (),
    report: Callable[[str], None] = lambda _: None,
    *,
    tls: tuple[str, ...] = (),
    prometheus: str | None = None,
) -> Iterator[Finding]:
    """Run the checks. `report` receives the name of each check before it runs."""
    try:
        loaded = load()
    except TidingsError as error:
        yield from machine.check_python(DoctorContext(_DEFAULTS))
        yield machine.load_failed(error)
        yield skipped("the rest", "needs settings that can be read")
        return
    context = replace(make_context(loaded, admin), tls=tls, prometheus=prometheus)
    for name, check in CHECKS.items():
        report(name)
        yield from _run_check(name, check, context)


def make_context(loaded: LoadedSettings, admin: tuple[str, ...] = ()) -> DoctorContext:
    has_dev = bool(dev_ports(loaded.settings.engines.data_dir))
    return DoctorContext(loaded, SystemClock(), admin, has_dev=has_dev)


def _run_check(name: str, check: Check, context: DoctorContext) -> Iterator[Finding]:
    """Run one check. An error of the check is a finding, and the other checks continue."""
    try:
        yield from check(context)
    except Exception as error:  # noqa: BLE001 - any error is reported
        found = f"the check itself failed: {type(error).__name__}: {error}"
        yield Finding(name, CheckState.WRONG, found, f"[{Code.INTERNAL}]", "Please report it.")
