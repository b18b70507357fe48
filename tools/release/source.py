"""The source of a release: a clone of the commit, so that no other file of the checkout gets into an artefact."""

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tools.release.changelog import has_fragments, write_release
from tools.release.command import ReleaseError, run
from tools.release.feature_level import require_level
from tools.release.versions import PYTHON_PACKAGES, read_version, set_version, version_faults

_NPM_PACKAGES = ("sdk-typescript", "sdk-node", "react")


@dataclass(frozen=True, slots=True)
class ReleaseSource:
    """`is_prepared`: the commit has the version and the changelog. Otherwise they were written to the clone only."""

    folder: Path
    version: str
    commit: str
    epoch: int
    is_prepared: bool

    @property
    def environment(self) -> dict[str, str]:
        """What makes two builds of a commit equal: the time of the commit in every file that has a time."""
        return {"SOURCE_DATE_EPOCH": str(self.epoch), "PYTHONHASHSEED": "0"}


def check_out(root: Path, folder: Path, version: str) -> ReleaseSource:
    """Clone the commit of a checkout without changes, and prepare the clone for the version if the commit is not."""
    if changed := run("git", "status", "--porcelain", cwd=root).splitlines():
        raise ReleaseError(f"The checkout has changes that are not committed: {changed[0].strip()}, …")
    commit = run("git", "rev-parse", "HEAD", cwd=root).strip()
    epoch = int(run("git", "log", "-1", "--format=%ct", cwd=root))
    if folder.exists():
        shutil.rmtree(folder)
    os.umask(0o022)  # archives have the permissions of the files
    run("git", "clone", "--quiet", str(root), str(folder), cwd=root)
    run("git", "checkout", "--quiet", "--detach", commit, cwd=folder)
    require_level(folder)
    is_prepared = read_version(folder) == version and not has_fragments(folder)
    if not is_prepared:
        prepare(folder, version, epoch)
    if faults := version_faults(folder):
        raise ReleaseError(f"Not all packages have the version {version}: {', '.join(faults)}")
    _add_license(folder)
    return ReleaseSource(folder, version, commit, epoch, is_prepared)


def _add_license(folder: Path) -> None:
    """Copy the licence of the repository into each package. npm packs it by its name."""
    for name in (*PYTHON_PACKAGES, *_NPM_PACKAGES):
        shutil.copy(folder / "LICENSE", folder / name)
    for name in PYTHON_PACKAGES:
        project = folder / name / "pyproject.toml"
        text = project.read_text()
        project.write_text(text.replace("\nlicense = ", '\nlicense-files = ["LICENSE"]\nlicense = ', 1))


def prepare(root: Path, version: str, epoch: int) -> None:
    """Write the version to all packages, and the fragments to the changelog."""
    set_version(root, version)
    if has_fragments(root):
        write_release(root, version, datetime.fromtimestamp(epoch, UTC).date().isoformat())


def require_tag(source: ReleaseSource, root: Path) -> None:
    """Refuse a commit that does not have the tag of the version, or that is not prepared for it."""
    tags = run("git", "tag", "--points-at", source.commit, cwd=root).split()
    if f"v{source.version}" not in tags:
        raise ReleaseError(f"Commit {source.commit[:12]} does not have the tag v{source.version}.")
    if not source.is_prepared:
        raise ReleaseError(
            f"The commit is not prepared for {source.version}. Run `just release prepare {source.version}`, "
            "commit the result, and tag that commit."
        )
