"""Make the page of all WebSocket frames from the AsyncAPI document."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.docs_site.json_schema import Json, SchemaTables

SOURCE: Final = "protocol/asyncapi.json"
PLACE: Final = "reference/frames.md"
_INTRO = """# WebSocket frames

Every frame with its fields and examples. [WebSocket protocol](protocol.md) describes how a connection works. This page is made from the [AsyncAPI document](../protocol/asyncapi.json).
"""


def pages(root: Path) -> dict[str, str]:
    """Return the page, by its place in the site."""
    document = json.loads((root / SOURCE).read_text())
    tables = SchemaTables(document)
    parts = [_INTRO]
    for heading, action in (("Requests", "receive"), ("Pushes", "send")):
        parts += [f"## {heading}", ""]
        for name, operation in document["operations"].items():
            if operation["action"] == action:
                parts += _section(name.partition("_")[2], operation, document, tables)
    return {PLACE: "\n".join(parts)}


def _section(name: str, operation: Json, document: Json, tables: SchemaTables) -> Iterator[str]:
    kind = "push" if operation["action"] == "send" else "request"
    yield from (f"### {name} {{ #{kind}-{name} }}", "", operation["summary"], "")
    message = _message(operation["messages"][0], document)
    yield from _fields(name, message, tables, "required" if kind == "request" else "always present")
    yield from _examples(message)
    if "reply" in operation:
        answer = _message(operation["reply"]["messages"][0], document)
        yield from ("**Answer**", "")
        yield from _fields("ok", answer, tables, "always present")
        yield from _examples(answer)


def _fields(key: str, message: Json, tables: SchemaTables, presence: str) -> Iterator[str]:
    """Describe the value of the key that names the kind of a frame."""
    payload = tables.resolve(message["payload"])
    body = tables.resolve(payload["properties"][key])
    if body.get("properties"):
        yield from tables.describe(payload["properties"][key], presence)
    else:
        yield from ("No fields.", "")


def _examples(message: Json) -> Iterator[str]:
    for example in message.get("examples", ()):
        shown = json.dumps(example["payload"], ensure_ascii=False, separators=(",", ":"))
        yield from (f"{example['summary']}", "", "```json", shown, "```", "")


def _message(reference: Json, document: Json) -> Json:
    found: Json = document["components"]["messages"][reference["$ref"].rpartition("/")[2]]
    return found
