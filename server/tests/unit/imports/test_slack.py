"""The conversion of a Slack export. The fixtures are written by hand in the documented format."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.app.wiring.imports import ProductChecks
from tidings.imports.conversion import MAX_TEXT_BYTES, UserIds, split_text
from tidings.imports.model import (
    ChatLine,
    ImportLine,
    LinePlace,
    MemberLine,
    MessageLine,
    UserLine,
    encode_line,
)
from tidings.imports.reader import ImportFolder
from tidings.imports.slack import SlackConverter
from tidings.imports.slack_markup import emoji_of, plain_text
from tidings.imports.validation import ImportValidator

NOW_MS = 1_790_000_000_000
USERS = [
    {"id": "U1", "name": "ada", "profile": {"display_name": "Ada", "email": "ada@example.org"}},
    {"id": "U2", "name": "ben", "real_name": "Ben B.", "profile": {}},
]
GENERAL = {"id": "C1", "name": "general", "created": 1577836800, "creator": "U1", "members": ["U1", "U2"]}
DAY = "general/2020-01-01.json"


class MemoryArchive:
    def __init__(self, files: Mapping[str, object]) -> None:
        self._files = {name: json.dumps(content).encode() for name, content in files.items()}

    def names(self) -> Collection[str]:
        return self._files

    def read(self, name: str) -> bytes:
        return self._files[name]


def converter(messages: list[dict[str, Any]], **files: object) -> SlackConverter:
    base: dict[str, object] = {"users.json": USERS, "channels.json": [GENERAL], DAY: messages}
    return SlackConverter(MemoryArchive(base | files), "slack")


def convert(messages: list[dict[str, Any]], **files: object) -> list[ImportLine]:
    """Convert, and check that the result can be imported."""
    return valid(converter(messages, **files))


def valid(slack: SlackConverter, folder: ImportFolder | None = None) -> list[ImportLine]:
    lines = list(slack.convert())
    placed = [(LinePlace("a", n), encode_line(line)) for n, line in enumerate(lines, 1)]
    assert ImportValidator(ProductChecks(folder), NOW_MS).validate(placed).problems == []
    return lines


def said(number: int, text: str = "hi", user: str = "U1", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": f"15778368{number:02}.000100"} | more


def messages_of(lines: list[ImportLine]) -> list[MessageLine]:
    return [line for line in lines if isinstance(line, MessageLine)]


def test_users_channels_and_messages_are_converted() -> None:
    lines = convert([said(2, "second", "U2"), said(1, "first")])
    users = [(line.id, line.name, line.email) for line in lines if isinstance(line, UserLine)]
    assert users == [("U1", "Ada", "ada@example.org"), ("U2", "Ben B.", None)]
    (chat,) = [line for line in lines if isinstance(line, ChatLine)]
    assert (chat.id, chat.kind, chat.name, chat.created_by) == ("C1", "group", "general", "U1")
    assert [(line.id, line.text) for line in messages_of(lines)] == [
        ("1577836801.000100", "first"),
        ("1577836802.000100", "second"),
    ]


def test_a_thread_becomes_replies_to_its_first_message() -> None:
    first = said(1)["ts"]
    lines = messages_of(
        convert([said(1, thread_ts=first), said(2, thread_ts=first), said(3, thread_ts="1500000000.000000")])
    )
    assert [line.reply_to for line in lines] == [None, first, None]


def test_edits_deletions_reactions_and_mentions_are_kept() -> None:
    reactions = [
        {"name": "+1", "users": ["U1", "U2"], "count": 2},
        {"name": "+1::skin-tone-3", "users": ["U2"], "count": 1},
        {"name": "our_logo", "users": ["U1"], "count": 1},
    ]
    edited, deleted = messages_of(
        convert(
            [
                said(1, "Hi <@U2>", edited={"user": "U1", "ts": "1577836900.000000"}, reactions=reactions),
                said(2, "This message was deleted.", "USLACKBOT", subtype="tombstone"),
            ]
        )
    )
    assert (edited.text, edited.mentions) == ("Hi @Ben B.", ("U2",))
    assert edited.edited_at is not None
    assert [(each.emoji, each.users) for each in edited.reactions] == [
        ("👍", ("U1", "U2")),
        (":our_logo:", ("U1",)),
    ]
    assert (deleted.text, deleted.deleted_at) == ("", deleted.at)


def test_joins_and_topics_are_left_out_and_counted() -> None:
    slack = converter([said(1, subtype="channel_join"), said(2, subtype="channel_topic"), said(3)])
    assert len(messages_of(valid(slack))) == 1
    assert slack.report.left_out["changes of channels, such as joins and topics"] == 2


def test_bots_and_users_of_other_workspaces_become_users() -> None:
    bot = {"type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "deploys", "text": "done"}
    lines = convert(
        [bot | {"ts": "1577836801.0"}, said(2, user="U9", user_profile={"display_name": "Guest"})]
    )
    users = {str(line.id): line.name for line in lines if isinstance(line, UserLine)}
    assert (users["B1"], users["U9"]) == ("deploys", "Guest")


def test_direct_and_group_messages_are_chats_of_their_members() -> None:
    lines = convert(
        [],
        **{
            "dms.json": [
                {"id": "D1", "created": 1577836800, "members": ["U1", "U2"]},
                {"id": "D2", "created": 1577836800, "members": ["U1"]},
            ],
            "mpims.json": [
                {"id": "G1", "name": "mpdm-ada--ben-1", "created": 1577836800, "members": ["U1", "U2"]}
            ],
            "D1/2020-01-01.json": [said(1, "psst")],
            "mpdm-ada--ben-1/2020-01-01.json": [said(1, "us")],
        },
    )
    chats = {line.id: (line.kind, line.name) for line in lines if isinstance(line, ChatLine)}
    assert chats == {
        "C1": ("group", "general"),
        "G1": ("group", "Ada, Ben B."),
        "D1": ("direct", None),
        "D2": ("group", "Ada"),
    }
    assert [(line.chat, line.text) for line in messages_of(lines)] == [("G1", "us"), ("D1", "psst")]


def test_a_channel_without_members_is_left_out() -> None:
    slack = converter([said(1)], **{"channels.json": [GENERAL | {"members": []}]})
    assert messages_of(valid(slack)) == []
    assert slack.report.left_out["chats without members"] == 1


def test_the_address_of_a_file_has_no_token() -> None:
    file = {"name": "a.png", "url_private": "https://files.slack.com/T1/a.png?t=xoxe-1"}
    (line,) = messages_of(convert([said(1, "", files=[file])]))
    assert line.text == "a.png: https://files.slack.com/T1/a.png"


def test_files_in_the_folder_become_attachments_as_long_as_they_fit(tmp_path: Path) -> None:
    for name in ("F1", "F2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.png").write_bytes(b"png")
    one = {"id": "F1", "name": "a.png"}
    two = {"id": "F2", "name": "a.png"}
    gone = {"id": "F3", "name": "b.png", "url_private": "https://files.slack.com/b.png"}
    messages = [
        said(1, "", files=[one, two]),
        said(2, "look", files=[one, gone, two]),
        said(3, files=[one] * 9),
    ]
    archive = MemoryArchive({"users.json": USERS, "channels.json": [GENERAL], DAY: messages})
    folder = ImportFolder(tmp_path)
    first, second, third = messages_of(valid(SlackConverter(archive, "slack", folder=folder), folder))
    assert [part.path for part in first.attachments] == ["F1/a.png", "F2/a.png"]
    assert first.text == ""
    assert [part.path for part in second.attachments] == ["F1/a.png"]
    assert second.text == "look\nb.png: https://files.slack.com/b.png\na.png"
    assert len(third.attachments) == 6


def test_a_file_outside_of_the_folder_is_not_attached(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "files").mkdir()
    archive = MemoryArchive(
        {
            "users.json": USERS,
            "channels.json": [GENERAL],
            DAY: [said(1, files=[{"id": "..", "name": "secret"}])],
        }
    )
    (line,) = messages_of(valid(SlackConverter(archive, "slack", folder=ImportFolder(tmp_path / "files"))))
    assert line.attachments == ()


def test_a_long_message_becomes_several() -> None:
    lines = messages_of(convert([said(1, "word " * 2_000)]))
    assert [line.id for line in lines][:2] == ["1577836801.000100", "1577836801.000100-2"]
    assert "".join(line.text for line in lines) == "word " * 2_000


def test_users_are_mapped_to_the_ids_of_the_tenant() -> None:
    archive = MemoryArchive({"users.json": USERS, "channels.json": [GENERAL], DAY: [said(1, "<@U2>")]})
    lines = valid(SlackConverter(archive, "slack", UserIds({"U1": "ada", "U2": "ben"})))
    assert {line.id for line in lines if isinstance(line, UserLine)} == {"ada", "ben"}
    assert [line.user for line in lines if isinstance(line, MemberLine)] == ["ada", "ben"]
    assert [(line.user, line.mentions) for line in messages_of(lines)] == [("ada", ("ben",))]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a &lt;b&gt; &amp;amp;", "a <b> &amp;"),
        ("<@U1>, <@U7|bob>", "@Ada, @U7"),
        ("<#C1|general> <#C2>", "#general #C2"),
        ("<!here> <!channel> <!subteam^S1|@team>", "@here @channel @team"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ("<https://a.example/x>", "https://a.example/x"),
        ("<https://a.example/x|here>", "here (https://a.example/x)"),
        ("<https://a.example/|a.example>", "https://a.example/"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("yes :+1: :+1::skin-tone-2: :unknown_one:", "yes 👍 👍 :unknown_one:"),
        ("5 < 6 > 4", "5 < 6 > 4"),
        ("<>", "<>"),
    ],
)
def test_markup_becomes_plain_text(markup: str, text: str) -> None:
    assert plain_text(markup, lambda user: {"U1": "Ada"}.get(user, user), lambda _: None) == text


def test_an_unknown_emoji_keeps_its_name() -> None:
    assert emoji_of("party-parrot") == ":party-parrot:"


@given(st.text())
def test_any_text_is_plain_text(markup: str) -> None:
    plain_text(markup, str, lambda _: None)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(1, 400))
def test_the_parts_of_a_text_fit_and_are_complete(text: str, times: int) -> None:
    long = text * times
    parts = list(split_text(long))
    assert "".join(parts) == long
    assert all(0 < len(json.dumps(part, ensure_ascii=False).encode()) <= 2 * MAX_TEXT_BYTES for part in parts)


_TS = st.integers(1_400_000_000, 1_780_000_000).map(lambda second: f"{second}.000100")
_MESSAGE = st.fixed_dictionaries(
    {"ts": _TS, "type": st.just("message")},
    optional={
        "user": st.sampled_from(["U1", "U2", "U3"]),
        "bot_id": st.just("B1"),
        "text": st.text(max_size=30) | st.sampled_from(["<@U1> :+1:", "x" * 9_000, "\ud800"]),
        "thread_ts": _TS,
        "subtype": st.sampled_from(["tombstone", "channel_join", "bot_message"]),
        "edited": st.fixed_dictionaries({"ts": _TS}),
        "reactions": st.lists(
            st.fixed_dictionaries(
                {"name": st.text(max_size=40), "users": st.lists(st.sampled_from(["U1", "U4"]))}
            )
        ),
    },
)


@given(st.lists(_MESSAGE, max_size=8), st.lists(_MESSAGE, max_size=3))
def test_every_export_becomes_a_valid_file(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    convert(first, **{"general/2020-01-02.json": second})
