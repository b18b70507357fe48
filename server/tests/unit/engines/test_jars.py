"""Downloads with locked checksums, from a repository of the test."""

import hashlib
from pathlib import Path

import pytest

from tidings.engines import jars
from tidings.engines.jars import DownloadCache, LockedJar
from tidings.kernel.errors import Code, TidingsError


def locked(content: bytes) -> LockedJar:
    return LockedJar("org.example", "thing", "1.0", "jar", hashlib.sha256(content).hexdigest())


def repository(monkeypatch: pytest.MonkeyPatch, *answers: bytes | Exception) -> None:
    """Return these answers in turn instead of using the network."""
    left = list(answers)

    class Artifact:
        def __init__(self, landing: Path) -> None:
            self.landing = landing

        def resolve(self) -> Path:
            answer = left.pop(0)
            if isinstance(answer, Exception):
                raise answer
            path = self.landing / "thing"
            path.write_bytes(answer)
            return path

    class Maven:
        class MavenContext:
            def __init__(self, repo_cache: Path, timeout: int) -> None:
                del timeout
                self.landing = repo_cache

            def project(self, group: str, name: str) -> "Maven.MavenContext":
                del group, name
                return self

            def at_version(self, version: str) -> "Maven.MavenContext":
                del version
                return self

            def artifact(self, packaging: str) -> Artifact:
                del packaging
                return Artifact(self.landing)

    monkeypatch.setattr(jars, "_jgo_maven", lambda: Maven)


def test_a_file_with_the_right_checksum_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository(monkeypatch, b"good")
    cache = DownloadCache(tmp_path)
    jars._fetch_one(locked(b"good"), cache)
    assert locked(b"good").path(cache).read_bytes() == b"good"
    assert list(tmp_path.glob("landing-*")) == []


def test_a_file_with_a_wrong_checksum_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(monkeypatch, b"torn", b"good")
    jars._fetch_one(locked(b"good"), DownloadCache(tmp_path))
    assert locked(b"good").path(DownloadCache(tmp_path)).read_bytes() == b"good"


def test_a_file_that_is_never_right_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(monkeypatch, b"evil", b"evil", b"evil")
    with pytest.raises(TidingsError, match="never had the locked SHA-256") as caught:
        jars._fetch_one(locked(b"good"), DownloadCache(tmp_path))
    assert caught.value.code is Code.ENGINE_FETCH_FAILED
    assert not locked(b"good").path(DownloadCache(tmp_path)).exists()


def test_without_a_network_the_message_says_what_was_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(monkeypatch, OSError("no route to host"))
    with pytest.raises(TidingsError, match=r"thing-1\.0\.jar: no route to host") as caught:
        jars._fetch_one(locked(b"good"), DownloadCache(tmp_path))
    assert "network" in caught.value.hint
    assert caught.value.retryable


@pytest.mark.parametrize("name", ["kafka", "dynamodb-local"])
def test_every_file_of_a_lock_has_a_checksum_and_is_listed_once(name: str) -> None:
    files = jars.read_lock(name)
    assert len(files) > 20
    assert all(len(file.sha256) == 64 for file in files)
    assert len({(file.group, file.artifact) for file in files}) == len(files)


def test_a_file_that_was_changed_in_the_cache_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(monkeypatch, b"good", b"good")
    wanted, cache = locked(b"good"), DownloadCache(tmp_path)
    monkeypatch.setattr(jars, "read_lock", lambda _: [wanted])
    jars.fetch("things", cache, lambda *_: None)
    assert jars.missing_jars("things", cache) == []
    wanted.path(cache).write_bytes(b"evil")
    assert jars.missing_jars("things", cache) == [wanted]
    jars.fetch("things", cache, lambda *_: None)
    assert wanted.path(cache).read_bytes() == b"good"
