"""The evaluator of IAM policies, by the rules of the language."""

from typing import Any

import pytest

from infra.aws.evaluator import Decision, Request, UnsupportedPolicyError, evaluate

USERS = "arn:aws:dynamodb:eu-central-1:123456789012:table/tidings-users"
GET = Request("dynamodb:GetItem", USERS)


def allow(action: str | list[str], resource: str | list[str], **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource, **more}


def deny(action: str, resource: str) -> dict[str, Any]:
    return {"Effect": "Deny", "Action": action, "Resource": resource}


def test_nothing_is_allowed_without_a_statement() -> None:
    assert evaluate([], GET) is Decision.NOT_ALLOWED
    assert evaluate([allow("dynamodb:PutItem", USERS)], GET) is Decision.NOT_ALLOWED
    assert evaluate([allow("dynamodb:GetItem", f"{USERS}2")], GET) is Decision.NOT_ALLOWED


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("dynamodb:GetItem", USERS),
        (["dynamodb:PutItem", "dynamodb:GetItem"], ["arn:aws:s3:::x", USERS]),
        ("dynamodb:Get*", USERS),
        ("DynamoDB:getitem", USERS),
        ("dynamodb:G?tItem", USERS),
        ("*", "*"),
        ("dynamodb:*", "arn:aws:dynamodb:*:table/tidings-*"),
    ],
)
def test_names_and_wildcards_match(action: str | list[str], resource: str | list[str]) -> None:
    assert evaluate([allow(action, resource)], GET) is Decision.ALLOWED


@pytest.mark.parametrize(
    "resource", [USERS.upper(), f"{USERS}/index/*", USERS[:-1], USERS.replace("-", "?", 0) + "?"]
)
def test_resources_match_as_a_whole_and_by_case(resource: str) -> None:
    assert evaluate([allow("dynamodb:GetItem", resource)], GET) is Decision.NOT_ALLOWED


def test_a_dot_in_a_name_is_no_wildcard() -> None:
    assert evaluate([allow("kms:Decrypt", "a.b")], Request("kms:Decrypt", "axb")) is Decision.NOT_ALLOWED


@pytest.mark.parametrize("is_first", [True, False])
def test_a_denial_overrides_every_permission(*, is_first: bool) -> None:
    statements = [deny("dynamodb:*", USERS), allow("*", "*")]
    assert evaluate(statements if is_first else statements[::-1], GET) is Decision.DENIED


def test_a_denial_of_another_resource_changes_nothing() -> None:
    assert evaluate([allow("*", "*"), deny("*", f"{USERS}2")], GET) is Decision.ALLOWED


@pytest.mark.parametrize(
    ("operator", "wanted", "given", "expected"),
    [
        ("StringEquals", "s3.eu.amazonaws.com", {"kms:ViaService": "s3.eu.amazonaws.com"}, True),
        ("StringEquals", ["x", "y"], {"kms:ViaService": "y"}, True),
        ("StringEquals", "s3.*", {"kms:ViaService": "s3.eu"}, False),
        ("StringLike", "s3.*", {"kms:ViaService": "s3.eu"}, True),
        ("StringEquals", "x", {}, False),
    ],
)
def test_a_condition_limits_a_statement(
    operator: str, wanted: str | list[str], given: dict[str, str], *, expected: bool
) -> None:
    statement = allow("kms:Decrypt", "*", Condition={operator: {"kms:ViaService": wanted}})
    decision = evaluate([statement], Request("kms:Decrypt", "key", given))
    assert (decision is Decision.ALLOWED) is expected


@pytest.mark.parametrize(
    "statement",
    [
        {"Effect": "Allow", "NotAction": "s3:*", "Resource": "*"},
        {"Effect": "Permit", "Action": "*", "Resource": "*"},
        {"Effect": "Allow", "Action": "*"},
        {"Effect": "Allow", "Action": [], "Resource": "*"},
        allow("*", "*", Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}),
    ],
)
def test_what_the_evaluator_does_not_know_is_refused(statement: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedPolicyError):
        evaluate([statement], GET)
