"""The OpenAPI document is complete and correct, so that clients can be generated from it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tidings.api.app import app_for_schema
from tidings.api.openapi import PATTERNS, error_codes
from tidings.kernel.errors import Code
from tidings.schema.tables.patterns import REGISTRY
from tools.protocol.breaking_changes import find_breaking_api_changes
from tools.protocol.outputs import openapi_text

ROOT = Path(__file__).parents[4]
COMMITTED = ROOT / "protocol" / "openapi.json"
DOCUMENT: dict[str, Any] = msgspec.json.decode(COMMITTED.read_bytes())
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
OPEN_ON_PURPOSE = {"request_code", "redeem_code", "refresh_session"}
"""Routes without authentication. Any other route without it fails the test."""

APPS_OWN = ("data", "message", "payload_schema", "attributes", "predicate")
"""Fields whose content the application defines."""

each = pytest.mark.parametrize("name", sorted(OPERATIONS))


def schemas_of(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every schema below a node, with its path."""
    if isinstance(node, dict):
        yield path, node
        for name, inner in node.items():
            if name not in {"examples", "example", "description", "default"}:
                yield from schemas_of(inner, f"{path}/{name}")
    elif isinstance(node, list):
        for n, inner in enumerate(node):
            yield from schemas_of(inner, f"{path}/{n}")


def test_the_committed_description_is_current() -> None:
    generated = app_for_schema().openapi()
    broken = find_breaking_api_changes(DOCUMENT, generated)
    assert broken == [], (
        "clients would break: `just protocol openapi --write … --allow-breaking` if it must be"
    )
    assert COMMITTED.read_text() == openapi_text(generated), (
        "run `just protocol openapi --write protocol/openapi.json`"
    )


def test_there_is_a_route_for_each_name_and_no_name_twice() -> None:
    assert len(OPERATIONS) == sum(len(methods) for methods in DOCUMENT["paths"].values()) > 20


@each
def test_a_route_has_a_tag_a_summary_and_an_id_that_makes_a_method_name(name: str) -> None:
    _, path, operation = OPERATIONS[name]
    assert name.isidentifier()
    assert name == name.lower()
    assert path.startswith(("/v1/", "/stack/"))
    assert len(operation["tags"]) == 1
    assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}
    assert operation["summary"] != name.replace("_", " ").title()


@each
def test_a_route_asks_for_a_credential_unless_it_is_open_on_purpose(name: str) -> None:
    operation = OPERATIONS[name][2]
    assert (operation.get("security") == [{"bearer": []}]) == (name not in OPEN_ON_PURPOSE)
    if name not in OPEN_ON_PURPOSE:
        assert {Code.CREDENTIAL_INVALID, Code.CREDENTIAL_EXPIRED, Code.FORBIDDEN} <= error_codes(operation)


@each
def test_every_request_and_every_answer_has_an_example(name: str) -> None:
    operation = OPERATIONS[name][2]
    contents = [response.get("content", {}) for response in operation["responses"].values()]
    contents.append(operation.get("requestBody", {}).get("content", {}))
    for content in contents:
        for form in content.values():
            assert form.get("examples") or resolved(form["schema"]).get("examples"), form


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (
        DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    )
    return found


@each
def test_a_route_answers_refusals_with_problems_only_and_names_their_codes(name: str) -> None:
    operation = OPERATIONS[name][2]
    refusals = {s: r for s, r in operation["responses"].items() if s[0] in "45"}
    assert refusals.keys() >= {"400", "429", "500", "503"}
    for response in refusals.values():
        assert list(response["content"]) == ["application/problem+json"]
        assert response["content"]["application/problem+json"]["schema"] == {
            "$ref": "#/components/schemas/Problem"
        }
    assert error_codes(operation) <= set(Code)


@each
def test_a_route_with_a_body_documents_the_error_for_large_bodies(name: str) -> None:
    operation = OPERATIONS[name][2]
    assert ("requestBody" in operation) <= (Code.REQUEST_TOO_LARGE in error_codes(operation))


@each
def test_a_route_names_access_patterns_that_exist_and_are_in_the_reference(name: str) -> None:
    """There is no Scan among the operations of patterns at all; see tests/architecture."""
    patterns = OPERATIONS[name][2][PATTERNS]
    assert patterns
    assert [pattern for pattern in patterns if pattern not in REGISTRY] == []
    page = (ROOT / "docs/reference/access-patterns.md").read_text()
    assert [pattern for pattern in patterns if f"`{pattern}`" not in page] == []


def test_only_the_data_of_apps_has_a_free_schema() -> None:
    free = [
        path
        for path, schema in schemas_of(DOCUMENT["components"]["schemas"])
        if schema == {} or schema.get("additionalProperties") is True
    ]
    assert free == ["/JsonValue"]
    users = [
        path
        for path, schema in schemas_of(DOCUMENT["components"]["schemas"])
        if schema.get("$ref", "").endswith("/JsonValue")
    ]
    assert users
    assert [path for path in users if not any(f"/{name}/" in path for name in APPS_OWN)] == []


def test_no_unknown_field_is_accepted() -> None:
    objects = [
        (path, schema)
        for path, schema in schemas_of(DOCUMENT["components"]["schemas"])
        if schema.get("type") == "object" and "properties" in schema
    ]
    assert len(objects) > 15
    assert [path for path, schema in objects if schema.get("additionalProperties") is not False] == []
