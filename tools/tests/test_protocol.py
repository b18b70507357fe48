"""The files in `protocol/` are current, and every change of the frames that breaks a client is reported."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tidings_wire.fields import PROTOCOL
from tools.protocol import schema
from tools.protocol.__main__ import group
from tools.protocol.breaking_changes import find_breaking_frame_changes
from tools.protocol.outputs import BASELINE, render_all, stale_files

ROOT = Path(__file__).parents[2]

type Document = dict[str, Any]


def test_every_published_file_is_current() -> None:
    assert stale_files(ROOT) == [], "run: just protocol write"


def test_nothing_in_the_folder_is_left_over() -> None:
    existing = set((ROOT / "protocol").rglob("*.json"))
    assert existing - render_all(ROOT).keys() <= {ROOT / BASELINE, ROOT / "protocol/openapi.json"}


def test_existing_clients_are_not_broken() -> None:
    assert (
        find_breaking_frame_changes(
            msgspec.json.decode((ROOT / BASELINE).read_bytes()), schema.schema_document()
        )
        == []
    )


def test_the_changes_by_level_end_with_the_level_of_the_protocol() -> None:
    table = (ROOT / "docs/reference/protocol.md").read_text().partition("### Changes by level")[2]
    assert max(map(int, re.findall(r"^\| (\d+) \|", table, re.MULTILINE))) == PROTOCOL


@pytest.fixture
def before() -> Document:
    document: Document = copy.deepcopy(schema.schema_document())
    return document


def _drop(document: Document, body: str, field: str) -> None:
    del document["$defs"][body]["properties"][field]


def _require(document: Document, body: str, field: str) -> None:
    document["$defs"][body].setdefault("required", []).append(field)


def _let_be_missing(document: Document, body: str, field: str) -> None:
    document["$defs"][body]["required"].remove(field)


def _retype(document: Document, body: str, field: str, form: Document) -> None:
    document["$defs"][body]["properties"][field] = form


def _add(document: Document, body: str, field: str) -> None:
    _retype(document, body, field, {"type": "string"})
    _require(document, body, field)


BREAKING: dict[str, tuple[Callable[[Document], object], str]] = {
    "a request is gone": (lambda d: d["requests"].pop("react"), "requests.react: was removed"),
    "a push is gone": (lambda d: d["pushes"].pop("receipts"), "pushes.receipts: was removed"),
    "a field of a request is gone": (
        lambda d: _drop(d, "Send", "ttl_seconds"),
        "send.send.ttl_seconds: was removed",
    ),
    "a field of a push is gone": (
        lambda d: _drop(d, "EntryPush", "by"),
        "pushes.entry.entry.by: was removed",
    ),
    "a field of an entry in a page is gone": (
        lambda d: _drop(d, "Entry", "text"),
        "answers.history.ok.entries[].text: was removed",
    ),
    "a request needs a field more": (
        lambda d: _require(d, "Send", "after"),
        "send.send.after: is required now",
    ),
    "an answer lacks a field": (
        lambda d: _let_be_missing(d, "CommitResult", "sequence"),
        "answers.send.ok.sequence: can be missing now",
    ),
    "a field has another type": (
        lambda d: _retype(d, "CommitResult", "sequence", {"type": "string"}),
        "answers.send.ok.sequence: was integer, is string",
    ),
    "an optional field has another type": (
        lambda d: _retype(d, "Send", "after", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        "send.send.after: was integer or null, is null or string",
    ),
    "an answer begins to tell null": (
        lambda d: _retype(d, "CommitResult", "sequence", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        "answers.send.ok.sequence: was integer, is integer or null",
    ),
    "a bound is tighter": (
        lambda d: d["$defs"]["Send"]["properties"]["text"].update(maxLength=100),
        "send.send.text: maxLength is 100, was 4096",
    ),
    "an optional field's bound is tighter": (
        lambda d: _retype(
            d, "Send", "after", {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "null"}]}
        ),
        "send.send.after: minimum is 5, was 0",
    ),
    "a bound of the keys is tighter": (
        lambda d: d["$defs"]["Resume"]["properties"]["positions"]["propertyNames"].update(maxLength=10),
        "resume.resume.positions[]: maxLength is 10, was 64",
    ),
    "a default is another": (
        lambda d: d["$defs"]["TypingPush"]["properties"]["is_typing"].update(default=False),
        "pushes.typing.typing.is_typing: the default is False, was True",
    ),
    "a word is gone": (
        lambda d: d["$defs"]["Presence"]["properties"]["status"]["enum"].remove("away"),
        "presence.presence.status: the value away was removed",
    ),
    "a request needs an id": (lambda d: _require(d, "ackRequest", "id"), "ack.id: is required now"),
}


@pytest.mark.parametrize("name", BREAKING)
def test_a_change_that_breaks_old_clients_is_named(before: Document, name: str) -> None:
    change, line = BREAKING[name]
    after = copy.deepcopy(before)
    change(after)
    assert line in find_breaking_frame_changes(before, after)


GROWING: dict[str, Callable[[Document], object]] = {
    "nothing": lambda _: None,
    "a new push": lambda d: d["pushes"].update(notification="#/$defs/PingPush"),
    "a new request": lambda d: d["requests"].update(dance="#/$defs/pingRequest"),
    "an optional field of a request": lambda d: _retype(d, "Send", "priority", {"type": "integer"}),
    "a field of a push": lambda d: _add(d, "EntryPush", "mood"),
    "a looser bound": lambda d: d["$defs"]["Send"]["properties"]["text"].update(maxLength=9999),
    "a further kind of entry": lambda d: d["$defs"]["Entry"]["properties"]["kind"]["enum"].append("poll"),
    "a request that needs less": lambda d: _let_be_missing(d, "Send", "client_message_id"),
}


@pytest.mark.parametrize("name", GROWING)
def test_an_addition_to_the_protocol_breaks_no_client(before: Document, name: str) -> None:
    after = copy.deepcopy(before)
    GROWING[name](after)
    assert find_breaking_frame_changes(before, after) == []


def _copy(root: Path) -> None:
    for path in (*render_all(ROOT), ROOT / BASELINE):
        copied = root / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(path.read_text())


def test_check_lists_outdated_files_and_write_updates_them(tmp_path: Path) -> None:
    _copy(tmp_path)
    page, codes = tmp_path / "docs/reference/protocol.md", tmp_path / "protocol/close_codes.json"
    page.write_text(page.read_text().replace('{"ping":{}}', '{"pang":{}}'))
    codes.unlink()
    result = CliRunner().invoke(group, ["check", "--root", str(tmp_path)])
    assert result.exit_code == 1
    assert "protocol.md is not current" in result.output
    assert "close_codes.json is not current" in result.output
    assert CliRunner().invoke(group, ["write", "--root", str(tmp_path)]).exit_code == 0
    assert stale_files(tmp_path) == []


def test_check_names_changes_that_break_clients(tmp_path: Path, before: Document) -> None:
    _copy(tmp_path)
    before["requests"]["dance"] = before["requests"]["ping"]
    (tmp_path / BASELINE).write_bytes(msgspec.json.encode(before))
    result = CliRunner().invoke(group, ["check", "--root", str(tmp_path)])
    assert result.exit_code == 1
    assert "breaks existing clients: requests.dance: was removed" in result.output
