"""The artefacts of a commit: equal files from two builds, chart, changelog, provenance and SBOMs."""

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from infra.chart_checks import KUBERNETES
from tools.node import ROOT
from tools.release import packages
from tools.release.changelog import has_fragments, read_section, render_unreleased
from tools.release.command import ReleaseError, run
from tools.release.feature_level import level_fault
from tools.release.npm_lock import read_components
from tools.release.provenance import NAME, write_provenance
from tools.release.sbom import write_sboms
from tools.release.source import ReleaseSource, check_out, require_tag
from tools.release.versions import read_version

VERSION = "9.8.7rc6"
IDENTITY = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit: what git tracks here, so that the state of this checkout does not matter."""
    folder = tmp_path_factory.mktemp("repository")
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", cwd=ROOT).split("\0")
    for name in (name for name in tracked if name and (ROOT / name).exists()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    run("git", "init", "--quiet", cwd=folder)
    run("git", "add", "--all", cwd=folder)
    run("git", *IDENTITY, "commit", "--quiet", "--message", "All files", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def built(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> ReleaseSource:
    return check_out(repository, tmp_path_factory.mktemp("clone") / "source", VERSION)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_checkout_with_changes_is_refused(repository: Path, tmp_path: Path) -> None:
    (repository / "new.txt").touch()
    try:
        with pytest.raises(ReleaseError, match=r"not committed: \?\? new.txt"):
            check_out(repository, tmp_path / "clone", VERSION)
    finally:
        (repository / "new.txt").unlink()


def test_a_change_of_the_rest_api_needs_the_next_feature_level(repository: Path, tmp_path: Path) -> None:
    run("git", "tag", "v9.8.6", cwd=repository)
    document = repository / "protocol/openapi.json"
    committed = document.read_bytes()
    try:
        changed = json.loads(committed)
        del changed["paths"]["/v1/me"]
        document.write_text(json.dumps(changed))
        run("git", *IDENTITY, "commit", "--quiet", "--all", "--message", "Change the API", cwd=repository)
        with pytest.raises(ReleaseError, match=r"feature level is 1 instead of 2 since v9\.8\.6"):
            check_out(repository, tmp_path / "clone", VERSION)
    finally:
        run("git", "reset", "--quiet", "--hard", "v9.8.6", cwd=repository)
        run("git", "tag", "--delete", "v9.8.6", cwd=repository)


@pytest.mark.parametrize(
    ("level", "schema", "is_right"),
    [
        (1, {"properties": {"id": {"type": "string", "description": "Another text."}}}, True),
        (2, {"properties": {"id": {"type": "string"}}}, False),
        (1, {"properties": {"id": {"type": "string"}, "description": {"type": "string"}}}, False),
        (2, {"properties": {"id": {"type": "string"}, "description": {"type": "string"}}}, True),
        (3, {"properties": {"id": {"type": "integer"}}}, False),
    ],
)
def test_only_texts_may_change_within_a_feature_level(
    level: int, schema: dict[str, Any], *, is_right: bool
) -> None:
    def described(level: int, schema: dict[str, Any]) -> dict[str, Any]:
        return {"info": {"x-feature-level": level}, "paths": {}, "components": {"schemas": {"User": schema}}}

    before = described(1, {"properties": {"id": {"type": "string", "description": "The id."}}})
    assert (level_fault(before, described(level, schema)) is None) == is_right


def test_the_clone_is_prepared_and_the_checkout_stays_as_it_is(
    built: ReleaseSource, repository: Path
) -> None:
    assert read_version(built.folder) == VERSION
    assert not built.is_prepared
    assert not has_fragments(built.folder)
    assert run("git", "status", "--porcelain", cwd=repository) == ""
    assert has_fragments(repository)


def test_the_changelog_has_the_fragments_grouped_by_subject(built: ReleaseSource) -> None:
    section = read_section(built.folder, VERSION)
    fragments = sorted((ROOT / "changes").rglob("*.*.md"))
    assert section.count("\n- ") >= len(fragments) - 1
    if (ROOT / "changes/+first-release.summary.md").exists():
        assert section.startswith("The first release.")
    assert "\n### Chat and delivery\n\n**New**\n\n- " in section
    assert "\n\n\n" not in section
    assert render_unreleased(built.folder) == ""


def test_a_commit_without_the_tag_or_without_the_version_is_refused(
    built: ReleaseSource, repository: Path
) -> None:
    with pytest.raises(ReleaseError, match=f"does not have the tag v{VERSION}"):
        require_tag(built, repository)
    run("git", "tag", f"v{VERSION}", cwd=repository)
    with pytest.raises(ReleaseError, match="is not prepared"):
        require_tag(built, repository)
    run("git", "tag", "--delete", f"v{VERSION}", cwd=repository)


def test_two_builds_of_a_commit_are_equal(
    built: ReleaseSource, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one is in another folder, with new times on all files. The SDK stands for the Python packages."""
    monkeypatch.setattr(packages, "PYTHON_PACKAGES", ("wire", "sdk-python"))
    second = check_out(repository, tmp_path / "elsewhere", VERSION)
    found = []
    for each, name in ((built, "first"), (second, "second")):
        dist = tmp_path / name
        dist.mkdir()
        packages.build_python(each, dist)
        packages.build_chart(each, dist)
        found.append(digests(dist))
    assert len(found[0]) == 5
    assert found[0] == found[1]


