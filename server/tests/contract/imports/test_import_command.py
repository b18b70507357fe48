"""`tidings import`, as an operator types it: an invalid file, and conversions."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner, Result
from contract.imports.test_import import chat_lines, header
from fixtures.engines import Namespace
from fixtures.tables import REGION, Tables

from tidings.cli import tidings
from tidings.kernel.errors import Code, TidingsError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables_dynoxide: Tables) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDINGS_INSTALLATION", "development")
    monkeypatch.setenv("TIDINGS_DYNAMO_ENDPOINT", tables_dynoxide.url)
    monkeypatch.setenv("TIDINGS_DYNAMO_REGION", REGION)
    monkeypatch.setenv("TIDINGS_DYNAMO_TABLE_PREFIX", tables_dynoxide.prefix)


def typed(*words: str) -> Result:
    return CliRunner().invoke(tidings, ["import", *words])


def write(path: Path, lines: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_an_invalid_file_is_reported_by_line_and_not_imported(tmp_path: Path, space: Namespace) -> None:
    CliRunner().invoke(tidings, ["tenant", "create", space.tenant])
    path = write(tmp_path / "a.jsonl", [*header(), *chat_lines("C1", 1), {"type": "team"}])
    for done in (typed("check", path), typed("run", path, "--tenant", space.tenant)):
        assert f"{path}:10: Invalid value 'team'" in done.output
        assert isinstance(done.exception, TidingsError)
        assert done.exception.code is Code.REQUEST_INVALID


def test_a_tenant_that_does_not_exist_is_refused(tmp_path: Path, space: Namespace) -> None:
    done = typed("run", write(tmp_path / "a.jsonl", header()), "--tenant", space.tenant)
    assert isinstance(done.exception, TidingsError)
    assert "does not exist" in done.exception.message


def test_settings_of_attachments_are_checked_before_an_import(
    tmp_path: Path, space: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    CliRunner().invoke(tidings, ["tenant", "create", space.tenant])
    monkeypatch.setenv("TIDINGS_MEDIA_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("TIDINGS_MEDIA_ACCESS_KEY", "only one of two")
    done = typed("run", write(tmp_path / "a.jsonl", header()), "--tenant", space.tenant)
    assert isinstance(done.exception, TidingsError)
    assert done.exception.code is Code.SETTINGS_INVALID


def test_a_slack_export_is_converted_without_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIDINGS_DYNAMO_ENDPOINT")
    with ZipFile(tmp_path / "export.zip", "w") as file:
        file.writestr("users.json", json.dumps([{"id": "U1", "name": "ada"}]))
        file.writestr("channels.json", json.dumps([{"id": "C1", "name": "general", "members": ["U1"]}]))
        said = {"type": "message", "user": "U1", "text": "hi", "ts": "1577836800.000100"}
        file.writestr("general/2020-01-01.json", json.dumps([said]))
    (tmp_path / "users.csv").write_text("U1,ada\n")
    done = typed("convert", "slack", "export.zip", "--users", "users.csv", "--out", "a.jsonl")
    assert done.exit_code == 0, done.output
    assert "1 users, 1 chats, 1 messages" in done.output
    assert typed("check", "a.jsonl").exit_code == 0
    assert '"user":"ada"' in (tmp_path / "a.jsonl").read_text()


@pytest.mark.parametrize("kind", ["slack", "matrix"])
def test_a_file_that_is_no_export_is_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "x").write_bytes(os.urandom(50))
    done = typed("convert", kind, "x")
    assert isinstance(done.exception, TidingsError)
    assert done.exception.message.startswith("x is not ")
