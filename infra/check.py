"""Run all checks of this folder, and list those that cannot run on this machine."""

import shutil
from dataclasses import dataclass, field
from typing import Any

from infra import chart_checks
from infra.compose_checks import compose_faults
from infra.generated import render_all
from infra.image.build import dockerfile_faults
from infra.image.context import inputs_digest
from infra.image.record import read_record
from infra.monitoring import checks
from infra.monitoring.recorded import has_prometheus, read_recording, recorded_prometheus
from infra.monitoring.runbooks import alerts_without_runbook, read_sections
from infra.one_machine_checks import one_machine_faults


@dataclass
class CheckResult:
    """`figures` is the line of JSON. A figure that could not be determined is None, and `not_run` gives the reason."""

    figures: dict[str, Any] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)


def check_all(*, is_short: bool) -> CheckResult:
    """Check everything. `is_short` leaves out the recording, which the tests of this folder check as well."""
    result = CheckResult({"image_mb": None, "image_starts": None})
    _check_image(result)
    result.faults += [
        f"{path.name} is not as generated: run `just infra-write`"
        for path, text in render_all().items()
        if not path.exists() or path.read_text() != text
    ]
    _check_chart(result)
    _check_alerts(result)
    _check_recording(result, is_short=is_short)
    result.faults += compose_faults()
    faults, not_run = one_machine_faults()
    result.faults += faults
    result.not_run += not_run
    return result


def _check_image(result: CheckResult) -> None:
    """Report the figures of the last `just image check`, which takes minutes, and whether they are still valid."""
    record = read_record()
    if record is None:
        result.not_run.append("image: run `just image check` as root")
        return
    result.figures |= {"image_mb": record.image_mb, "image_starts": record.image_starts}
    result.not_run += [f"image: {tool} is not installed" for tool in record.not_run]
    if record.inputs != inputs_digest():
        result.not_run.append("image: it changed since it was measured; run `just image check` as root")
    if shutil.which("hadolint"):
        result.faults += dockerfile_faults()


def _check_chart(result: CheckResult) -> None:
    result.figures["chart_combinations_valid"] = None
    if lacking := chart_checks.missing_tools():
        result.not_run.append(f"chart: {', '.join(lacking)} not installed")
        return
    validator = chart_checks.ManifestValidator()
    found = {each: chart_checks.chart_faults(validator, each) for each in chart_checks.combinations()}
    result.faults += [fault for faults in found.values() for fault in faults]
    result.figures["chart_combinations_valid"] = sum(not faults for faults in found.values())


def _check_alerts(result: CheckResult) -> None:
    unknown = checks.unknown_metrics(checks.used_expressions())
    result.faults += [f"no process exports {name}" for name in unknown]
    result.figures["alerts_tested"] = None
    if not has_prometheus():
        result.not_run.append("alerts and panels: prometheus and promtool are not installed")
    elif output := checks.rule_faults_by_promtool():
        result.faults.append(output)
    else:
        result.figures["alerts_tested"] = len(checks.all_alerts())
    lacking = alerts_without_runbook(read_sections())
    result.faults += [f"{name} has no runbook" for name in lacking]
    result.figures["alerts_without_runbook"] = len(lacking)


def _check_recording(result: CheckResult, *, is_short: bool) -> None:
    recording = read_recording()
    result.figures["runbooks_exercised"] = len(checks.runbooks_exercised(recording, read_sections()))
    result.figures["panels_without_data"] = None
    if is_short:
        result.not_run.append("panels: left out of the short form")
    elif has_prometheus():
        with recorded_prometheus(recording) as prometheus:
            empty = checks.panels_without_data(prometheus)
            result.faults += [f"panel without data: {panel}" for panel in empty]
            result.faults += checks.alerts_not_raised(prometheus, recording)
        result.figures["panels_without_data"] = len(empty)
