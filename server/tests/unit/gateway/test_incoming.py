"""Fragments against the whole, for any text and any cuts; frames against the RFC's lengths."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.gateway.transport.socket_mixin import (
    FragmentBuffer,
    LastFrameCache,
    ProtocolViolationError,
    check_utf8,
    text_frame,
    truncate_reason,
)


def put_together(data: bytes, cuts: list[int], max_bytes: int = 10_000) -> bytes | None:
    fragments = FragmentBuffer(max_bytes)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    whole = None
    for number, piece in enumerate(pieces):
        whole = fragments.add(piece, is_last=number == len(pieces) - 1)
    return whole


@given(st.text(max_size=200), st.lists(st.integers(min_value=0, max_value=800), max_size=8))
def test_a_fragmented_text_is_received_unchanged(text: str, cuts: list[int]) -> None:
    assert put_together(text.encode(), cuts) == text.encode()


@given(st.binary(max_size=60), st.lists(st.integers(min_value=0, max_value=60), max_size=5))
def test_fragments_are_refused_exactly_when_the_whole_text_is(data: bytes, cuts: list[int]) -> None:
    try:
        check_utf8(data)
    except ProtocolViolationError as violation:
        with pytest.raises(ProtocolViolationError, match=violation.reason):
            put_together(data, cuts)
    else:
        assert put_together(data, cuts) == data


def test_the_size_limit_applies_to_the_whole_message() -> None:
    assert put_together(b"x" * 100, [50], max_bytes=100) == b"x" * 100
    with pytest.raises(ProtocolViolationError, match="at most 100 bytes"):
        put_together(b"x" * 101, [50, 99], max_bytes=100)


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, "8100"),
        (125, "817d"),
        (126, "817e007e"),
        (65_535, "817effff"),
        (65_536, "817f0000000000010000"),
    ],
)
def test_a_frame_has_the_shortest_length_that_fits(size: int, head: str) -> None:
    assert text_frame(b"x" * size) == bytes.fromhex(head) + b"x" * size


def test_the_receivers_of_a_push_share_one_frame() -> None:
    last, push = LastFrameCache(), b"x" * 1_000
    assert last.of(push) is last.of(push)
    assert last.of(b"other") == text_frame(b"other")
    assert last.of(push) == text_frame(push)


@given(st.text(max_size=200))
def test_a_reason_is_cut_to_what_a_close_frame_holds(reason: str) -> None:
    short = truncate_reason(reason)
    assert len(short.encode()) <= 123
    assert reason.startswith(short)