def test_packages_have_the_licence_and_require_the_same_version(built: ReleaseSource, tmp_path: Path) -> None:
    words = ("uv", "build", "--quiet", "--wheel", "--out-dir", str(tmp_path), "terminal")
    run(*words, cwd=built.folder, env=built.environment)
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        folder = f"tidings_terminal-{VERSION}.dist-info"
        assert f"{folder}/licenses/LICENSE" in wheel.namelist()
        assert f"Requires-Dist: tidings-sdk=={VERSION}\n" in wheel.read(f"{folder}/METADATA").decode()


def test_the_chart_has_its_version_and_no_test_values(built: ReleaseSource, tmp_path: Path) -> None:
    packages.build_chart(built, tmp_path)
    with tarfile.open(tmp_path / "tidings-chart-9.8.7-rc.6.tgz") as chart:
        names = chart.getnames()
        content = chart.extractfile("tidings/Chart.yaml")
        assert content is not None
        assert b'version: "9.8.7-rc.6"' in content.read()
    assert "tidings/values.yaml" in names
    assert not [name for name in names if name.startswith("tidings/ci/")]
    if shutil.which("helm"):
        template = ["helm", "template", str(next(tmp_path.glob("*.tgz"))), "--kube-version", KUBERNETES]
        subprocess.run(template, check=True, capture_output=True)


def test_the_provenance_names_the_commit_the_lock_files_and_every_file(
    built: ReleaseSource, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "one.whl").write_bytes(b"one")
    write_provenance(built, tmp_path)
    statement = json.loads((tmp_path / NAME).read_text())
    assert statement["subject"] == [
        {"name": "one.whl", "digest": {"sha256": hashlib.sha256(b"one").hexdigest()}}
    ]
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"] == {"version": VERSION, "isPrepared": False}
    commit, *locks = definition["resolvedDependencies"]
    assert commit["digest"]["gitCommit"] == run("git", "rev-parse", "HEAD", cwd=repository).strip()
    assert [each["uri"] for each in locks] == ["uv.lock", "package-lock.json", ".ci/tools.txt"]


def test_the_lists_of_components_have_what_a_package_requires_and_contains(
    built: ReleaseSource, tmp_path: Path
) -> None:
    write_sboms(built, tmp_path)
    lists = {path.name: json.loads(path.read_text()) for path in tmp_path.iterdir()}
    assert len(lists) == 8
    server = {each["name"] for each in lists[f"tidings-{VERSION}.cdx.json"]["components"]}
    assert server >= {"msgspec", "tidings-wire", "pillow", "react", "virtua", "@tidings/console"}
    assert not server & {"pytest", "ruff", "vite"}
    react = lists["tidings-npm-react-9.8.7-rc.6.cdx.json"]
    assert [each["name"] for each in react["components"]] == ["@tidings/client", "virtua"]
    assert react["metadata"]["component"]["purl"] == "pkg:npm/%40tidings/react@9.8.7-rc.6"


def test_a_nested_dependency_is_found_before_one_of_the_root(tmp_path: Path) -> None:
    lock = tmp_path / "package-lock.json"
    packages_of_lock = {
        "app": {"name": "@tidings/app", "version": "1.0.0", "dependencies": {"a": "*", "b": "*"}},
        "node_modules/a": {"version": "1.0.0"},
        "node_modules/b": {
            "version": "1.0.0",
            "dependencies": {"a": "*"},
            "optionalDependencies": {"c": "*"},
        },
        "node_modules/b/node_modules/a": {"version": "2.0.0", "integrity": "sha512-AAEC"},
    }
    lock.write_text(json.dumps({"packages": packages_of_lock}))
    found = read_components(lock, "app")
    assert [each["bom-ref"] for each in found] == ["@tidings/app@1.0.0", "a@1.0.0", "a@2.0.0", "b@1.0.0"]
    assert found[2]["hashes"] == [{"alg": "SHA-512", "content": "000102"}]
