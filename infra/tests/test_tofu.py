"""The OpenTofu modules: their format, their names, and what they protect."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra.aws.plans import PAGES, copied_modules, plan_module, write_page
from infra.aws.policies import POLICIES, SAMPLE, read_statements
from infra.aws.process_calls import OPERATOR, PROCESSES
from infra.aws.provider import known_names, modules, unknown_names, used_types
from infra.aws.tables import render_tables
from infra.aws.toolchain import Toolchain, find_toolchain
from infra.generated import INFRA
from tidings.schema.tables.declaration import TABLES
from tidings.schema.tables.model import SCALING_FACTOR, Backup

MODULE = INFRA / "tofu" / "media"
DYNAMODB = INFRA / "tofu" / "dynamodb"
TOOL = shutil.which("tofu") or shutil.which("terraform")
TOOLCHAIN = find_toolchain()
# Faults that a plan must find: place, text, its replacement, and a part of the error.
MUTANTS = [
    ("dynamodb/main.tf", "aws_kms_key.wrapping.key_id", "aws_kms_key.wraping.key_id", "undeclared resource"),
    ("dynamodb/main.tf", "deletion_window_in_days = 30", "deletion_window_in_days = []", "number required"),
    ("dynamodb/main.tf", "deletion_window_in_days = 30", "deletion_window_in_days = 31", "range (7 - 30)"),
    ("dynamodb/main.tf", "aws_kms_key.wrapping.key_id", "aws_kms_key.wrapping.key", "Unsupported attribute"),
    ("kafka/main.tf", "vpc_id      = var.vpc_id", "vpc_id = aws_msk_cluster.this.arn", "Cycle"),
    ("dynamodb/main.tf", "if contains(", "if !contains(", "all indexes must match a defined attribute"),
    ("dynamodb/main.tf", '? "NEW_AND_OLD_IMAGES"', '? "ALL"', "expected stream_view_type to be one of"),
    (
        "dynamodb/main.tf",
        "= each.value.is_protected\n  tags",
        "= false\n  tags",
        "not protected from deletion",
    ),
    (
        "dynamodb/main.tf",
        "var.is_on_demand || var.standby_region != null",
        "var.is_on_demand",
        "AWS refuses a replica",
    ),
    ("dynamodb/main.tf", "each.value.pitr_days == 35", "true", "recovery period would be 35 days"),
    ("dynamodb/scaling.tf", "local.is_on_demand ? {} :", "", "nothing to scale"),
    ("iam/main.tf", "wrapping_key = var.wrapping_key_arn", "", "wrapping_key"),
    (
        "iam/main.tf",
        "policy = local.policies[each.key]",
        'policy = local.policies["operator"]',
        "of another process",
    ),
    ("kafka/main.tf", '"TLS"', '"SSL"', "client_broker"),
    ("media/main.tf", "restrict_public_buckets = true", "restrict_public_buckets = false", "not private"),
    (
        "redis/main.tf",
        "automatic_failover_enabled = true",
        "automatic_failover_enabled = false",
        "automatic_failover",
    ),
    ("search/main.tf", '"gp3"', '"gp9"', "volume_type"),
    ("search/variables.tf", "contains([2, 3],", "contains([1, 2, 3],", "one_zone"),
]
needs_toolchain = pytest.mark.skipif(
    TOOLCHAIN is None, reason="OpenTofu or the AWS provider is not built: run `just tofu-plan`"
)


def text() -> str:
    return "\n".join(path.read_text() for path in sorted(MODULE.glob("*.tf")))


@pytest.mark.skipif(TOOL is None, reason="neither tofu nor terraform is installed")
@pytest.mark.parametrize("module", modules(), ids=lambda each: each.name)
def test_the_files_are_valid_and_formatted(module: Path) -> None:
    assert TOOL is not None
    done = subprocess.run(
        [TOOL, "fmt", "-check", "-diff", str(module)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(TOOL is None, reason="neither tofu nor terraform is installed")
def test_the_templates_of_policies_are_rendered_as_the_evaluator_reads_them(tmp_path: Path) -> None:
    assert TOOL is not None
    values = json.dumps(SAMPLE)
    names = f'fileset("{POLICIES}", "*.json")'
    expression = f'jsonencode({{ for name in {names} : name => jsondecode(templatefile("{POLICIES}/${{name}}", {values})) }})'
    done = subprocess.run(
        [TOOL, "console"], input=expression, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rendered = json.loads(json.loads(done.stdout))
    assert {Path(name).stem for name in rendered} == {*PROCESSES, OPERATOR}
    for name, policy in rendered.items():
        assert policy["Statement"] == read_statements(Path(name).stem)


def test_the_bucket_is_private_encrypted_and_has_no_versions() -> None:
    found = text()
    for line in ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"):
        assert re.search(rf"{line}\s+= true", found), line
    assert 'sse_algorithm     = "aws:kms"' in found
    assert "aws:SecureTransport" in found
    # A deleted file would remain as a version.
    assert "aws_s3_bucket_versioning" not in found


def test_no_lifecycle_rule_deletes_objects() -> None:
    assert "abort_incomplete_multipart_upload" in text()
    assert not re.search(
        r"^\s*(expiration|transition|noncurrent_version_expiration) \{", text(), re.MULTILINE
    )


@pytest.mark.parametrize("module", modules(), ids=lambda each: each.name)
def test_the_provider_knows_every_resource_and_argument(module: Path) -> None:
    assert unknown_names(module, known_names()) == []


def test_the_recorded_names_are_those_of_the_resources_in_use() -> None:
    assert set(known_names()) == used_types()


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ('resource "aws_dynamodb_table"', 'resource "aws_dynamo_table"', "unknown resource"),
        (
            "deletion_protection_enabled = each.value.is_protected\n  tags",
            "deletion_protection = true\n  tags",
            "deletion_protection",
        ),
        ("attribute_name = ttl.value", "attribute = ttl.value", "unknown argument attribute"),
        ("region_name ", "region      ", "region_name is missing"),
    ],
)
def test_a_wrong_name_is_found(before: str, after: str, fault: str, tmp_path: Path) -> None:
    text = (DYNAMODB / "main.tf").read_text()
    assert before in text
    (tmp_path / "main.tf").write_text(text.replace(before, after))
    assert any(fault in each for each in unknown_names(tmp_path, known_names()))


def rendered() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_tables())["locals"]
    return found


def test_every_declared_table_is_in_the_module() -> None:
    found = rendered()["tables"]
    assert set(found) == {table.name for table in TABLES}
    for table in TABLES:
        each = found[table.name]
        keys = {each["hash_key"], each["range_key"]} | {
            key for index in each["indexes"].values() for key in (index["hash_key"], index["range_key"])
        }
        assert set(each["attributes"]) == keys - {None}
        assert (each["read"] is None) == (table.units is None)


def test_no_backup_of_user_keys_is_older_than_a_week() -> None:
    short = [table.name for table in TABLES if table.backup is Backup.SHORT]
    assert "user_keys" in short
    for name in short:
        assert rendered()["tables"][name]["pitr_days"] == 7
        assert not rendered()["tables"][name]["has_daily_backups"]


def test_auto_scaling_covers_each_provisioned_capacity() -> None:
    targets = rendered()["scaling"].values()
    for table in TABLES:
        scaled = {(each["index"], each["kind"]) for each in targets if each["table"] == table.name}
        places = [None, *(index.name for index in table.indexes)] if table.units else []
        assert scaled == {(place, kind) for place in places for kind in ("Read", "Write")}
    assert all(each["max"] >= SCALING_FACTOR * each["min"] for each in targets)


def test_every_table_has_the_alarms_of_the_first_data_model() -> None:
    alarms = rendered()["alarms"].values()
    wanted = {
        "ConsumedReadCapacityUnits",
        "ConsumedWriteCapacityUnits",
        "ReadThrottleEvents",
        "WriteThrottleEvents",
        "SuccessfulRequestLatency",
    }
    for table in TABLES:
        found = [each for each in alarms if each["table"] == table.name]
        assert {each["metric"] for each in found} == wanted
        assert all((each["statistic"] is None) != (each["percentile"] is None) for each in found)


def test_auto_scaling_may_use_what_it_sets_without_an_alarm() -> None:
    """An alarm below the upper bound of auto scaling would fire whenever auto scaling works."""
    alarms = rendered()["alarms"]
    for target in rendered()["scaling"].values():
        if target["index"] is None:
            alarm = alarms[f"{target['table']}-Consumed{target['kind']}CapacityUnits"]
            assert alarm["threshold"] == pytest.approx(0.8 * target["max"] * alarm["period_s"])


@needs_toolchain
@pytest.mark.parametrize("module", modules(), ids=lambda each: each.name)
def test_the_plans_of_a_module_are_as_its_test_file_says(module: Path) -> None:
    with copied_modules() as folder:
        result = plan_module(toolchain(), folder / "infra" / "tofu" / module.name)
    assert result.runs, result.fault


@needs_toolchain
@pytest.mark.parametrize("page", PAGES)
def test_the_modules_that_a_page_prints_can_be_planned(page: str) -> None:
    with copied_modules() as folder:
        result = plan_module(toolchain(), write_page(folder, page))
    assert result.runs, result.fault


@pytest.mark.long
@needs_toolchain
@pytest.mark.parametrize(("place", "before", "after", "fault"), MUTANTS)
def test_a_plan_finds_a_fault(place: str, before: str, after: str, fault: str) -> None:
    with copied_modules() as folder:
        path = folder / "infra" / "tofu" / place
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        result = plan_module(toolchain(), path.parent)
    assert fault in " ".join(result.fault.split())


def toolchain() -> Toolchain:
    assert TOOLCHAIN is not None
    return TOOLCHAIN
