"""The client side of HTTP/2 against the server side of the library h2, in memory, with every split of the bytes."""

import struct

import h2.events
import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes, Settings
from hypothesis import given, settings
from hypothesis import strategies as st

from tidings.platform.http2.session import (
    METHOD_POST,
    SCHEME_HTTPS,
    Answer,
    Event,
    Failure,
    Http2Error,
    Http2Session,
    encode_headers,
)

HEAD = METHOD_POST + SCHEME_HTTPS + encode_headers(((":authority", "push"), (":path", "/3/device/ab")))


class Peer:
    """A server that answers each complete request with its own body."""

    def __init__(self, window: int = 65_535, max_streams: int = 100) -> None:
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        limits = {SettingCodes.INITIAL_WINDOW_SIZE: window, SettingCodes.MAX_CONCURRENT_STREAMS: max_streams}
        self.h2.local_settings = Settings(client=False, initial_values=limits)
        self.h2.initiate_connection()
        self.bodies: dict[int, bytearray] = {}
        self.headers: dict[int, dict[str, str]] = {}

    def receive(self, data: bytes) -> bytes:
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                self.bodies[event.stream_id] = bytearray()
                self.headers[event.stream_id] = {str(n): str(v) for n, v in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                self.bodies[event.stream_id] += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self._answer(event.stream_id)
        return self.h2.data_to_send()

    def _answer(self, stream: int) -> None:
        self.h2.send_headers(stream, [(":status", "100")])
        self.h2.send_headers(stream, [(":status", "200"), ("apns-id", "x" * 200)])
        self.h2.send_data(stream, bytes(self.bodies[stream])[:1_000], end_stream=True, pad_length=7)


def exchange(session: Http2Session, peer: Peer, pieces: int) -> list[Event]:
    """Exchange bytes until both are silent; each answer arrives in parts of `pieces` bytes."""
    events: list[Event] = []
    incoming = peer.h2.data_to_send()
    while True:
        for start in range(0, len(incoming), pieces):
            events += session.receive(incoming[start : start + pieces])
        outgoing = session.take()
        if not outgoing:
            return events
        incoming = peer.receive(outgoing)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 40_000), min_size=1, max_size=6),
    st.sampled_from([1, 3, 9, 10, 1_000, 100_000]),
    st.sampled_from([1, 1_000, 65_535]),
)
def test_every_request_is_answered_however_the_bytes_are_split(
    sizes: list[int], pieces: int, window: int
) -> None:
    session, peer = Http2Session(), Peer(window if window > 1 or max(sizes) < 500 else 1_000)
    session.receive(peer.h2.data_to_send())
    streams = {
        session.request(HEAD + encode_headers((("n", "v" * 300),)), b"x" * size): size for size in sizes
    }
    events = exchange(session, peer, pieces)
    answers = {event.stream: event for event in events if isinstance(event, Answer)}
    assert answers.keys() == streams.keys()
    for stream, size in streams.items():
        assert len(peer.bodies[stream]) == size
        assert peer.headers[stream][":path"] == "/3/device/ab"
        assert peer.headers[stream]["n"] == "v" * 300
        assert answers[stream].status == 200
        assert answers[stream].headers["apns-id"] == "x" * 200
        assert answers[stream].body == b"x" * min(size, 1_000)
    assert session.open_streams == 0


def opened() -> tuple[Http2Session, Peer]:
    session, peer = Http2Session(), Peer(max_streams=7)
    exchange(session, peer, 1_000)
    assert session.max_streams == 7
    return session, peer


def test_a_goaway_fails_only_streams_that_were_not_processed() -> None:
    session, _ = opened()
    first, second = session.request(HEAD, b""), session.request(HEAD, b"")
    events = session.receive(frame(7, 0, 0, struct.pack(">LL", first, 0) + b"Shutdown"))
    assert events == [Failure(second, "the server is going away: 0 Shutdown", may_be_applied=False)]
    assert not session.is_usable
    assert session.open_streams == 1
    assert session.abandon() == [first]


@pytest.mark.parametrize(("code", "may_be_applied"), [(7, False), (2, True), (8, True)])
def test_a_reset_says_whether_the_request_was_processed(code: int, *, may_be_applied: bool) -> None:
    session, _ = opened()
    stream = session.request(HEAD, b"x")
    (event,) = session.receive(frame(3, 0, stream, struct.pack(">L", code)))
    assert isinstance(event, Failure)
    assert event.may_be_applied is may_be_applied


def test_an_answer_of_a_cancelled_request_is_ignored() -> None:
    session, peer = opened()
    stream = session.request(HEAD, b"x")
    sent = session.take()
    session.cancel(stream)
    assert session.receive(peer.receive(sent)) == []
    other = session.request(HEAD, b"y")
    (answer,) = [each for each in exchange(session, peer, 1_000) if isinstance(each, Answer)]
    assert answer.stream == other


def test_a_ping_is_answered() -> None:
    session, _ = opened()
    session.receive(frame(6, 0, 0, b"12345678"))
    assert session.take() == frame(6, 1, 0, b"12345678")


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x40\x01\x00\x00\x00\x00\x00\x01",  # a frame that is too large
        b"\x00\x00\x04\x05\x04\x00\x00\x00\x01abcd",  # PUSH_PROMISE, which was switched off
        b"\x00\x00\x00\x09\x04\x00\x00\x00\x01",  # CONTINUATION without HEADERS
        b"\x00\x00\x05\x04\x00\x00\x00\x00\x00abcde",  # settings of the wrong length
        b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\xff",  # headers that cannot be decoded
        b"\x00\x00\x01\x00\x08\x00\x00\x00\x01\x09",  # more padding than payload
        b"\x00\x00\x01\x01\x00\x00\x00\x00\x01\x88" + b"\x00\x00\x00\x00\x00\x00\x00\x00\x01",
    ],
    ids=["size", "promise", "continuation", "settings", "hpack", "padding", "interrupted"],
)
def test_a_violation_of_the_protocol_is_detected(data: bytes) -> None:
    session, _ = opened()
    session.request(HEAD, b"")
    with pytest.raises(Http2Error):
        session.receive(data)


def test_long_values_are_encoded_as_hpack_requires() -> None:
    session, peer = Http2Session(), Peer()
    values = {f"n{size}": "v" * size for size in (0, 1, 126, 127, 128, 254, 255, 256, 5_000)}
    session.request(HEAD + encode_headers(values.items()), b"")
    exchange(session, peer, 1_000)
    assert values.items() <= peer.headers[1].items()


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload
