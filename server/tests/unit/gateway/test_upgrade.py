"""The head and its checks without a socket: pieces of any size, odd spellings, hostile forwarding."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidings.gateway.transport.ports import ForwardedBy, UpgradeRefusal, UpgradeRequest, UpgradeRules
from tidings.gateway.transport.upgrade import (
    BadRequestHeadError,
    RequestHead,
    RequestHeadParser,
    check_upgrade,
    client_address,
    rebuild_request,
    render_refusal,
)
from tidings.kernel.errors import Code

KEY = "dGhlIHNhbXBsZSBub25jZQ=="
RAW = (
    f"GET /v1/socket HTTP/1.1\r\nHost: a\r\nUPGRADE: WebSocket\r\nConnection: keep-alive, upgrade\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
    f"Sec-WebSocket-Protocol: one\r\nSec-WebSocket-Protocol: two\r\n\r\n"
).encode()
RULES = UpgradeRules(subprotocols=("two",))


def read(raw: bytes, sizes: list[int] | None = None) -> RequestHead | None:
    reader, head = RequestHeadParser(4_096, 32), None
    for size in [*(sizes or []), len(raw)]:
        piece, raw = raw[:size], raw[size:]
        if piece and head is None:
            head = reader.feed(piece)
    return head


@given(st.lists(st.integers(min_value=1, max_value=40), max_size=30))
def test_a_head_in_pieces_is_the_same_head(sizes: list[int]) -> None:
    assert read(RAW, sizes) == read(RAW)


def test_bytes_after_the_headers_are_kept() -> None:
    head = read(RAW + b"\x81\x80abcd")
    assert head is not None
    assert head.rest == b"\x81\x80abcd"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_head_or_a_refusal_or_not_enough(raw: bytes) -> None:
    try:
        head = read(raw)
    except BadRequestHeadError:
        return
    assert head is None or isinstance(
        check_upgrade(head, "192.0.2.1", RULES), UpgradeRefusal | UpgradeRequest
    )


@given(st.binary(min_size=1, max_size=60), st.integers(min_value=0, max_value=len(RAW) - 1))
def test_a_damaged_request_never_raises(damage: bytes, at: int) -> None:
    try:
        head = read(RAW[:at] + damage + RAW[at + len(damage) :])
    except BadRequestHeadError:
        return
    if head is not None:
        check_upgrade(head, "192.0.2.1", RULES)


def test_list_headers_count_over_all_their_lines_and_in_any_case() -> None:
    head = read(RAW)
    assert head is not None
    upgrade = check_upgrade(head, "192.0.2.1", RULES)
    assert isinstance(upgrade, UpgradeRequest)
    assert (upgrade.subprotocol, upgrade.client) == ("two", "192.0.2.1")


def test_a_rebuilt_request_passes_the_same_check() -> None:
    head = read(RAW)
    assert head is not None
    upgrade = check_upgrade(head, "192.0.2.1", RULES)
    assert isinstance(upgrade, UpgradeRequest)
    again = read(rebuild_request(upgrade, upgrade.extensions))
    assert again is not None
    repeated = check_upgrade(again, "192.0.2.1", UpgradeRules(path="/", subprotocols=("two",)))
    assert isinstance(repeated, UpgradeRequest)
    assert (repeated.key, repeated.subprotocol) == (upgrade.key, upgrade.subprotocol)


def test_no_header_can_be_smuggled_into_a_rebuilt_request() -> None:
    smuggled = RAW.replace(b"Protocol: one", b"Extensions: a\rX: b")
    with pytest.raises(BadRequestHeadError):
        read(smuggled)


PROXIES = tuple(ipaddress.ip_network(text) for text in ("10.0.0.0/8", "2001:db8::/32"))


@pytest.mark.parametrize(
    ("peer", "by", "values", "client"),
    [
        ("10.0.0.1", "x-forwarded-for", [], "10.0.0.1"),
        ("192.0.2.1", "x-forwarded-for", ["203.0.113.9"], "192.0.2.1"),
        ("10.0.0.1", "x-forwarded-for", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", "x-forwarded-for", ["1.1.1.1", "203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", "x-forwarded-for", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", "x-forwarded-for", ["203.0.113.9:4711"], "203.0.113.9"),
        ("10.0.0.1", "x-forwarded-for", ["1.1.1.1, unknown"], "10.0.0.1"),
        ("10.0.0.1", "x-forwarded-for", ["1.1.1.1, unknown, 10.0.0.2"], "10.0.0.2"),
        ("::ffff:10.0.0.1", "x-forwarded-for", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", "forwarded", ["for=1.1.1.1, for=203.0.113.9;proto=https"], "203.0.113.9"),
        ("10.0.0.1", "forwarded", ['proto=https; For="[2001:db9::1]:4711"'], "2001:db9::1"),
        ("2001:db8::5", "forwarded", ["for=_hidden"], "2001:db8::5"),
        ("10.0.0.1", "forwarded", ["by=203.0.113.9"], "10.0.0.1"),
        ("", "x-forwarded-for", ["203.0.113.9"], ""),
    ],
)
def test_the_client_is_the_first_address_that_is_not_a_trusted_proxy(
    peer: str, by: ForwardedBy, values: list[str], client: str
) -> None:
    head = RequestHead("GET", "/", "1.1", tuple((by, value) for value in values))
    assert client_address(peer, head, UpgradeRules(trusted_proxies=PROXIES, forwarded_by=by)) == client


def test_a_refusal_is_a_machine_readable_answer() -> None:
    raw = render_refusal(UpgradeRefusal(503, Code.OVERLOADED, "Full", {"X-A": "b"}, retry_after_ms=1_001))
    head, _, body = raw.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"\r\nRetry-After: 2" in head
    assert f"Content-Length: {len(body)}".encode() in head
