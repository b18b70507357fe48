"""Limits of message content, and the fingerprint that detects retries."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import (
    ChatId,
    ChatKey,
    ClientKey,
    TenantId,
    UserId,
    encode_ulid,
    message_id,
    new_ulid,
    split_message_id,
)
from tidings.messages.model import EntryKind, IdempotencyKey
from tidings.messages.sender import (
    MAX_CONTENT_BYTES,
    MAX_DATA_DEPTH,
    Content,
    decode_content,
    encode_content,
    fingerprint_input,
    preview_text,
)

CHAT = ChatKey(TenantId("acme"), ChatId("c"))
KEY = IdempotencyKey(UserId("anna"), ClientKey("k"))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(min_size=1, max_size=200), st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_content_is_decoded_unchanged(text: str, data: dict[str, Any]) -> None:
    content = Content(text=text, data=data, reply_to=7, mentions=(UserId("ben"),))
    assert decode_content(encode_content(content)) == content


def test_equal_content_has_equal_bytes_for_any_order_of_fields() -> None:
    assert encode_content(Content(text="x", data={"a": 1, "b": 2})) == encode_content(
        Content(text="x", data={"b": 2, "a": 1})
    )


def code_of(doing: Callable[[], object]) -> Code:
    with pytest.raises(TidingsError) as caught:
        doing()
    return caught.value.code


def test_content_is_bounded_in_size_and_depth_and_not_empty() -> None:
    fits = "x" * (MAX_CONTENT_BYTES - len('{"text":""}'))
    assert len(encode_content(Content(text=fits))) == MAX_CONTENT_BYTES
    assert code_of(lambda: encode_content(Content(text=fits + "x"))) is Code.CONTENT_TOO_LARGE
    deep: dict[str, Any] = {}
    for _ in range(MAX_DATA_DEPTH):
        deep = {"in": deep}
    assert code_of(lambda: encode_content(Content(data=deep))) is Code.CONTENT_INVALID
    assert code_of(lambda: encode_content(Content())) is Code.CONTENT_INVALID
    encode_content(Content(data={}))


def test_the_hash_of_a_try_covers_exactly_the_relevant_fields() -> None:
    body = encode_content(Content(text="hi"))
    first = fingerprint_input(CHAT, KEY, EntryKind.MESSAGE, body)
    assert fingerprint_input(CHAT, KEY, EntryKind.MESSAGE, encode_content(Content(text="hi"))) == first
    others = [
        fingerprint_input(ChatKey(TenantId("acme"), ChatId("d")), KEY, EntryKind.MESSAGE, body),
        fingerprint_input(ChatKey(TenantId("other"), ChatId("c")), KEY, EntryKind.MESSAGE, body),
        fingerprint_input(CHAT, IdempotencyKey(UserId("ben"), KEY.client_key), EntryKind.MESSAGE, body),
        fingerprint_input(CHAT, IdempotencyKey(KEY.sender, ClientKey("l")), EntryKind.MESSAGE, body),
        fingerprint_input(CHAT, KEY, EntryKind.EDIT, body),
        fingerprint_input(CHAT, KEY, EntryKind.MESSAGE, body, about=1),
        fingerprint_input(CHAT, KEY, EntryKind.MESSAGE, body, ttl_s=1),
        fingerprint_input(CHAT, KEY, EntryKind.MESSAGE, encode_content(Content(text="ho"))),
    ]
    assert len({first, *others}) == len(others) + 1


def test_a_message_id_contains_its_chat_and_sequence() -> None:
    assert split_message_id(message_id(ChatId("d.ot"), 42)) == ("d.ot", 42)
    for wrong in ("", "x", ".5", "c.", "c.0", "c.05", "c.-1", "c.x", "c.\u0661"):
        assert split_message_id(wrong) is None  # type: ignore[arg-type]


def test_ulids_are_encoded_as_specified() -> None:
    assert encode_ulid(1469918176385, 0) == "01ARYZ6S41" + "0" * 16
    assert len({new_ulid() for _ in range(1000)}) == 1000
    assert len(new_ulid()) == 26


FIRST, SECOND = new_ulid(), new_ulid()


@pytest.mark.parametrize(
    ("text", "files", "data", "shown"),
    [
        ("hello", (FIRST,), None, "hello"),
        ("", (), {"attachments": {FIRST: {"name": "a"}}}, ""),
        ("", (FIRST,), {"attachments": {FIRST: {"name": "beach.jpg"}}}, "📎 beach.jpg"),
        ("", (FIRST, SECOND), {"attachments": {FIRST: {"name": "beach.jpg"}}}, "📎 beach.jpg +1"),
        ("", (FIRST, SECOND), None, "📎 +1"),
        ("", (FIRST,), {"attachments": [FIRST]}, "📎"),
        ("", (FIRST,), {"attachments": {FIRST: "beach.jpg"}}, "📎"),
        ("", (FIRST,), {"attachments": {FIRST: {"name": 7}}}, "📎"),
    ],
)
def test_the_preview_of_a_message_without_text_is_the_name_of_its_first_file(
    text: str, files: tuple[str, ...], data: dict[str, Any] | None, shown: str
) -> None:
    assert preview_text(Content(text=text, attachments=files, data=data)) == shown
