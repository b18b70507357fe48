"""Bodies that are refused before their schema is validated."""

import json
import threading

import pytest
from starlette.requests import Request
from starlette.types import Message

from tidings.api import request_parsing
from tidings.api.services import ApiOptions
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret

OPTIONS = ApiOptions(
    cursor_secrets=(Secret("a secret of the tests"),),
    max_body_bytes=100,
    max_body_depth=4,
    max_body_values=20,
)


def refused(body: bytes) -> Code:
    with pytest.raises(TidingsError) as caught:
        request_parsing.parse_json(body, OPTIONS)
    return caught.value.code


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"\xff",
        b'{"a": NaN}',
        b"[Infinity]",
        b"[1e999]",
        b"[18446744073709551616]",
        b"[-9223372036854775809]",
        b'["\\ud800"]',
        b'{"\\udc00": 1}',
        b'{"a": 1, "a": 2}',
        b'{"x": {"a": 1, "b": 2, "a": 1}}',
        '["utf-16"]'.encode("utf-16"),
        b"[" + b"9" * 5000 + b"]",
    ],
)
def test_a_body_that_is_not_plain_json_is_refused(body: bytes) -> None:
    assert refused(body) is Code.REQUEST_INVALID


@pytest.mark.parametrize(
    "body", [b"[[[[[1]]]]]", b'{"a":{"a":{"a":{"a":{"a":1}}}}}', b"[" * 50_000, json.dumps([1] * 20).encode()]
)
def test_a_body_that_is_too_deep_or_has_too_many_values_is_refused(body: bytes) -> None:
    assert refused(body) is Code.REQUEST_TOO_LARGE


def test_a_body_within_the_bounds_is_decoded_unchanged() -> None:
    value = {"a": [1, 2.5, None, True, "ü👍"], "b": {"c": {"d": -1}}, "e": [18446744073709551615]}
    assert request_parsing.parse_json(json.dumps(value).encode(), OPTIONS) == value


def request(chunks: list[bytes], headers: list[tuple[bytes, bytes]]) -> tuple[Request, list[bytes]]:
    """Return a request, and the list of chunks that were not read."""

    async def receive() -> dict[str, object]:
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    return Request({"type": "http", "headers": headers, "method": "POST"}, receive), chunks


async def test_an_announced_length_is_refused_before_anything_is_read() -> None:
    asked, left = request([b"x" * 101], [(b"content-length", b"101")])
    with pytest.raises(TidingsError) as caught:
        await request_parsing.read_body(asked, 100)
    assert caught.value.code is Code.REQUEST_TOO_LARGE
    assert len(left) == 1


async def test_a_body_without_a_length_is_counted_while_it_is_received() -> None:
    asked, left = request([b"x" * 60, b"x" * 60, b"never read"], [])
    with pytest.raises(TidingsError):
        await request_parsing.read_body(asked, 100)
    assert left == [b"never read"]


async def test_a_body_within_its_bound_is_read_completely() -> None:
    asked, _ = request([b"x" * 60, b"", b"y" * 40], [(b"content-length", b"100")])
    assert await request_parsing.read_body(asked, 100) == b"x" * 60 + b"y" * 40


async def test_an_incomplete_body_is_not_a_server_error() -> None:
    messages: list[Message] = [
        {"type": "http.request", "body": b'{"a"', "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return messages.pop(0)

    with pytest.raises(TidingsError) as caught:
        await request_parsing.read_body(Request({"type": "http", "headers": []}, receive), 100)
    assert caught.value.code is Code.REQUEST_INVALID


async def test_a_large_body_is_checked_outside_the_loop_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where: list[bool] = []
    monkeypatch.setattr(request_parsing, "LARGE_BYTES", 10)
    monkeypatch.setattr(
        request_parsing,
        "_check_size",
        lambda *_: where.append(threading.current_thread() is threading.main_thread()),
    )
    assert await request_parsing.parse_async(b'["small"]', OPTIONS) == ["small"]
    assert await request_parsing.parse_async(b'["larger than ten"]', OPTIONS) == ["larger than ten"]
    assert where == [True, False]
    with pytest.raises(TidingsError) as caught:
        await request_parsing.parse_async(b'["larger than ten"', OPTIONS)
    assert caught.value.code is Code.REQUEST_INVALID
