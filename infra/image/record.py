"""The figures of the last full check of the image, which `just infra-check` reports."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from infra.generated import INFRA

RECORD: Final = INFRA / "image" / "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """`inputs`: digest of the Dockerfile and the locked packages that were measured."""

    inputs: str
    image_mb: float
    image_starts: int
    """Kinds of processes that became ready from the image."""
    is_reproducible: bool
    sbom_packages: int | None
    deliveries: int
    """Deliveries of the harness to the started processes, none lost."""
    not_run: list[str] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "inputs"}

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"


def read_record(path: Path = RECORD) -> ImageRecord | None:
    """Return the figures of the last full check, or None if there was none."""
    return ImageRecord(**json.loads(path.read_text())) if path.exists() else None
