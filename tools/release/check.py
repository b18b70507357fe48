"""Check a built release, and report its artefacts."""

from pathlib import Path
from typing import Any, Final

from tools.node import ROOT
from tools.release.provenance import CHECKSUMS, checksum_faults
from tools.release.signature import SIGNATURE

DIST: Final = ROOT / "dist"


def artefact_figures(dist: Path = DIST) -> dict[str, Any]:
    """Return the artefacts of the last build, or None if there was none. Raises no error."""
    if not (dist / CHECKSUMS).exists():
        return {"artefacts": None, "artefact_names": []}
    names = sorted(path.name for path in dist.iterdir())
    return {"artefacts": len(names), "artefact_names": names}


def release_faults(dist: Path = DIST) -> list[str]:
    """Return what is wrong with the artefacts of the last build."""
    if not (dist / CHECKSUMS).exists():
        return ["nothing is built: run `just release VERSION`"]
    faults = checksum_faults(dist)
    return faults if (dist / SIGNATURE).exists() else [*faults, f"not signed: there is no {SIGNATURE}"]
