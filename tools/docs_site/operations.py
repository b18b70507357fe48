"""Make the pages of the REST API from the OpenAPI document: one page for each tag, one section for each operation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tools.docs_site.json_schema import Json, SchemaTables
from tools.docs_site.markdown import markdown_table

SOURCE: Final = "protocol/openapi.json"
_FOLDER: Final = "reference/rest"
_OF_EVERY_ROUTE: Final = {"internal", "overloaded", "rate_limited", "request_invalid"}
_OF_CREDENTIALS: Final = {"credential_invalid", "credential_expired"}


def pages(root: Path) -> dict[str, str]:
    """Return a page for each tag, by its place in the site."""
    document = json.loads((root / SOURCE).read_text())
    tables = SchemaTables(document)
    return {
        f"{_FOLDER}/{_slug(tag['name'])}.md": _page(tag, _operations(document, tag["name"]), tables)
        for tag in document["tags"]
    }


def index(root: Path) -> str:
    """Return the list of all operations, for the end of the page about the API."""
    document = json.loads((root / SOURCE).read_text())
    lines = ["", "## Operations", ""]
    for tag in document["tags"]:
        page = f"rest/{_slug(tag['name'])}.md"
        rows = [
            (f"[{each['summary']}]({page}#{each['operationId']})", f"`{method.upper()} {path}`")
            for method, path, each in _operations(document, tag["name"])
        ]
        lines += [
            f"### {_title(tag['name'])}",
            "",
            tag["description"],
            "",
            *markdown_table(("operation", "route"), rows),
            "",
        ]
    return "\n".join(lines)


def _operations(document: Json, tag: str) -> list[tuple[str, str, Json]]:
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if tag in operation.get("tags", ())
    ]


def _page(tag: Json, operations: list[tuple[str, str, Json]], tables: SchemaTables) -> str:
    intro = (
        "[REST API](../rest.md) describes authentication, idempotency and pagination. This page is made from the "
        "[OpenAPI document](../../protocol/openapi.json)."
    )
    lines = [f"# REST: {tag['name']}", "", tag["description"], "", intro, ""]
    for method, path, operation in operations:
        lines += [*_section(method, path, operation, tables), ""]
    return "\n".join(lines)


def _section(method: str, path: str, operation: Json, tables: SchemaTables) -> Iterator[str]:
    yield f"## {operation['summary']} {{ #{operation['operationId']} }}"
    yield from ("", f"```http\n{method.upper()} {path}\n```", "", operation.get("description", ""), "")
    if not operation.get("security"):
        yield from ("Needs no credential.", "")
    parameters = [each for each in operation.get("parameters", ()) if each["name"] != "Tidings-User"]
    if parameters:
        yield from _parameters(parameters, tables)
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        yield from ("**Body**", "", *tables.describe(body))
        yield from _example(tables.example(body))
    answers = {status: each for status, each in operation["responses"].items() if status < "400"}
    shown: list[Json] = []
    for status, response in answers.items():
        yield from _response(status, response, tables, is_shown=response.get("content") in shown)
        shown.append(response.get("content"))
    yield from _errors(operation)


def _parameters(parameters: list[Json], tables: SchemaTables) -> Iterator[str]:
    rows = [
        (
            f"`{each['name']}`",
            each["in"],
            tables.type_of(each["schema"]),
            "yes" if each.get("required") else "",
            tables.meaning({**each["schema"], "description": each.get("description", "")}),
        )
        for each in parameters
    ]
    yield from (
        "**Parameters**",
        "",
        *markdown_table(("name", "in", "type", "required", "meaning"), rows),
        "",
    )


def _response(status: str, response: Json, tables: SchemaTables, *, is_shown: bool) -> Iterator[str]:
    said = response.get("description", "")
    schema = response.get("content", {}).get("application/json", {}).get("schema")
    yield from (f"**Answer {status}**", "")
    if said and said != "Success.":
        yield from (said, "")
    if schema is None:
        yield from ("No body.", "")
    elif not is_shown:
        yield from tables.describe(schema, "always present")
        yield from _example(tables.example(schema))


def _example(value: object | None) -> Iterator[str]:
    if value is not None:
        yield from ("```json", json.dumps(value, indent=2, ensure_ascii=False), "```", "")


def _errors(operation: Json) -> Iterator[str]:
    found: dict[str, Any] = {}
    for status, response in operation["responses"].items():
        for code in response.get("content", {}).get("application/problem+json", {}).get("examples", {}):
            found[code] = status
    own = {code: status for code, status in found.items() if code not in _OF_EVERY_ROUTE | _OF_CREDENTIALS}
    rows = [(f"[`{code}`](../errors/{code}.md)", status) for code, status in own.items()]
    yield from ("**Errors**", "")
    if rows:
        yield from (*markdown_table(("code", "status"), rows), "")
    yield "Every operation can also fail with the [general errors](../rest.md#errors)."


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _slug(name: str) -> str:
    return name.replace(" ", "-")
