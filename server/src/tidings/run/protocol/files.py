"""All that is published, by path from the root of the repository."""

from pathlib import Path
from typing import Any

import msgspec

from tidings.run.protocol import asyncapi, codes, golden, schema, unreached
from tidings.run.protocol.page import filled

BASELINE = Path("protocol/baseline.json")
"""The schema that clients out there were built from. Changed by hand only, with `--new-baseline`."""


def published(root: Path) -> dict[Path, str]:
    documents: dict[str, Any] = {
        "frames.schema.json": schema.document(),
        "asyncapi.json": asyncapi.document(),
        "error_codes.json": codes.error_codes(),
        "close_codes.json": codes.close_codes(),
        "unreached.schema.json": unreached.document(),
        "unreached.sample.json": unreached.SAMPLE,
    }
    documents |= {f"golden/{name}.json": frames for name, frames in golden.files().items()}
    files = {root / "protocol" / name: text(document) for name, document in documents.items()}
    reference = root / "docs/reference/protocol.md"
    return {**files, reference: filled(reference.read_text())}


def drifted(root: Path) -> list[Path]:
    """Those that are not what the types give."""
    return [
        path for path, wanted in published(root).items() if not path.exists() or path.read_text() != wanted
    ]


def text(document: object) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
