"""Schemathesis over the whole API: the requests that it generates, and the responses that count as failures.

The OpenAPI document is the served one with a single change: parameters that name an object name an existing one.
"""

import copy
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import schemathesis
from e2e.operation_groups import FOR_BROADCASTS, FOR_NOTIFICATIONS, FOR_WEBHOOKS
from e2e.seeded_tenant import SeededTenant
from schemathesis import hooks
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure
from schemathesis.engine import Status, events, from_schema
from schemathesis.openapi.checks import RejectedPositiveData

SEED = 20261115


class Rule(NamedTuple):
    """A rejection of requests that fit the OpenAPI document, for a rule that a schema cannot express."""

    status: int
    code: str
    detail: str


_INVALID = "request_invalid"
REFUSED_BY_RULE = (
    Rule(400, _INVALID, "^A direct chat needs two different users"),  # a schema does not know the caller
    Rule(400, _INVALID, "^You already own this group"),  # the same
    Rule(400, _INVALID, "^An idempotency key is required"),  # in the header or in the body
    Rule(
        400, _INVALID, "use only one of `before`, `after` and `around`"
    ),  # a schema cannot exclude combinations of parameters
    Rule(
        400, _INVALID, "^`Idempotency-Key` and `client_message_id` must be equal"
    ),  # a schema cannot compare a header with a field
    Rule(400, _INVALID, "Give exactly one of apns, fcm, web_push and http"),  # the others may be null
    Rule(400, _INVALID, "^The endpoint of the subscription is refused"),  # a pattern is no parser of URLs
    Rule(400, _INVALID, "is not a time zone"),  # the database of time zones defines them
    Rule(400, _INVALID, "^No flag is given"),  # all three are present and null
    Rule(400, _INVALID, "Input should be a valid integer"),  # 5.0 is an integer in JSON Schema, but not here
    Rule(400, _INVALID, "^An integer in the body has more than 64 bits"),  # `data` is any JSON within limits
    Rule(400, _INVALID, "^A display name must not be blank"),  # Unicode defines which characters are blank
    Rule(400, _INVALID, "^path /user: .*match pattern"),  # Schemathesis does not escape a `%` in an id
    Rule(400, _INVALID, "use either `ids`, or `before` and `category`"),  # two exclusive ways to select
    Rule(400, _INVALID, "use either `ids`, or `before` with an optional `category`"),  # the same
    Rule(400, _INVALID, "`uids` requires the kind"),  # the field depends on the kind
    Rule(
        400, _INVALID, "of the list does not (exist|accept users)|^The type of a segment"
    ),  # depends on the existing versions
    Rule(400, _INVALID, "^The tenant has 20 endpoints"),
    Rule(400, _INVALID, "^`until` is in the past"),  # the server's clock decides
    Rule(409, "review_decided", ""),  # by an earlier request
    Rule(400, _INVALID, "^`q` has|A prefix has at least"),  # Unicode defines what a letter or digit is
    Rule(400, _INVALID, "^An inbox has at most 50 categories"),  # in total, including retired ones
    Rule(400, _INVALID, "^A notification has at most 90 versions"),
    Rule(400, _INVALID, "is retired|has no category"),  # the inbox defines its categories
    Rule(
        400, _INVALID, "^Unknown placeholder|^A category has two templates|KB of them"
    ),  # templates of mails
    Rule(400, _INVALID, "^The parts of this upload"),  # as many as its size needs
    Rule(422, "content_invalid", "contains an upload twice"),
    Rule(400, _INVALID, "^`host_system_id` is missing"),  # a field that requires another one
    Rule(400, _INVALID, "^query /(unread|archived): "),  # Schemathesis accepts any text as a boolean
    Rule(
        409, "idempotency_conflict", "with `host_system_id`|^This idempotency key was already used"
    ),  # a repeat
    Rule(400, "cursor_invalid", ""),  # made by the server, for one list and filter
    Rule(413, "content_too_large", r"^The content is \d+ bytes"),  # a schema counts characters
    Rule(
        422, "content_invalid", "^A message needs `text`, `data` or"
    ),  # at least one of three optional fields
)


@dataclass
class Findings:
    """`answers`: responses by operation and status. `by_rule`: the expected rejections, counted by rule."""

    answers: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    by_rule: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def without_success(self) -> list[str]:
        return sorted(name for name, seen in self.answers.items() if not any(200 <= s < 300 for s in seen))


def described(document: dict[str, Any], seeded: SeededTenant) -> dict[str, Any]:
    made = copy.deepcopy(document)
    for methods in made["paths"].values():
        for operation in methods.values():
            _name_what_is_there(made, operation, seeded)
    return made


def _name_what_is_there(document: dict[str, Any], operation: dict[str, Any], seeded: SeededTenant) -> None:
    name = operation["operationId"]
    values = {"Tidings-User": ["anna"], **seeded.values.get(name, {})}
    for parameter in operation.get("parameters", ()):
        if parameter["name"] in values:
            parameter["schema"] = _one_of(parameter["schema"], values[parameter["name"]])
    if "requestBody" in operation:
        media = operation["requestBody"]["content"]["application/json"]
        values = {"after": [None, 2, 3], **values}
        media["schema"] = schema = _body_schema(document, media["schema"], values)
        if name in seeded.bodies:
            media["example"] = seeded.bodies[name]
            schema.pop("examples", None)


