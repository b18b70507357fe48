"""The policies of processes: what they allow, what they deny, and that the check finds a wrong one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from failpoints.recorded_calls import dynamo_calls, s3_call

from infra.aws.evaluator import Decision, Request, evaluate
from infra.aws.iam_checks import check_iam, read_recorded
from infra.aws.policies import SAMPLE, read_statements, sample_arn
from infra.aws.process_calls import OPERATOR, PROCESSES, read_calls
from infra.generated import ROOT
from tidings.schema.tables.patterns import REGISTRY

MAX_CHARS = 10_240
"""The policies inside a role, without white space."""


def is_allowed(process: str, action: str, arn: str, **context: str) -> bool:
    given = {name.replace("_", ":"): value for name, value in context.items()}
    return evaluate(read_statements(process), Request(action, arn, given)) is Decision.ALLOWED


def test_policies_allow_what_is_needed_and_recorded_and_nothing_else() -> None:
    report = check_iam()
    assert report.extra == ()
    assert report.missing == ()


def test_every_process_and_every_pattern_is_covered() -> None:
    calls = read_calls()
    assert set(calls) == {*PROCESSES, OPERATOR}
    unused = set((ROOT / "server/tests/architecture/not_yet_used.txt").read_text().split())
    assert {name for each in calls.values() for name in each.patterns} == set(REGISTRY) - unused


def test_the_recording_has_all_processes_of_an_installation() -> None:
    assert set(read_recorded()) >= set(PROCESSES) - {"archive", "console"}


def test_a_policy_fits_into_a_role() -> None:
    for process in read_calls():
        text = json.dumps(read_statements(process), separators=(",", ":"))
        assert len(text) < MAX_CHARS, process


def remove_an_action(found: list[dict[str, Any]]) -> None:
    next(each for each in found if "dynamodb:UpdateItem" in each["Action"])["Action"].remove(
        "dynamodb:UpdateItem"
    )


def deny_a_table(found: list[dict[str, Any]]) -> None:
    found.append({"Effect": "Deny", "Action": "*", "Resource": sample_arn("table/messages")})


@pytest.mark.parametrize("change", [remove_an_action, deny_a_table])
def test_a_right_that_is_missing_is_found(change: Callable[[list[dict[str, Any]]], None]) -> None:
    policy = read_statements("delivery")
    change(policy)
    report = check_iam({"delivery": policy})
    assert report.missing
    assert not report.extra


@pytest.mark.parametrize(
    ("process", "action", "resource"),
    [
        ("webhooks", "dynamodb:*", sample_arn("table/webhooks")),
        ("relay", "dynamodb:Query", sample_arn("table/messages").replace("messages", "*")),
        ("delivery", "dynamodb:Scan", sample_arn("table/messages")),
        ("gateway", "dynamodb:GetItem", "arn:aws:dynamodb:*:*:table/tidings-*"),
        ("gateway", "kms:Decrypt", "*"),
        ("media", "s3:DeleteObject", "arn:aws:s3:::tidings-*"),
    ],
)
def test_a_right_that_is_not_needed_is_found(process: str, action: str, resource: str) -> None:
    policy = [*read_statements(process), {"Effect": "Allow", "Action": action, "Resource": resource}]
    report = check_iam({process: policy})
    assert report.extra
    assert not report.missing


def test_a_denial_that_is_left_out_is_found() -> None:
    policy = [each for each in read_statements("media") if each["Effect"] == "Allow"]
    assert any("on object/exports" in each for each in check_iam({"media": policy}).extra)


def test_a_recorded_call_without_a_right_is_found() -> None:
    recorded = {"webhooks": {("dynamodb:PutItem", "table/messages")}}
    policy = {"webhooks": read_statements("webhooks")}
    assert check_iam(policy, recorded).missing == ("webhooks: dynamodb:PutItem on table/messages",)


def test_only_the_relay_reads_the_change_stream() -> None:
    for process in PROCESSES:
        allowed = is_allowed(process, "dynamodb:GetRecords", sample_arn("stream/messages"))
        assert allowed is (process == "relay")


def test_no_process_scans_or_changes_tables() -> None:
    for process in PROCESSES:
        for action in ("Scan", "DeleteTable", "UpdateTable", "CreateTable", "PartiQLSelect"):
            assert not is_allowed(process, f"dynamodb:{action}", sample_arn("table/users"))
    assert is_allowed(OPERATOR, "dynamodb:UpdateTable", sample_arn("table/users"))
    assert not is_allowed(OPERATOR, "dynamodb:DeleteTable", sample_arn("table/users"))


def test_the_key_of_the_bucket_is_used_through_s3_only() -> None:
    via = f"s3.{SAMPLE['region']}.amazonaws.com"
    assert is_allowed("media", "kms:Decrypt", SAMPLE["media_key"], kms_ViaService=via)
    assert not is_allowed("media", "kms:Decrypt", SAMPLE["media_key"])


def test_a_transaction_is_recorded_by_its_parts_and_a_batch_by_its_tables() -> None:
    body = {"TransactItems": [{"Put": {"TableName": "t-a"}}, {"ConditionCheck": {"TableName": "t-b"}}]}
    assert list(dynamo_calls("TransactWriteItems", body, "t-")) == [
        ("dynamodb:PutItem", "table/a"),
        ("dynamodb:ConditionCheckItem", "table/b"),
    ]
    assert list(dynamo_calls("BatchGetItem", {"RequestItems": {"t-a": {}, "t-b": {}}}, "t-")) == [
        ("dynamodb:BatchGetItem", "table/a"),
        ("dynamodb:BatchGetItem", "table/b"),
    ]
    query = {"TableName": "t-a", "IndexName": "by-user"}
    assert list(dynamo_calls("Query", query, "t-")) == [("dynamodb:Query", "table/a/index/by-user")]


@pytest.mark.parametrize(
    ("method", "key", "query", "expected"),
    [
        ("GET", "acme/07/u/file", {}, ("s3:GetObject", "object/uploads")),
        ("GET", "acme/exports/anna/e/archive.zip", {}, ("s3:GetObject", "object/exports")),
        ("GET", "acme/archive/month=2026-10/p.parquet", {}, ("s3:GetObject", "object/archive")),
        ("GET", "acme/07/u/file", {"uploadId": "1"}, ("s3:ListMultipartUploadParts", "object/uploads")),
        ("DELETE", "acme/07/u/file", {"uploadId": "1"}, ("s3:AbortMultipartUpload", "object/uploads")),
        ("GET", "", {"list-type": "2"}, ("s3:ListBucket", "bucket")),
        ("GET", "", {"uploads": ""}, ("s3:ListBucketMultipartUploads", "bucket")),
        ("HEAD", "", {}, ("s3:ListBucket", "bucket")),
    ],
)
def test_a_request_to_s3_is_recorded_as_its_action(
    method: str, key: str, query: dict[str, str], expected: tuple[str, str]
) -> None:
    assert s3_call(method, key, query) == expected
