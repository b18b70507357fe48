"""What a message may say, and what makes two tries the same."""

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
from tidings.messages.content import MAX_CONTENT_BYTES, MAX_DATA_DEPTH, Content, decode, encode, said
from tidings.messages.model import Kind, SendKey

CHAT = ChatKey(TenantId("acme"), ChatId("c"))
KEY = SendKey(UserId("anna"), ClientKey("k"))

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(min_size=1, max_size=200), st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_content_comes_back_as_it_was_said(text: str, data: dict[str, Any]) -> None:
    content = Content(text=text, data=data, reply_to=7, mentions=(UserId("ben"),))
    assert decode(encode(content)) == content


def test_the_same_words_are_the_same_bytes_whatever_the_order_of_names() -> None:
    assert encode(Content(text="x", data={"a": 1, "b": 2})) == encode(
        Content(text="x", data={"b": 2, "a": 1})
    )


def code_of(doing: Callable[[], object]) -> Code:
    with pytest.raises(TidingsError) as caught:
        doing()
    return caught.value.code


def test_content_is_bounded_in_size_and_depth_and_says_something() -> None:
    fits = "x" * (MAX_CONTENT_BYTES - len('{"text":""}'))
    assert len(encode(Content(text=fits))) == MAX_CONTENT_BYTES
    assert code_of(lambda: encode(Content(text=fits + "x"))) is Code.CONTENT_TOO_LARGE
    deep: dict[str, Any] = {}
    for _ in range(MAX_DATA_DEPTH):
        deep = {"in": deep}
    assert code_of(lambda: encode(Content(data=deep))) is Code.CONTENT_INVALID
    assert code_of(lambda: encode(Content())) is Code.CONTENT_INVALID
    encode(Content(data={}))


def test_tries_differ_in_anything_that_matters_and_in_nothing_else() -> None:
    body = encode(Content(text="hi"))
    first = said(CHAT, KEY, Kind.MESSAGE, body)
    assert said(CHAT, KEY, Kind.MESSAGE, encode(Content(text="hi"))) == first
    others = [
        said(ChatKey(TenantId("acme"), ChatId("d")), KEY, Kind.MESSAGE, body),
        said(ChatKey(TenantId("other"), ChatId("c")), KEY, Kind.MESSAGE, body),
        said(CHAT, SendKey(UserId("ben"), KEY.client_key), Kind.MESSAGE, body),
        said(CHAT, SendKey(KEY.sender, ClientKey("l")), Kind.MESSAGE, body),
        said(CHAT, KEY, Kind.EDIT, body),
        said(CHAT, KEY, Kind.MESSAGE, body, about=1),
        said(CHAT, KEY, Kind.MESSAGE, body, ttl_s=1),
        said(CHAT, KEY, Kind.MESSAGE, encode(Content(text="ho"))),
    ]
    assert len({first, *others}) == len(others) + 1


def test_a_message_id_spells_its_chat_and_sequence() -> None:
    assert split_message_id(message_id(ChatId("d.ot"), 42)) == ("d.ot", 42)
    for wrong in ("", "x", ".5", "c.", "c.0", "c.05", "c.-1", "c.x", "c.\u0661"):
        assert split_message_id(wrong) is None  # type: ignore[arg-type]


def test_ulids_are_as_the_specification_spells_them() -> None:
    assert encode_ulid(1469918176385, 0) == "01ARYZ6S41" + "0" * 16
    assert len({new_ulid() for _ in range(1000)}) == 1000
    assert len(new_ulid()) == 26
