"""The report of files that cannot be imported."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.imports.model import AttachmentPart, FoundFile, LinePlace, MessageLine, UserLine
from tidings.imports.reader import MAX_LINE_BYTES, ImportFolder, read_lines
from tidings.imports.validation import ImportReport, ImportValidator
from tidings.kernel.errors import Code, TidingsError

NOW_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
MAX_TEXT = 100

HEADER = {"type": "import", "version": 1, "source": "slack"}
ADA = {"type": "user", "id": "ada", "name": "Ada"}
BEN = {"type": "user", "id": "ben"}
CHAT = {"type": "chat", "id": "C1", "kind": "group", "name": "General", "created_at": "2024-01-01T00:00:00Z"}
ADA_IN = {"type": "member", "chat": "C1", "user": "ada"}
BEN_IN = {"type": "member", "chat": "C1", "user": "ben"}
HELLO = {
    "type": "message",
    "chat": "C1",
    "id": "m1",
    "user": "ada",
    "at": "2024-01-01T00:01:00Z",
    "text": "Hello",
}
VALID = [HEADER, ADA, BEN, CHAT, ADA_IN, BEN_IN, HELLO]


class ShortTexts:
    """Checks with small limits in place of those of users and messages."""

    def check_user(self, user: UserLine) -> None:
        if user.name is not None and len(user.name) > MAX_TEXT:
            raise TidingsError(Code.REQUEST_INVALID, "The name is too long.")

    def find_file(self, part: AttachmentPart) -> FoundFile:
        return ImportFolder(Path(__file__).parent).find(part)

    def encode_message(
        self, message: MessageLine, reply_to: int | None, files: Mapping[str, FoundFile]
    ) -> bytes:
        del reply_to, files
        if len(message.text) > MAX_TEXT:
            raise TidingsError(Code.CONTENT_TOO_LARGE, "The content is too large.")
        return message.text.encode()


def validate(lines: Sequence[object], *, max_members: int | None = None) -> ImportReport:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    placed = [(LinePlace("a.jsonl", number), line) for number, line in enumerate(raw, 1)]
    return ImportValidator(ShortTexts(), NOW_MS, max_members=max_members).validate(placed)


def test_a_valid_file_is_counted() -> None:
    reacted = HELLO | {"id": "m2", "reply_to": "m1", "reactions": [{"emoji": "👍", "users": ["ada", "ben"]}]}
    report = validate([*VALID, reacted])
    assert report.problems == []
    counts = report.counts
    assert (counts.users, counts.chats, counts.members, counts.messages) == (2, 1, 2, 2)
    assert counts.reactions == 2
    assert report.source == "slack"


@pytest.mark.parametrize(
    ("lines", "number", "reason"),
    [
        ([ADA], 1, "The first line of a file"),
        ([HEADER | {"version": 2}], 1, "Version 2 is not known"),
        ([HEADER, HEADER], 2, "`import` is the first line"),
        ([HEADER, b"{"], 2, "truncated"),
        ([HEADER, b'\xff{"type"'], 2, "malformed"),
        ([HEADER, {"type": "team"}], 2, "Invalid value 'team'"),
        ([HEADER, ADA | {"nmae": "x"}], 2, "unknown field `nmae`"),
        ([HEADER, ADA, ADA], 3, "A second line for the user `ada`"),
        ([HEADER, ADA | {"id": "a/b"}], 2, "is not a user id"),
        ([HEADER, ADA | {"name": "x" * 101}], 2, "name is too long"),
        ([*VALID, BEN | {"id": "cleo"}], 8, "before the first chat"),
        ([*VALID, CHAT, ADA_IN], 8, "A second line for the chat `C1`"),
        ([HEADER, ADA, ADA_IN], 3, "no line for a chat"),
        ([HEADER, ADA, CHAT, BEN_IN, ADA_IN], 4, "no line for the user `ben`"),
        ([*VALID, BEN_IN], 8, "before the messages"),
        ([*VALID, HELLO | {"chat": "C2", "id": "m2"}], 8, "of the chat `C2`"),
        ([*VALID, HELLO], 8, "A second message `m1`"),
        ([*VALID, HELLO | {"id": "m 2"}], 8, "matching regex"),
        ([*VALID, HELLO | {"id": "m2", "at": "2023-12-31T00:00:00Z"}], 8, "earlier than"),
        ([*VALID, HELLO | {"id": "m2", "at": "2027-01-01T00:00:00Z"}], 8, "in the future"),
        ([*VALID, HELLO | {"id": "m2", "at": "2024-01-01T00:01:00"}], 8, "timezone"),
        ([*VALID, HELLO | {"id": "m2", "reply_to": "m9"}], 8, "`reply_to` is `m9`"),
        ([*VALID, HELLO | {"id": "m2", "reply_to": "m2"}], 8, "`reply_to` is `m2`"),
        ([*VALID, HELLO | {"id": "m2", "mentions": ["cleo"]}], 8, "no line for the user `cleo`"),
        ([*VALID, HELLO | {"id": "m2", "text": "x" * 101}], 8, "too large"),
        ([*VALID, HELLO | {"id": "m2", "edited_at": "2023-01-01T00:00:00Z"}], 8, "`edited_at` is before"),
        ([*VALID, HELLO | {"id": "m2", "deleted_at": "2024-02-01T00:00:00Z"}], 8, "has no `text`"),
        (
            [*VALID, HELLO | {"id": "m2", "attachments": [{"path": "gone.jpg"}]}],
            8,
            "`gone.jpg` is not a file",
        ),
        ([*VALID, HELLO | {"id": "m2", "attachments": [{"path": "x"}] * 11}], 8, "of length <= 10"),
        (
            [*VALID, HELLO | {"id": "m2", "attachments": [{"path": Path(__file__).name, "type": "Text"}]}],
            8,
            "matching regex",
        ),
        (
            [
                *VALID,
                {**HELLO, "id": "m2", "text": "", "deleted_at": "2024-02-01T00:00:00Z"}
                | {"attachments": [{"path": Path(__file__).name}]},
            ],
            8,
            "has no `text`",
        ),
        (
            [*VALID, HELLO | {"id": "m2", "reactions": [{"emoji": "a", "users": ["ada", "ada"]}]}],
            8,
            "a user twice",
        ),
        ([HEADER, ADA, CHAT | {"created_at": None}, ADA_IN], 3, "neither messages nor `created_at`"),
        ([HEADER, ADA, CHAT | {"kind": "direct"}, ADA_IN], 3, "needs two members"),
    ],
)
def test_each_problem_is_reported_with_its_line(lines: list[object], number: int, reason: str) -> None:
    report = validate(lines)
    assert [(p.place.number, reason in p.reason) for p in report.problems] == [(number, True)], (
        report.problems
    )


def test_more_members_than_the_tenant_allows_are_reported_once() -> None:
    report = validate([*VALID, HELLO | {"id": "m2"}], max_members=1)
    assert [str(problem) for problem in report.problems] == [
        "a.jsonl:4: `C1` has 2 members; the tenant allows 1."
    ]


def test_a_second_direct_chat_of_the_same_users_is_reported() -> None:
    def direct(name: str) -> list[dict[str, str]]:
        return [
            CHAT | {"id": name, "kind": "direct"},
            {"type": "member", "chat": name, "user": "ada"},
            {"type": "member", "chat": name, "user": "ben"},
        ]

    report = validate([HEADER, ADA, BEN, *direct("D1"), *direct("D2")])
    assert [problem.place.number for problem in report.problems] == [7]


def test_a_report_lists_the_first_problems_and_counts_all() -> None:
    report = validate([HEADER, *[b"x"] * 50])
    assert report.problem_count == 50
    assert len(report.problems) == 20


@given(st.lists(st.binary(max_size=40) | st.sampled_from([json.dumps(each).encode() for each in VALID])))
def test_any_lines_give_a_report(lines: list[bytes]) -> None:
    report = validate(lines)
    assert report.problem_count >= len(report.problems)


def test_lines_are_read_with_their_numbers_and_a_long_line_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n\n" + b"x" * (MAX_LINE_BYTES + 5) + b"\nlast")
    found = [(place.number, len(line)) for place, line in read_lines([path])]
    assert found == [(1, 4), (3, MAX_LINE_BYTES), (3, 6), (4, 4)]


@pytest.mark.parametrize(
    "path", ["../secret", "/etc/passwd", "link", "gone", "empty", "folder", "a\0b", "x" * 500]
)
def test_only_files_in_the_folder_are_found(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "files"
    (folder / "folder").mkdir(parents=True)
    (folder / "empty").touch()
    (tmp_path / "secret").write_text("secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(TidingsError, match="is not a file in"):
        ImportFolder(folder).find(AttachmentPart(path=path))


def test_a_file_has_the_name_and_type_of_its_path_unless_the_line_has_others(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"xyz")
    found = ImportFolder(tmp_path).find(AttachmentPart(path="./a.png"))
    assert (found.name, found.type, found.size) == ("a.png", "image/png", 3)
    named = ImportFolder(tmp_path).find(AttachmentPart(path="a.png", name="b.unknown"))
    assert (named.name, named.type) == ("b.unknown", "application/octet-stream")
