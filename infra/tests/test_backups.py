"""Daily backups of the OpenTofu module: which tables have them, how long they are kept, and settings that are refused."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import hcl2
import pytest

from infra.aws.tables import MODULE, render_tables
from tidings.schema.tables import model

TOOL = shutil.which("tofu") or shutil.which("terraform")
needs_tool = pytest.mark.skipif(TOOL is None, reason="neither tofu nor terraform is installed")


def defaults() -> dict[str, Any]:
    with (MODULE / "variables.tf").open() as file:
        blocks = hcl2.load(file)["variable"]
    return {
        name.strip('"'): body.get("default")
        for block in blocks
        for name, body in block.items()
        if name[0] != "_"
    }


def test_the_lifecycle_of_a_backup_is_the_one_that_prices_and_restores_count_with() -> None:
    found = defaults()
    assert found["backup_cold_after_days"] == model.DAILY_BACKUP_WARM_DAYS
    assert found["backup_days"] == model.DAILY_BACKUP_RETENTION_DAYS
    rule = re.sub(r"\s+", " ", (MODULE / "backups.tf").read_text())
    assert "cold_storage_after = var.backup_cold_after_days delete_after = var.backup_days" in rule


def test_a_backup_is_in_cold_storage_for_at_least_ninety_days() -> None:
    """AWS refuses an earlier deletion."""
    assert model.DAILY_BACKUP_RETENTION_DAYS - model.DAILY_BACKUP_WARM_DAYS >= 90


def test_the_plan_selects_the_tables_with_daily_backups_and_no_keys_of_users() -> None:
    text = (MODULE / "backups.tf").read_text()
    assert "aws_dynamodb_table.this[name].arn if table.has_daily_backups]" in text
    assert re.findall(r"resources\s+= (.*)", text) == ["local.backed_up"]
    tables = json.loads(render_tables())["locals"]["tables"]
    assert {name for name, table in tables.items() if not table["has_daily_backups"]} >= {"user_keys"}


@needs_tool
@pytest.mark.parametrize(
    ("values", "refused"),
    [
        pytest.param({}, "", id="the defaults"),
        pytest.param({"backup_cold_after_days": 7, "backup_days": 97}, "", id="a week in warm storage"),
        pytest.param({"backup_cold_after_days": None, "backup_days": 14}, "", id="no cold storage"),
        pytest.param({"backup_days": 90}, "at least 90 days", id="89 days in cold storage"),
        pytest.param({"backup_days": 400}, "less than 400", id="longer than erasures are listed"),
        pytest.param(
            {"backup_region_settings": {"opt_in": {"DynamoDB": True}, "management": {"DynamoDB": True}}},
            "",
            id="advanced features on",
        ),
        pytest.param(
            {"backup_region_settings": {"opt_in": {"DynamoDB": True}, "management": {"EFS": True}}},
            "DynamoDB = true",
            id="without advanced features",
        ),
    ],
)
def test_a_lifecycle_that_aws_refuses_is_refused_before_it_is_applied(
    values: dict[str, Any], refused: str, tmp_path: Path
) -> None:
    assert TOOL is not None
    condition = re.search(r"  lifecycle \{\n    precondition \{.*?\n    \}\n  \}", _plan(), re.DOTALL)
    assert condition
    shutil.copy(MODULE / "variables.tf", tmp_path)
    # The resource `terraform_data` is part of the program, so no provider is downloaded.
    (tmp_path / "main.tf").write_text(f'resource "terraform_data" "plan" {{\n{condition[0]}\n}}\n')
    (tmp_path / "terraform.tfvars.json").write_text(json.dumps(values))
    subprocess.run([TOOL, "init"], cwd=tmp_path, capture_output=True, check=True)
    done = subprocess.run(
        [TOOL, "plan", "-no-color"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode == 0) == (not refused), done.stderr
    assert refused in re.sub(r"[\s│]+", " ", done.stderr)


def _plan() -> str:
    """Return the block of the backup plan."""
    found = re.search(r'resource "aws_backup_plan".*?\n\}', (MODULE / "backups.tf").read_text(), re.DOTALL)
    assert found
    return found[0]
