"""Dashboards, alerts and runbooks: generated files are up to date, and each mistake in them is found."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from infra.generated import ROOT, render_all
from infra.monitoring import checks
from infra.monitoring.alerts import ALERTS
from infra.monitoring.dashboards import OVERVIEW
from infra.monitoring.model import Query
from infra.monitoring.rules import RULES_FILE, TESTS_FILE, render_rule_tests, render_rules
from infra.monitoring.runbooks import alerts_without_runbook, read_sections
from tidings.doctor.production import ALERT_GROUPS

needs_promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed")


@pytest.mark.parametrize("path", render_all(), ids=lambda path: str(path.relative_to(ROOT)))
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text() == render_all()[path], "run `just infra-write`"


def test_every_metric_of_a_panel_or_alert_is_exported() -> None:
    assert checks.unknown_metrics(checks.used_expressions()) == []


def test_a_metric_that_no_process_exports_is_found() -> None:
    panel = replace(OVERVIEW.panels[0], queries=[Query("sum(rate(tidings_sends_total[5m]))")])
    dashboard = replace(OVERVIEW, panels=[panel])
    alert = replace(checks.all_alerts()[0], expr="tidings_redis_down == 1")
    used = checks.used_expressions([dashboard], [alert])
    assert checks.unknown_metrics(used) == ["tidings_redis_down", "tidings_sends_total"]


def test_the_series_of_a_histogram_are_known() -> None:
    assert checks.unknown_metrics(["rate(tidings_delivery_seconds_bucket[5m])"]) == []
    assert checks.unknown_metrics(["tidings_delivery_lag_records_bucket"]) == [
        "tidings_delivery_lag_records_bucket"
    ]


def test_every_alert_has_a_runbook_with_commands() -> None:
    assert alerts_without_runbook(read_sections()) == []


def test_an_alert_without_a_runbook_or_without_commands_is_found() -> None:
    text = (ROOT / "docs/howto/act-on-alerts.md").read_text()
    renamed = read_sections(text.replace("## TidingsApiErrors", "## Errors of the API"))
    assert alerts_without_runbook(renamed) == ["TidingsApiErrors"]
    emptied = dict(read_sections(text), TidingsSendSlow="Wait.")
    assert alerts_without_runbook(emptied) == ["TidingsSendSlow"]


def test_every_runbook_belongs_to_an_alert() -> None:
    names = {alert.name for alert in checks.all_alerts()}
    assert {name for name in read_sections() if name.startswith("Tidings")} == names


def test_every_alert_is_tested_firing_and_quiet() -> None:
    for alert in checks.all_alerts():
        outcomes = {case.labels is None for case in alert.cases}
        assert outcomes == {True, False}, alert.name


def test_the_doctor_expects_the_groups_of_alerts() -> None:
    assert set(ALERT_GROUPS) == set(ALERTS)


@needs_promtool
def test_promtool_accepts_the_rules_and_their_tests() -> None:
    assert checks.rule_faults_by_promtool() == ""


@needs_promtool
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("> 60", "> 6000", id="a threshold that is never reached"),
        pytest.param("max(tidings_relay_unhandled", "max(tidings_relay_unhandeld", id="a misspelt metric"),
        pytest.param("> 60", "> 1", id="an alert that fires too early"),
        pytest.param("max(tidings_relay_unhandled_seconds)", "max(", id="a syntax error"),
    ],
)
def test_promtool_finds_a_wrong_rule(tmp_path: Path, right: str, wrong: str) -> None:
    assert right in render_rules()
    (tmp_path / RULES_FILE).write_text(render_rules().replace(right, wrong))
    (tmp_path / TESTS_FILE).write_text(render_rule_tests())
    assert checks.rule_faults_by_promtool(tmp_path) != ""
