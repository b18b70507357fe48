"""The recorded fault run: every panel has data, each fault raises its alerts, and the checks notice when they do not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from infra.generated import ROOT
from infra.monitoring import checks
from infra.monitoring.dashboards import OVERVIEW
from infra.monitoring.model import Query
from infra.monitoring.recorded import (
    RECORDING,
    RecordedPrometheus,
    has_prometheus,
    read_recording,
    recorded_prometheus,
)
from infra.monitoring.rules import RUNBOOKS
from infra.monitoring.runbooks import read_sections

MAX_BYTES = 400_000
recording = read_recording()
sections = read_sections()


@pytest.fixture(scope="module")
def prometheus() -> Iterator[RecordedPrometheus]:
    if not has_prometheus():
        pytest.skip("Prometheus is not installed")
    with recorded_prometheus(recording) as served:
        yield served


def test_the_recording_is_small() -> None:
    assert RECORDING.stat().st_size < MAX_BYTES


def test_the_page_names_the_runbooks_that_were_exercised() -> None:
    text = (ROOT / RUNBOOKS).read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("Exercised: ")]
    named = [name.strip("` .") for name in line.removeprefix("Exercised: ").split(",")]
    assert named == checks.runbooks_exercised(recording, sections)


def test_a_runbook_whose_commands_changed_is_not_exercised() -> None:
    name = checks.runbooks_exercised(recording, sections)[0]
    changed = dict(sections, **{name: sections[name].replace("```sh\n", "```sh\ntidings tables plan\n")})
    assert name not in checks.runbooks_exercised(recording, changed)


def test_every_panel_has_data(prometheus: RecordedPrometheus) -> None:
    assert checks.panels_without_data(prometheus) == []


def test_a_panel_without_data_is_found(prometheus: RecordedPrometheus) -> None:
    query = Query('sum(rate(tidings_socket_closes_total{code="unheard"}[5m])) or vector(0)')
    panel = replace(OVERVIEW.panels[0], title="Empty", queries=[OVERVIEW.panels[0].queries[0], query])
    (found,) = checks.panels_without_data(prometheus, [replace(OVERVIEW, panels=[panel])])
    assert found.startswith("overview: Empty")


def test_each_fault_raises_its_alerts(prometheus: RecordedPrometheus) -> None:
    assert checks.alerts_not_raised(prometheus, recording) == []


def test_an_alert_that_a_fault_does_not_raise_or_that_is_always_raised_is_found(
    prometheus: RecordedPrometheus,
) -> None:
    alert = next(each for each in checks.all_alerts() if each.name == "TidingsKafkaNotAcknowledging")
    deaf = replace(alert, expr=alert.expr.replace('"failed"', '"refused"'))
    shrill = replace(alert, expr=alert.expr.replace('outcome="failed"', 'outcome!="failed"'))
    assert checks.alerts_not_raised(prometheus, recording, [deaf]) == [
        "TidingsKafkaNotAcknowledging: not raised by Kafka frozen"
    ]
    assert "TidingsKafkaNotAcknowledging: raised before the first fault" in checks.alerts_not_raised(
        prometheus, recording, [shrill]
    )
