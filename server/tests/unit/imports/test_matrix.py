"""The conversion of a Matrix export. The fixtures are written by hand in the documented format."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.app.wiring.imports import ProductChecks
from tidings.imports.conversion import UserIds, message_id_of
from tidings.imports.matrix import MatrixConverter, decode_export
from tidings.imports.model import (
    ChatLine,
    ImportLine,
    LinePlace,
    MemberLine,
    MessageLine,
    UserLine,
    encode_line,
)
from tidings.imports.validation import ImportValidator

NOW_MS = 1_790_000_000_000
START_MS = 1_577_836_800_000
ADA, BEN = "@ada:example.org", "@ben:example.org"


def event(number: int, kind: str, content: dict[str, Any], sender: str = ADA, **more: Any) -> dict[str, Any]:
    base = {
        "type": kind,
        "event_id": f"$e{number}",
        "sender": sender,
        "content": content,
        "room_id": "!room:x",
    }
    return base | {"origin_server_ts": START_MS + number * 1000} | more


def said(
    number: int, body: str = "hi", sender: str = ADA, content: Mapping[str, object] | None = None
) -> dict[str, Any]:
    text = {"msgtype": "m.text", "body": body}
    return event(number, "m.room.message", text | dict(content or {}), sender)


def member(number: int, user: str, membership: str, **content: Any) -> dict[str, Any]:
    return event(number, "m.room.member", {"membership": membership} | content, user, state_key=user)


def reaction(number: int, to: int, key: str, sender: str = BEN) -> dict[str, Any]:
    relates_to = {"rel_type": "m.annotation", "event_id": f"$e{to}", "key": key}
    return event(number, "m.reaction", {"m.relates_to": relates_to}, sender)


def edit(number: int, of: int, body: str, sender: str = ADA) -> dict[str, Any]:
    relates_to = {"rel_type": "m.replace", "event_id": f"$e{of}"}
    return said(number, f"* {body}", sender, {"m.new_content": {"body": body}, "m.relates_to": relates_to})


def converter(events: list[dict[str, Any]], **options: Any) -> MatrixConverter:
    export = {"room_name": "Dinner", "room_creator": ADA, "topic": "", "messages": events}
    return MatrixConverter(decode_export(json.dumps(export).encode()), "matrix", **options)


def valid(matrix: MatrixConverter) -> list[ImportLine]:
    """Convert, and check that the result can be imported."""
    lines = list(matrix.convert())
    placed = [(LinePlace("a", n), encode_line(line)) for n, line in enumerate(lines, 1)]
    assert ImportValidator(ProductChecks(), NOW_MS).validate(placed).problems == []
    return lines


def convert(events: list[dict[str, Any]], **options: Any) -> list[ImportLine]:
    return valid(converter(events, **options))


def messages_of(lines: list[ImportLine]) -> list[MessageLine]:
    return [line for line in lines if isinstance(line, MessageLine)]


def test_a_room_becomes_a_group_with_its_members() -> None:
    lines = convert(
        [member(0, ADA, "join", displayname="Ada"), member(1, BEN, "join"), said(2), said(3, "yo", BEN)]
    )
    assert [(line.id, line.name) for line in lines if isinstance(line, UserLine)] == [
        (ADA, "Ada"),
        (BEN, BEN),
    ]
    (chat,) = [line for line in lines if isinstance(line, ChatLine)]
    assert (chat.id, chat.kind, chat.name, chat.created_by) == ("!room:x", "group", "Dinner", ADA)
    assert [(line.id, line.user, line.text) for line in messages_of(lines)] == [
        ("$e2", ADA, "hi"),
        ("$e3", BEN, "yo"),
    ]


def test_a_user_who_left_is_a_former_member_and_one_who_came_back_is_a_member() -> None:
    lines = convert([said(0), member(1, BEN, "join"), member(2, BEN, "leave"), said(3)])
    assert [(line.user, line.left_at is None) for line in lines if isinstance(line, MemberLine)] == [
        (ADA, True),
        (BEN, False),
    ]
    lines = convert([said(0), member(1, BEN, "join"), member(2, BEN, "leave"), member(3, BEN, "join")])
    assert all(line.left_at is None for line in lines if isinstance(line, MemberLine))


def test_the_last_edit_of_the_author_is_the_text() -> None:
    (line,) = messages_of(convert([said(1), edit(2, 1, "one"), edit(3, 1, "two"), edit(4, 1, "forged", BEN)]))
    assert line.text == "two"
    assert line.edited_at is not None


def test_a_redacted_message_is_deleted_and_has_no_reactions() -> None:
    redacted = event(
        1, "m.room.message", {}, unsigned={"redacted_because": {"origin_server_ts": START_MS + 9000}}
    )
    (line,) = messages_of(convert([redacted, reaction(2, 1, "👍")]))
    assert (line.text, line.reactions) == ("", ())
    assert line.deleted_at is not None


def test_reactions_are_counted_by_user() -> None:
    (line,) = messages_of(
        convert([said(1), reaction(2, 1, "👍"), reaction(3, 1, "👍"), reaction(4, 1, "👍", ADA)])
    )
    assert [(each.emoji, each.users) for each in line.reactions] == [("👍", (BEN, ADA))]


def test_replies_and_threads_name_their_parent_without_the_quote() -> None:
    reply = said(
        2, "> <@ada:example.org> hi\n\nyes", BEN, {"m.relates_to": {"m.in_reply_to": {"event_id": "$e1"}}}
    )
    thread = said(3, "more", content={"m.relates_to": {"rel_type": "m.thread", "event_id": "$e1"}})
    lost = said(4, "?", content={"m.relates_to": {"m.in_reply_to": {"event_id": "$gone"}}})
    own = said(5, "me", content={"m.relates_to": {"m.in_reply_to": {"event_id": "$e5"}}})
    lines = messages_of(convert([said(1), reply, thread, lost, own]))
    assert [(line.text, line.reply_to) for line in lines] == [
        ("hi", None),
        ("yes", "$e1"),
        ("more", "$e1"),
        ("?", None),
        ("me", None),
    ]


def test_mentions_of_users_in_the_room_are_kept() -> None:
    (line,) = messages_of(convert([said(1, content={"m.mentions": {"user_ids": [ADA, "@x:y"]}})]))
    assert line.mentions == (ADA,)


def test_encrypted_messages_are_left_out_and_counted() -> None:
    matrix = converter([said(1), event(2, "m.room.encrypted", {"algorithm": "m.megolm.v1.aes-sha2"})])
    assert len(messages_of(valid(matrix))) == 1
    assert matrix.report.left_out["encrypted messages"] == 1


def test_a_room_of_two_can_be_their_direct_chat() -> None:
    lines = convert([said(1), said(2, "yo", BEN)], is_direct=True, ids=UserIds({ADA: "ada", BEN: "ben"}))
    (chat,) = [line for line in lines if isinstance(line, ChatLine)]
    assert chat.kind == "direct"
    assert [line.user for line in messages_of(lines)] == ["ada", "ben"]


def test_an_id_that_a_message_cannot_have_is_hashed() -> None:
    assert message_id_of("$abc") == "$abc"
    assert message_id_of("$a/b").startswith("m-")
    assert message_id_of("$" + "a" * 80) != message_id_of("$" + "a" * 81)


@given(st.binary(max_size=60))
def test_any_file_is_an_export_or_a_decode_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_export(data)


_EVENT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["m.room.message", "m.reaction", "m.room.member", "m.room.encrypted", "x"]),
        "event_id": st.sampled_from(["$1", "$2", "$3", "$4/5"]),
        "sender": st.sampled_from([ADA, BEN]),
        "origin_server_ts": st.integers(START_MS, START_MS + 9_000),
    },
    optional={
        "state_key": st.sampled_from([ADA, BEN, "@cleo:x"]),
        "content": st.fixed_dictionaries(
            {},
            optional={
                "body": st.text(max_size=20) | st.sampled_from(["> a\n\nb", "x" * 9_000, "\ud800"]),
                "membership": st.sampled_from(["join", "leave", "invite", "ban"]),
                "m.new_content": st.fixed_dictionaries({"body": st.text(max_size=5)}),
                "m.relates_to": st.fixed_dictionaries(
                    {"event_id": st.sampled_from(["$1", "$2"])},
                    optional={
                        "rel_type": st.sampled_from(["m.replace", "m.thread", "m.annotation"]),
                        "key": st.text(max_size=12),
                        "m.in_reply_to": st.fixed_dictionaries({"event_id": st.sampled_from(["$1", "$9"])}),
                    },
                ),
            },
        ),
        "unsigned": st.fixed_dictionaries({"redacted_because": st.fixed_dictionaries({})}),
    },
)


@given(st.lists(_EVENT, min_size=1, max_size=10))
def test_every_export_becomes_a_valid_file(events: list[dict[str, Any]]) -> None:
    convert(events)
