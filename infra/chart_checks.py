"""Render the Helm chart with each combination of `chart/ci`, and validate every object against its schema.

Schemas of Kubernetes come from the package kubernetes-validate. Those of KEDA and the Prometheus operator are the CRDs in
their Go modules, at fixed versions. An object of any other kind is a fault.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import kubernetes_validate
import yaml

from infra.generated import INFRA

CHART: Final = INFRA / "chart"
KUBERNETES: Final = "1.33"
_OPERATOR: Final = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
_CRDS: Final = (
    ("github.com/kedacore/keda/v2@v2.21.0", "config/crd/bases/keda.sh_scaledobjects.yaml"),
    (_OPERATOR, "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"),
    (_OPERATOR, "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"),
)
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"

type Manifest = Mapping[str, Any]


def missing_tools() -> list[str]:
    """Return what this machine lacks for the checks."""
    return [name for name in ("helm", "go") if not shutil.which(name)]


def combinations() -> list[Path]:
    return sorted((CHART / "ci").glob("*-values.yaml"))


def render_chart(values: Path, *options: str) -> list[Manifest]:
    """Lint and render the chart. Raises `ChartError` with helm's output."""
    given = ["tidings", str(CHART), "--values", str(values), "--kube-version", KUBERNETES, *options]
    _helm("lint", *given[1:])
    found = yaml.safe_load_all(_helm("template", *given))
    return [manifest for manifest in found if manifest]


class ChartError(ValueError):
    """Helm refused the chart or its values."""


def _helm(*words: str) -> str:
    done = subprocess.run(["helm", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChartError(done.stderr or done.stdout)
    return done.stdout


class ManifestValidator:
    """Validate objects of Kubernetes, KEDA and the Prometheus operator."""

    def __init__(self) -> None:
        self._custom = {key: jsonschema_rs.validator_for(schema) for key, schema in _custom_schemas()}
        self._groups = {version.partition("/")[0] for version, _ in self._custom}

    def faults(self, manifest: Manifest) -> list[str]:
        """Return what is wrong with an object."""
        kind, version = str(manifest.get("kind")), str(manifest.get("apiVersion"))
        name = f"{kind} {manifest.get('metadata', {}).get('name')}"
        if version.partition("/")[0] in self._groups:
            validator = self._custom.get((version, kind))
            if validator is None:
                return [f"{name}: unknown kind {version} {kind}"]
            return [f"{name}: {error.message}" for error in validator.iter_errors(manifest)]
        try:
            kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            return [f"{name}: unknown kind {version} {kind}"]
        except kubernetes_validate.ValidationError as error:
            return [f"{name}: {error.message}"]
        return []


def _custom_schemas() -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for module, file in _CRDS:
        done = subprocess.run(
            ["go", "mod", "download", "-json", module], capture_output=True, text=True, check=True, cwd=INFRA
        )
        spec = yaml.safe_load((Path(json.loads(done.stdout)["Dir"]) / file).read_text())["spec"]
        for version in spec["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            yield (f"{spec['group']}/{version['name']}", spec["names"]["kind"]), schema


def _closed(schema: Any) -> Any:  # noqa: ANN401 - any part of a JSON Schema
    """Refuse unknown fields, as the API server does for a strict request."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _closed(value) for key, value in schema.items() if key != "format"}
    is_object = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if is_object and not schema.get(_OPEN) and "additionalProperties" not in schema:
        made["additionalProperties"] = False
    return made


def chart_faults(validator: ManifestValidator, values: Path) -> list[str]:
    """Return everything that is wrong with one combination."""
    try:
        manifests = render_chart(values)
    except ChartError as error:
        return [f"{values.name}: {error}"]
    return [f"{values.name}: {fault}" for each in manifests for fault in validator.faults(each)]
