"""The chart and the files for one machine: each combination is valid, and mistakes in them are found."""

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from infra import chart_checks, one_machine_checks
from infra.one_machine_checks import FILES
from tidings.app.processes.command import group
from tidings.app.settings.loader import load

needs_chart_tools = pytest.mark.skipif(
    bool(chart_checks.missing_tools()), reason="helm or go is not installed"
)


@pytest.fixture(scope="module")
def validator() -> chart_checks.ManifestValidator:
    return chart_checks.ManifestValidator()


@pytest.fixture(scope="module")
def rendered() -> list[chart_checks.Manifest]:
    return chart_checks.render_chart(FILES.parent / "chart/ci/keda-monitoring-values.yaml")


@pytest.mark.parametrize("values", chart_checks.combinations(), ids=lambda path: str(path.stem))
def test_the_schema_of_values_accepts_every_combination(values: Path) -> None:
    """Needs no Helm, which refuses the whole chart if the schema lacks one of its values."""
    schema = jsonschema_rs.validator_for(json.loads((chart_checks.CHART / "values.schema.json").read_text()))
    merged = _merged(_defaults(), yaml.safe_load(values.read_text()))
    assert [error.message for error in schema.iter_errors(merged)] == []


def test_the_chart_has_each_process() -> None:
    assert _defaults()["processes"].keys() == group.commands.keys()


def _defaults() -> dict[str, Any]:
    return dict(yaml.safe_load((chart_checks.CHART / "values.yaml").read_text()))


def _merged(defaults: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Merge values as Helm does: maps by key, anything else is replaced."""
    both = {
        name: _merged(defaults[name], value)
        if isinstance(value, dict) and isinstance(defaults.get(name), dict)
        else value
        for name, value in given.items()
    }
    return defaults | both


@needs_chart_tools
@pytest.mark.parametrize("values", chart_checks.combinations(), ids=lambda path: str(path.stem))
def test_every_combination_is_valid(validator: chart_checks.ManifestValidator, values: Path) -> None:
    assert chart_checks.chart_faults(validator, values) == []


@needs_chart_tools
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param("processes.api.autoscaling.kind=vpa", id="an unknown kind of autoscaling"),
        pytest.param("processes.pusher.replicas=1", id="an unknown process"),
        pytest.param("replicaCount=3", id="an unknown value"),
        pytest.param("stopSeconds=often", id="a text instead of a number"),
        pytest.param("ingress.enabled=true", id="an ingress without a host"),
        pytest.param("processes.console.autoscaling.kind=hpa", id="a console that is scaled"),
        pytest.param("processes.api.autoscaling.kind=keda", id="KEDA without Prometheus"),
    ],
)
def test_wrong_values_are_refused(wrong: str) -> None:
    with pytest.raises(chart_checks.ChartError):
        chart_checks.render_chart(FILES.parent / "chart/ci/plain-values.yaml", "--set", wrong)


@needs_chart_tools
@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", ("spec", "replica"), 2),
        ("Deployment", ("kind",), "Deploymint"),
        ("ScaledObject", ("spec", "trigger"), []),
        ("ScaledObject", ("kind",), "ScaledObjekt"),
        ("ServiceMonitor", ("spec", "endpoints"), "admin"),
        ("PrometheusRule", ("spec", "group"), []),
        ("NetworkPolicy", ("apiVersion",), "networking.k8s.io/v9"),
    ],
)
def test_an_object_with_a_mistake_is_found(
    validator: chart_checks.ManifestValidator,
    rendered: list[chart_checks.Manifest],
    kind: str,
    path: tuple[str, ...],
    value: object,
) -> None:
    manifest = deepcopy(next(dict(each) for each in rendered if each["kind"] == kind))
    assert validator.faults(manifest) == []
    place = manifest
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    assert validator.faults(manifest) != []


@needs_chart_tools
def test_kubernetes_waits_longer_than_the_process_needs_to_stop() -> None:
    rendered = chart_checks.render_chart(FILES.parent / "chart/ci/least-values.yaml")
    pods = [each["spec"]["template"]["spec"] for each in rendered if each["kind"] == "Deployment"]
    assert len(pods) == len(group.commands)
    for pod in pods:
        env = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
        settings = {name: value for name, value in env.items() if name.startswith("TIDINGS_PROCESS_")}
        stop_s = load({"TIDINGS_INSTALLATION": "development", **settings}).settings.process.stop_s
        assert stop_s == 90
        assert pod["terminationGracePeriodSeconds"] == stop_s + 5


def test_the_files_for_one_machine_are_valid() -> None:
    assert one_machine_checks.one_machine_faults()[0] == []


@pytest.mark.parametrize(
    ("tool", "file", "right", "wrong"),
    [
        ("systemd-analyze", "tidings@.service", "ExecStart=", "ExecStrat="),
        ("caddy", "Caddyfile", "reverse_proxy", "reverse_poxy"),
        ("nginx", "nginx.conf", "proxy_pass", "proxy_path"),
        ("python3", "tidings.toml", "data_dir", "data_directory"),
    ],
)
def test_a_mistake_in_a_file_for_one_machine_is_found(
    tmp_path: Path, tool: str, file: str, right: str, wrong: str
) -> None:
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    (tmp_path / file).write_text((FILES / file).read_text().replace(right, wrong))
    faults, _ = one_machine_checks.one_machine_faults(tmp_path)
    assert len(faults) == 1
