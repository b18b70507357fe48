"""The short form of `just release try`: wheels of this checkout, installed outside of it, run the quick start."""

import shutil
from pathlib import Path

import pytest

from tools.node import ROOT
from tools.release import packages
from tools.release.command import ReleaseError
from tools.release.source import ReleaseSource
from tools.release.trial import QuickStart, try_release
from tools.release.versions import PYTHON_PACKAGES, read_version

_PAGE = Path("server/src/tidings/dev/build")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of this checkout, with the demo page that `just setup` has built."""
    assert (ROOT / _PAGE).exists(), "Run `just setup`: the demo page is not built."
    folder, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in PYTHON_PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "docs", "tests")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    source = ReleaseSource(folder, read_version(ROOT), commit="", epoch=1_700_000_000, is_prepared=True)
    packages.build_python(source, dist)
    return dist


@pytest.mark.long
def test_two_users_chat_on_an_installation_of_the_wheels_alone(wheels: Path) -> None:
    figures = try_release(wheels, is_locked=True, is_cold=False)
    assert figures["version"] == f"tidings, version {read_version(ROOT)}"
    print(f"\n{figures}")


def test_a_wheel_that_requires_another_version_is_refused(wheels: Path, tmp_path: Path) -> None:
    """The package index has no other version, so pip cannot mix the packages of two releases."""
    for wheel in wheels.glob("*.whl"):
        if not wheel.name.startswith("tidings_wire"):
            shutil.copy(wheel, tmp_path)
    (tmp_path / "venv").mkdir()
    with pytest.raises(ReleaseError, match="tidings-wire"):
        QuickStart(tmp_path, tmp_path).install(tmp_path)


def test_without_wheels_the_trial_names_the_recipe(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="just release VERSION"):
        try_release(tmp_path, is_locked=True, is_cold=False)
