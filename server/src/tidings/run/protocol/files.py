"""All that is published, by path from the root of the repository."""

from pathlib import Path
from typing import Any

import msgspec

from tidings.run.protocol import asyncapi, codes, golden, schema, unreached
from tidings.run.protocol.page import render_page

BASELINE = Path("protocol/baseline.json")
"""The schema that clients out there were built from. Changed by hand only, with `--new-baseline`."""


def render_all(root: Path) -> dict[Path, str]:
    documents: dict[str, Any] = {
        "frames.schema.json": schema.schema_document(),
        "asyncapi.json": asyncapi.asyncapi_document(),
        "error_codes.json": codes.error_codes_document(),
        "close_codes.json": codes.close_codes_document(),
        "unreached.schema.json": unreached.offline_event_document(),
        "unreached.sample.json": unreached.SAMPLE,
    }
    documents |= {f"golden/{name}.json": frames for name, frames in golden.golden_files().items()}
    files = {root / "protocol" / name: file_text(document) for name, document in documents.items()}
    reference = root / "docs/reference/protocol.md"
    return {**files, reference: render_page(reference.read_text())}


def stale_files(root: Path) -> list[Path]:
    """Those that are not what the types give."""
    return [
        path for path, wanted in render_all(root).items() if not path.exists() or path.read_text() != wanted
    ]


def file_text(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