def _body_schema(
    document: dict[str, Any], schema: dict[str, Any], values: dict[str, list[Any]]
) -> dict[str, Any]:
    """Return the schema of a body, or of each of its variants, with fields that name existing objects."""
    if "oneOf" in schema:
        variants = [_body_schema(document, variant, values) for variant in schema["oneOf"]]
        return {**schema, "oneOf": variants, "discriminator": {"propertyName": "type"}}
    made: dict[str, Any] = copy.deepcopy(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for field_name in made["properties"].keys() & values.keys():
        made["properties"][field_name] = _one_of(made["properties"][field_name], values[field_name])
    return made


def _one_of(schema: dict[str, Any], values: list[Any]) -> dict[str, Any]:
    """Restrict a schema to `values`. Where a request may also name an unknown object, any other value stays valid."""
    if schema.get("type") == "array":
        return {**schema, "items": {**schema["items"], "examples": values}}
    named: dict[str, Any] = {"enum": values}
    return (
        {"anyOf": [named, schema]} if schema.get("title") in {"User", "After", "Inbox", "Segment"} else named
    )


def run_schemathesis(document: dict[str, Any], url: str, seeded: SeededTenant, examples: int) -> Findings:
    """Send the examples of the document, each bound of each field, and `examples` random requests per operation."""
    schema = schemathesis.openapi.from_dict(
        described(document, seeded), config=_config(url, seeded, examples)
    )
    findings = Findings()

    @schema.hook("filter_failure")
    def is_a_fault(_: object, failure: Failure, case: Any, response: Any) -> bool:
        rule = _rule_of(failure, response)
        if rule is not None:
            findings.by_rule[
                f"{case.operation.definition.raw['operationId']}: {rule.code}, {rule.detail}"
            ] += 1
        return rule is None

    with _fresh_keys():
        for event in from_schema(schema).execute():
            findings.faults += _faults(event)
            if isinstance(event, events.ScenarioFinished):
                _count(event, findings)
    return findings


@contextmanager
def _fresh_keys() -> Iterator[None]:
    """Give every second valid request a new idempotency key: otherwise all but the first are repeats or conflicts."""
    numbers = itertools.count()

    def before_call(_: object, case: Any, __: object) -> None:
        number = next(numbers)
        if number % 2 and case.meta is not None and case.meta.generation.mode.is_positive:
            _rekey(case, number)

    schemathesis.hook(before_call)
    try:
        yield
    finally:
        hooks.unregister(before_call)


def _rekey(case: Any, number: int) -> None:
    key = f"key-{number}"
    if "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = f"{key}-long-enough-for-a-refresh"[:48]
    if isinstance(case.body, dict) and case.body.get("client_message_id") is not None:
        case.body["client_message_id"] = case.headers.get("Idempotency-Key", key)


def _rule_of(failure: Failure, response: Any) -> Rule | None:
    if not isinstance(failure, RejectedPositiveData):
        return None
    answer = response.json()
    return next(
        (
            rule
            for rule in REFUSED_BY_RULE
            if (rule.status, rule.code) == (response.status_code, answer["code"])
            and re.search(rule.detail, answer["detail"] + str(answer.get("errors", "")))
        ),
        None,
    )


def _count(event: events.ScenarioFinished, findings: Findings) -> None:
    for case_id, node in event.recorder.cases.items():
        interaction = event.recorder.interactions.get(case_id)
        if interaction is not None and interaction.response is not None:
            operation = node.value.operation.definition.raw
            findings.answers[operation["operationId"]][interaction.response.status_code] += 1


def _faults(event: object) -> Iterator[str]:
    if isinstance(event, events.NonFatalError | events.FatalError):
        yield str(event.info if isinstance(event, events.NonFatalError) else event.exception)
    if not isinstance(event, events.ScenarioFinished):
        return
    for case_id, checks in event.recorder.checks.items():
        for check in checks:
            if check.status is Status.FAILURE and check.failure_info is not None:
                shown = check.failure_info
                answer = event.recorder.interactions[case_id].response
                body = answer.content[:300] if answer and answer.content else b""
                yield f"{event.label} {check.name}: {shown.failure.message} | {shown.code_sample} | {body!r}"


def _config(url: str, seeded: SeededTenant, examples: int) -> SchemathesisConfig:
    as_server = ["create_user", "update_user", "list_user_sessions", "end_user_sessions"]
    as_server += [
        "list_directory",
        "suspend_user",
        "unsuspend_user",
        "list_pushes",
        "erase_user",
        "decide_erasure",
        "get_erasure",
        "export_user",
        "get_export",
    ]
    as_server += ["list_reviews", "get_review", "decide_review"]
    return SchemathesisConfig.from_dict(
        {
            "seed": SEED,
            "base-url": url,
            "workers": 1,
            "continue-on-failure": True,
            "request-timeout": 20,
            "headers": {"Authorization": f"Bearer {seeded.bearers.anna}"},
            "generation": {"max-examples": examples, "deterministic": True, "database": "none"},
            "phases": {"stateful": {"enabled": False}},
            "operations": [
                {
                    "include-operation-id": as_server,
                    "headers": {"Authorization": f"Bearer {seeded.bearers.server}"},
                },
                {
                    "include-operation-id": ["end_sessions"],
                    "headers": {"Authorization": f"Bearer {seeded.bearers.leaver}"},
                },
                {
                    "include-operation-id": [*FOR_NOTIFICATIONS, *FOR_BROADCASTS],
                    "headers": {"Authorization": f"Bearer {seeded.bearers.notifications}"},
                },
                {
                    "include-operation-id": [*FOR_WEBHOOKS],
                    "headers": {"Authorization": f"Bearer {seeded.bearers.webhooks}"},
                },
            ],
        }
    )
