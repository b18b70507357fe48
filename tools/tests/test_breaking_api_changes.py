"""Breaking changes of the OpenAPI document: each is made on purpose and must be found."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import pytest

from tools.node import ROOT
from tools.protocol.breaking_changes import find_breaking_api_changes

DOCUMENT: dict[str, Any] = json.loads((ROOT / "protocol/openapi.json").read_text())


class Parts(NamedTuple):
    paths: dict[str, Any]
    schemas: dict[str, Any]


def changed(change: Callable[[Parts], object]) -> list[str]:
    new = deepcopy(DOCUMENT)
    change(Parts(new["paths"], new["components"]["schemas"]))
    return find_breaking_api_changes(DOCUMENT, new)


def test_the_same_document_breaks_no_client() -> None:
    assert changed(lambda _: None) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.paths.pop("/v1/blocks"), "GET /v1/blocks: was removed"),
        (lambda d: d.paths["/v1/chats/{chat}"].pop("patch"), "PATCH /v1/chats/{chat}: was removed"),
        (lambda d: d.paths["/v1/blocks"]["get"].update(operationId="x"), "another operation id"),
        (lambda d: d.paths["/v1/blocks"]["get"]["parameters"].pop(0), ": was removed"),
        (lambda d: d.paths["/v1/blocks"]["get"]["parameters"][0].update(required=True), "is required now"),
        (
            lambda d: d.paths["/v1/chats/{chat}/messages"]["post"]["responses"].pop("200"),
            "POST /v1/chats/{chat}/messages 200: was removed",
        ),
        (lambda d: d.schemas["SendMessageBody"]["properties"].pop("data"), "body.data: was removed"),
        (lambda d: d.schemas["SendMessageBody"].update(required=["text"]), "body.text: is required now"),
        (
            lambda d: d.schemas["SendMessageBody"]["properties"]["text"].update(maxLength=10),
            "body.text: maxLength is 10, was ",
        ),
        (
            lambda d: d.schemas["SendMessageBody"]["properties"]["text"].update(type="integer"),
            "body.text: was string, is integer",
        ),
        (
            lambda d: d.schemas["ChangeRoleBody"]["properties"]["role"]["enum"].remove("admin"),
            "body.role: the value admin was removed",
        ),
        (lambda d: d.schemas["EntryResponse"]["properties"].pop("kind"), "kind: was removed"),
        (lambda d: d.schemas["EntryResponse"]["required"].remove("kind"), "kind: can be missing now"),
        (
            lambda d: d.schemas["EntryResponse"]["properties"]["kind"]["enum"].remove("edit"),
            "kind: the value edit was removed",
        ),
    ],
)
def test_a_breaking_change_is_found(change: Callable[[Parts], object], message: str) -> None:
    assert [sentence for sentence in changed(change) if message in sentence]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.paths.update({"/v1/new": d.paths["/v1/blocks"]}),
        lambda d: d.schemas["SendMessageBody"]["properties"].update(more={"type": "string"}),
        lambda d: d.schemas["EntryResponse"]["properties"].update(more={"type": "string"}),
        lambda d: d.schemas["EntryResponse"]["required"].append("text"),
        lambda d: d.schemas["SendMessageBody"]["properties"]["text"].update(maxLength=10_000),
        lambda d: d.schemas["ChangeRoleBody"]["properties"]["role"]["enum"].append("guest"),
        lambda d: d.paths["/v1/blocks"]["get"]["parameters"].append(
            {"name": "n", "in": "query", "schema": {"type": "string"}}
        ),
    ],
)
def test_an_addition_breaks_no_client(change: Callable[[Parts], object]) -> None:
    assert changed(change) == []
