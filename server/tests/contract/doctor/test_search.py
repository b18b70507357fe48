"""The doctor says where the index is, and that it has words of messages."""

from pathlib import Path

from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.loader import LoadedSettings
from tidings.app.settings.workers import SearchSettings
from tidings.doctor.model import CheckState, DoctorContext, Finding
from tidings.doctor.search import check_search


def found(directory: Path, **settings: str) -> Finding:
    wanted = replace(
        Settings(installation="development", search=SearchSettings(engine="tantivy", directory=directory)),
        **settings,
    )
    [finding] = check_search(DoctorContext(LoadedSettings(wanted, {})))
    return finding


def test_an_index_that_does_not_exist_is_a_warning(tmp_path: Path) -> None:
    finding = found(tmp_path / "search")
    assert finding.state is CheckState.WARNING
    assert "rebuild" in finding.todo


def test_production_is_reminded_of_the_encrypted_volume(tmp_path: Path) -> None:
    assert found(tmp_path).state is CheckState.OK
    finding = found(tmp_path, installation="production")
    assert finding.state is CheckState.WARNING
    assert "encrypted" in finding.why


def test_an_installation_without_search_is_skipped() -> None:
    [finding] = check_search(DoctorContext(LoadedSettings(Settings(installation="development"), {})))
    assert finding.state is CheckState.SKIPPED
