import json
import shutil
from pathlib import Path

import pytest

from tools.node import ROOT
from tools.release.command import ReleaseError
from tools.release.versions import npm_version, read_version, set_version, version_faults


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A copy of every file that has the version."""
    workspaces = json.loads((ROOT / "package.json").read_text())["workspaces"]
    files = [
        "package.json",
        "package-lock.json",
        "uv.lock",
        "infra/chart/Chart.yaml",
        "infra/image/Dockerfile",
    ]
    files += ["sdk-typescript/src/frames.gen.ts", *(f"{folder}/package.json" for folder in workspaces)]
    files += [str(path.relative_to(ROOT)) for path in ROOT.glob("*/pyproject.toml")]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_every_package_has_the_version_of_the_server() -> None:
    assert version_faults(ROOT) == []


def test_a_version_is_set_everywhere_and_can_be_set_back(packages: Path) -> None:
    before = {path: path.read_bytes() for path in packages.rglob("*") if path.is_file()}
    changed = set_version(packages, "1.2.3rc4")
    assert version_faults(packages) == []
    assert read_version(packages) == "1.2.3rc4"
    assert (
        json.loads((packages / "react/package.json").read_text())["dependencies"]["@tidings/client"]
        == "1.2.3-rc.4"
    )
    assert "tidings-wire==1.2.3rc4" in (packages / "server/pyproject.toml").read_text()
    assert set(changed) == set(before) - {packages / "package.json"}
    set_version(packages, read_version(ROOT))
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("wire/pyproject.toml", 'version = "', 'version = "9.'),
        ("terminal/pyproject.toml", "tidings-sdk==", "tidings-sdk==9."),
        ("server/pyproject.toml", "tidings-terminal==", "tidings-terminal==9."),
        ("uv.lock", 'name = "tidings-sdk"\nversion = "', 'name = "tidings-sdk"\nversion = "9.'),
        ("infra/chart/Chart.yaml", 'appVersion: "', 'appVersion: "9.'),
        ("infra/image/Dockerfile", 'image.version="', 'image.version="9.'),
        ("sdk-node/package.json", '"version": "', '"version": "9.'),
        ("react/package.json", '"@tidings/client": "', '"@tidings/client": "9.'),
        ("sdk-typescript/src/frames.gen.ts", 'VERSION = "', 'VERSION = "9.'),
    ],
)
def test_a_package_with_another_version_is_found(packages: Path, file: str, old: str, new: str) -> None:
    text = (packages / file).read_text()
    assert old in text
    (packages / file).write_text(text.replace(old, new, 1))
    assert [fault.partition(":")[0] for fault in version_faults(packages)] == [file]


def test_a_file_without_the_version_is_found(packages: Path) -> None:
    (packages / "infra/image/Dockerfile").write_text("FROM scratch\n")
    assert version_faults(packages) == ["infra/image/Dockerfile: no version"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.1.0", "0.1.0"),
        ("0.1.0rc1", "0.1.0-rc.1"),
        ("1.10.0b2", "1.10.0-beta.2"),
        ("0.1.0.dev0", "0.1.0-dev.0"),
    ],
)
def test_npm_writes_a_version_with_a_hyphen(version: str, expected: str) -> None:
    assert npm_version(version) == expected


@pytest.mark.parametrize("version", ["0.1", "v0.1.0", "0.1.0-rc1", "0.1.0; rm"])
def test_other_formats_are_refused(version: str, packages: Path) -> None:
    with pytest.raises(ReleaseError, match="is not a version"):
        set_version(packages, version)
