"""Checksums and signature of a release, with the program that users verify them with."""

import re
import subprocess
from pathlib import Path

import pytest

from tools.node import ROOT
from tools.release.check import artefact_figures, release_faults
from tools.release.provenance import checksum_faults, write_checksums
from tools.release.signature import IDENTITY, KEY, SIGNATURE, sign, signature_faults

GUIDE = ROOT / "docs/howto/verify-a-release.md"


def new_key(folder: Path, name: str) -> tuple[str, Path]:
    """Return a new private key, and a file of signers with its public key."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    signers = folder / f"{name}.signers"
    public = (folder / f"{name}.pub").read_text()
    signers.write_text(f'{IDENTITY} namespaces="tidings-release" {public}')
    return (folder / name).read_text(), signers


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "tidings-0.1.0-py3-none-any.whl").write_bytes(b"wheel")
    (folder / "tidings-client-0.1.0.tgz").write_bytes(b"package")
    write_checksums(folder)
    return folder


def test_the_commands_of_the_guide_accept_a_release_and_refuse_a_changed_one(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, signers = new_key(tmp_path, "key")
    monkeypatch.setenv(KEY, private)
    assert sign(dist)
    signers.rename(dist / "tidings.signers")
    commands = re.findall(r"(?m)^ *((?:sha256sum|ssh-keygen) .+)$", GUIDE.read_text())
    assert len(commands) == 2
    for command in commands:
        subprocess.run(["bash", "-c", command], cwd=dist, check=True)
    (dist / "tidings-client-0.1.0.tgz").write_bytes(b"changed")
    (dist / "SHA256SUMS").write_text((dist / "SHA256SUMS").read_text().upper())
    for command in commands:
        assert subprocess.run(["bash", "-c", command], cwd=dist, check=False).returncode != 0


def test_checksums_of_all_files_are_accepted(dist: Path) -> None:
    assert checksum_faults(dist) == []


def test_a_changed_an_added_and_a_missing_file_are_found(dist: Path) -> None:
    (dist / "tidings-0.1.0-py3-none-any.whl").write_bytes(b"wheel!")
    (dist / "tidings-client-0.1.0.tgz").rename(dist / "other.tgz")
    assert checksum_faults(dist) == [
        "other.tgz: not listed in SHA256SUMS",
        "tidings-client-0.1.0.tgz: missing",
        "tidings-0.1.0-py3-none-any.whl: differs from its checksum",
    ]


def test_a_signature_is_valid_for_the_key_and_the_checksums_that_were_signed(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, signers = new_key(tmp_path, "key")
    _, other_signers = new_key(tmp_path, "other")
    monkeypatch.setenv(KEY, private)
    assert sign(dist)
    assert signature_faults(dist, signers) == []
    assert len(signature_faults(dist, other_signers)) == 1
    sums = dist / "SHA256SUMS"
    sums.write_text(sums.read_text().replace("a", "b", 1))
    assert len(signature_faults(dist, signers)) == 1


def test_a_signature_for_another_purpose_is_refused(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private, signers = new_key(tmp_path, "key")
    monkeypatch.setenv(KEY, private)
    command = ["ssh-keygen", "-Y", "sign", "-q", "-f", str(tmp_path / "key"), "-n", "file", "SHA256SUMS"]
    subprocess.run(command, cwd=dist, check=True)
    assert len(signature_faults(dist, signers)) == 1
    assert sign(dist)
    assert signature_faults(dist, signers) == []


def test_a_release_without_a_key_is_reported_as_not_signed(
    dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY, raising=False)
    assert not sign(dist)
    assert release_faults(dist) == [f"not signed: there is no {SIGNATURE}"]
    names = ["SHA256SUMS", "tidings-0.1.0-py3-none-any.whl", "tidings-client-0.1.0.tgz"]
    assert artefact_figures(dist) == {"artefacts": 3, "artefact_names": names}


def test_without_a_build_there_are_no_artefacts(tmp_path: Path) -> None:
    assert artefact_figures(tmp_path) == {"artefacts": None, "artefact_names": []}
    assert len(release_faults(tmp_path)) == 1
