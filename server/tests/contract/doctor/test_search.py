"""The doctor says where the index is, and that it has words of messages."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.loader import LoadedSettings
from tidings.app.settings.workers import SearchSettings
from tidings.doctor.model import CheckState, DoctorContext, Finding
from tidings.doctor.search import check_search, is_encrypted
from tidings.engines.node_plan import PortAllocator


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


def test_a_volume_that_is_seen_to_be_encrypted_needs_no_reminder(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\n/dev/mapper/luks-1 /data ext4 rw 0 0\n/dev/sdb /data/plain ext4 rw 0 0\n"
    )
    assert is_encrypted(Path("/data/search"), mounts)
    assert not is_encrypted(Path("/data/plain/search"), mounts)
    assert not is_encrypted(Path("/var/search"), mounts)
    assert not is_encrypted(Path("/data/search"), tmp_path / "missing")


def test_an_opensearch_that_does_not_answer_is_wrong() -> None:
    unused_port = PortAllocator().take(0, "test")
    settings = Settings(
        installation="development",
        search=SearchSettings(engine="opensearch", url=f"http://127.0.0.1:{unused_port}"),
    )
    [finding] = check_search(DoctorContext(LoadedSettings(settings, {})))
    assert finding.state is CheckState.WRONG
    assert "did not answer" in finding.found


@pytest.mark.long
def test_an_opensearch_that_answers_is_reminded_of(opensearch: str) -> None:
    settings = Settings(
        installation="development", search=SearchSettings(engine="opensearch", url=opensearch)
    )
    [finding] = check_search(DoctorContext(LoadedSettings(settings, {})))
    assert finding.state is CheckState.WARNING
    assert "encrypted" in finding.found
