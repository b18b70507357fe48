"""Frames to requests and back: bounded, strict towards the device, and small."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.chats.model import direct_chat_key
from tidings.gateway.error_frames import make_error_body
from tidings.kernel.errors import Code
from tidings.kernel.ids import TenantId, UserId
from tidings_wire import fields
from tidings_wire.codec import DecodedRequest, InvalidFrame, decode, encode_push, encode_response, is_too_deep
from tidings_wire.frames.history import EntryPush
from tidings_wire.frames.messages import CommitResult, Send
from tidings_wire.frames.registry import PUSHES, REQUESTS
from tidings_wire.frames.session import Connect
from tidings_wire.frames.structs import ErrorBody

WEBSOCKET_HEADER_BYTES = 4
GOAL_BYTES = 213


def test_a_text_of_100_bytes_reaches_its_receiver_in_213_bytes() -> None:
    chat = direct_chat_key(TenantId("acme"), UserId("user0001"), UserId("user0002")).chat
    text = (
        "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be i"
    )
    push = EntryPush(chat=chat, sequence=48_213, by="user0001", at=1_763_184_000_000, text=text)
    assert len(text) == 100
    assert len(encode_push(push)) + WEBSOCKET_HEADER_BYTES <= GOAL_BYTES


def test_a_request_is_identified_by_its_one_key() -> None:
    got = decode(b'{"send":{"text":"hi","client_message_id":"k","chat":"d"},"id":7}')
    assert got == DecodedRequest(7, Send(chat="d", client_message_id="k", text="hi"))


def test_an_answer_has_the_id_of_its_request() -> None:
    assert encode_response(7, CommitResult(sequence=42)) == b'{"id":7,"ok":{"sequence":42}}'
    error = encode_response(7, make_error_body(Code.OVERLOADED, "Later.", retry_after_ms=5))
    assert msgspec.json.decode(error)["error"]["retryable"] is True


def test_a_frame_of_the_greatest_size_is_decoded_and_one_byte_more_is_not() -> None:
    frame = b'{"id":1,"ping":{}}'
    assert isinstance(decode(frame.ljust(fields.MAX_FRAME_BYTES)), DecodedRequest)
    assert isinstance(decode(frame.ljust(fields.MAX_FRAME_BYTES + 1)), InvalidFrame)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_depth_is_bounded_to_the_level(opening: bytes) -> None:
    def nested(depth: int) -> bytes:
        return opening * depth + b"1" + (b"]" if opening == b"[" else b"}") * depth

    assert not is_too_deep(nested(fields.MAX_FRAME_DEPTH))
    assert is_too_deep(nested(fields.MAX_FRAME_DEPTH + 1))
    assert is_too_deep(nested(30_000))


def test_brackets_in_a_text_are_not_nesting() -> None:
    text = "{[" * 1000 + '"' + "{[" * 100 + "\\"
    frame = msgspec.json.encode({"id": 1, "send": {"chat": "d", "client_message_id": "k", "text": text}})
    assert isinstance(decode(frame), DecodedRequest)


def test_width_is_bounded_like_depth() -> None:
    assert is_too_deep(b"[" + b",".join([b"[]"] * fields.MAX_FRAME_CONTAINERS) + b"]")


nesting = st.recursive(
    st.none() | st.text(max_size=8),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner),
)


@given(nesting)
def test_depth_is_what_the_decoded_value_has(value: object) -> None:
    assert is_too_deep(msgspec.json.encode(value)) is (_depth(value) > fields.MAX_FRAME_DEPTH)


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@given(st.binary(max_size=200))
def test_no_bytes_make_the_decoder_raise(data: bytes) -> None:
    assert isinstance(decode(data), DecodedRequest | InvalidFrame)


def test_the_error_of_a_long_frame_is_short() -> None:
    got = decode(b'{"id":7,"ping":{"' + b"y" * 5000 + b'":1}}')
    assert isinstance(got, InvalidFrame)
    assert len(got.message) < 256


def test_a_connect_does_not_print_its_credential() -> None:
    connect = Connect(credential="s3cret", protocol=1)
    assert "s3cret" not in repr(connect)
    assert "s3cret" not in f"{DecodedRequest(1, connect)}"


def test_only_connect_ignores_unknown_fields() -> None:
    lenient = [kind.name for kind in REQUESTS if not kind.body.__struct_config__.forbid_unknown_fields]
    assert lenient == ["connect"]


def test_no_frame_from_the_server_is_strict_for_clients() -> None:
    bodies = [kind.body for kind in PUSHES] + [kind.answer for kind in REQUESTS]
    assert not any(body.__struct_config__.forbid_unknown_fields for body in bodies)
    assert all(body.__struct_config__.omit_defaults for body in bodies)


def test_an_error_without_an_id_names_the_request_that_it_is_about() -> None:
    body = ErrorBody(code="request_invalid", message="no", request_id=7)
    assert encode_push(body) == b'{"error":{"code":"request_invalid","message":"no","request_id":7}}'
