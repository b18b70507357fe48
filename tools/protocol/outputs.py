"""Make every file of `protocol/` except the OpenAPI document."""

from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from tidings.delivery.model import OfflineMessage
from tidings.gateway.error_frames import ERROR_TEXTS
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, MessageId, TenantId, UserId
from tidings.messages.model import EntryKind
from tidings.wire.close_codes import RECONNECT, TERMINAL, TEXTS, CloseCode
from tools.protocol import asyncapi, schema
from tools.protocol.docs_page import render_page
from tools.protocol.samples.refused import REFUSED
from tools.protocol.samples.requests import REQUESTS, Direction, Sample
from tools.protocol.samples.to_device import ANSWERS, PUSHES


def error_codes_document() -> list[dict[str, Any]]:
    """Return the error codes that a device can receive."""
    errors = (TidingsError(code, "") for code in ERROR_TEXTS)
    return [{"code": e.code.value, "retryable": e.retryable, "docs": e.docs} for e in errors]


def close_codes_document() -> dict[str, Any]:
    return {
        "ranges": {"reconnect": _ends(RECONNECT), "terminal": _ends(TERMINAL)},
        "codes": [
            {
                "code": code.value,
                "name": code.name.lower(),
                "range": "reconnect" if code.is_reconnect else "terminal",
                "means": TEXTS[code],
            }
            for code in CloseCode
        ],
    }


def _ends(codes: range) -> dict[str, int]:
    return {"first": codes.start, "last": codes.stop - 1}


def golden_files() -> dict[str, list[dict[str, Any]]]:
    """Return the golden frames by file name. `text` has the exact bytes of a frame; a frame that is not UTF-8 has `base64` instead."""
    return {
        "requests": [_to_server(one) for one in REQUESTS],
        "answers": list(_to_device(ANSWERS)),
        "pushes": list(_to_device(PUSHES)),
        "refused": [_to_server(one) for one in REFUSED],
    }


def _to_server(one: Sample) -> dict[str, Any]:
    return {**_head(one, "to_server"), "decoded": schema.request_semantics(one.data)}


def _to_device(samples: Iterable[Sample]) -> Iterable[dict[str, Any]]:
    for one in samples:
        yield {**_head(one, "to_device"), "decoded": schema.frame_semantics(one.data, one.answers)}


def _head(one: Sample, direction: Direction) -> dict[str, Any]:
    head: dict[str, Any] = {"name": one.name, "direction": direction, "means": one.means}
    try:
        return {**head, "text": one.data.decode()}
    except UnicodeDecodeError:
        return {**head, "base64": b64encode(one.data).decode()}


SAMPLE: Final = OfflineMessage(
    tenant=TenantId("acme"),
    recipient=UserId("ben"),
    chat=ChatId("dMFRGGZDFMZTWQ2LKNNWG2ZDP"),
    message_id=MessageId("dMFRGGZDFMZTWQ2LKNNWG2ZDP.42"),
    sequence=42,
    sender=UserId("anna"),
    kind=EntryKind.MESSAGE,
    at="2026-11-15T02:11:21.957Z",
    badge=3,
    collapse_key="dMFRGGZDFMZTWQ2LKNNWG2ZDP",
    is_mentioned=True,
    preview="Lunch?",
)


def offline_event_document() -> dict[str, Any]:
    """Return the schema of an event of the topic for offline users. Every field is always present."""
    (_, parts) = msgspec.json.schema_components([OfflineMessage])
    schema: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(parts["OfflineMessage"]))
    kinds = msgspec.json.decode(msgspec.json.encode(parts["EntryKind"]))
    schema["properties"]["kind"] = {"enum": kinds["enum"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "required": sorted(schema["properties"]),
    }


BASELINE = Path("protocol/baseline.json")
"""The schema that existing clients were built from. Only `--new-baseline` changes it."""


def render_all(root: Path) -> dict[Path, str]:
    documents: dict[str, Any] = {
        "frames.schema.json": schema.schema_document(),
        "asyncapi.json": asyncapi.asyncapi_document(),
        "error_codes.json": error_codes_document(),
        "close_codes.json": close_codes_document(),
        "offline.schema.json": offline_event_document(),
        "offline.sample.json": SAMPLE,
    }
    documents |= {f"golden/{name}.json": frames for name, frames in golden_files().items()}
    files = {root / "protocol" / name: file_text(document) for name, document in documents.items()}
    reference = root / "docs/reference/protocol.md"
    return {**files, reference: render_page(reference.read_text())}


def stale_files(root: Path) -> list[Path]:
    """Return the files that `write` would change."""
    return [
        path for path, wanted in render_all(root).items() if not path.exists() or path.read_text() != wanted
    ]


def file_text(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def openapi_text(document: object) -> str:
    """Format the OpenAPI document over many lines, so that a diff is readable."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
