"""The client side of one HTTP/2 connection as a state machine without I/O (RFC 9113).

It sends requests with a complete body, and returns complete answers. Request headers are literals that are never indexed
(RFC 7541, 6.2.3): the peer's table stays empty, and a header that repeats is encoded once and reused as bytes.
"""

import struct
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from hpack import Decoder, HPACKError

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_FRAME_BYTES: Final = 16_384
MAX_ANSWER_BYTES: Final = 65_535
MAX_HEADER_BYTES: Final = 32_768
MAX_STREAMS: Final = 1_000
_FIRST_WINDOW: Final = 65_535
_MAX_STREAM_ID: Final = 2**31 - 1
_MAX_WINDOW: Final = 2**31 - 1
_RECEIVE_WINDOW: Final = 2**24
_OK: Final = 200
_HEAD = struct.Struct(">HBBBL")
_SETTING = struct.Struct(">HL")


class Frame(IntEnum):
    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_ENABLE_PUSH, _MAX_CONCURRENT, _INITIAL_WINDOW, _FRAME_SIZE = 2, 3, 4, 5
_REFUSED_STREAM, _CANCEL = 7, 8


class Http2Error(Exception):
    """The peer violated the protocol. The connection must be closed."""


class Answer(NamedTuple):
    """A complete answer. Header names are lower case."""

    stream: int
    status: int
    headers: dict[str, str]
    body: bytes


class Failure(NamedTuple):
    """A request without an answer. `may_be_applied`: False if the peer said that it did not process the request."""

    stream: int
    reason: str
    may_be_applied: bool


type Event = Answer | Failure


def encode_headers(headers: Iterable[tuple[str, str]]) -> bytes:
    """Encode headers as literals. The result may be reused and joined with others in any order."""
    return b"".join(b"\x10" + _text(name) + _text(value) for name, value in headers)


METHOD_POST: Final = b"\x83"
SCHEME_HTTPS: Final = b"\x87"
"""`:method POST` and `:scheme https` of the static table."""


def _text(text: str) -> bytes:
    raw = text.encode("ascii")
    if len(raw) < 127:  # noqa: PLR2004 - RFC 7541, 5.1: a prefix of 7 bits
        return bytes((len(raw),)) + raw
    rest, head = len(raw) - 127, bytearray(b"\x7f")
    while rest >= 128:  # noqa: PLR2004 - see above
        head.append(rest % 128 + 128)
        rest //= 128
    head.append(rest)
    return bytes(head) + raw


@dataclass(slots=True)
class _Stream:
    window: int
    unsent: bytes = b""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class Http2Session:
    """`outgoing` collects the bytes to send; the caller takes them with `take`."""

    def __init__(self) -> None:
        self._outgoing = bytearray(PREFACE)
        self._incoming = bytearray()
        self._streams: dict[int, _Stream] = {}
        self._blocked: deque[int] = deque()
        self._next_id = 1
        self._window = _FIRST_WINDOW
        self._first_window = _FIRST_WINDOW
        self._frame_bytes = MAX_FRAME_BYTES
        self._received = 0
        self._decoder = Decoder()
        self._decoder.max_header_list_size = MAX_HEADER_BYTES
        self._block: tuple[int, int, bytearray] | None = None
        self.max_streams = MAX_STREAMS
        self.has_settings = False
        self.goaway: str | None = None
        self._frame(Frame.SETTINGS, 0, 0, _SETTING.pack(_ENABLE_PUSH, 0))
        self._frame(Frame.WINDOW_UPDATE, 0, 0, (_RECEIVE_WINDOW - _FIRST_WINDOW).to_bytes(4))

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    @property
    def free_streams(self) -> int:
        return max(0, self.max_streams - len(self._streams)) if self.is_usable else 0

    @property
    def is_usable(self) -> bool:
        """Return whether a further request may be sent, now or when another one has ended."""
        return self.goaway is None and self._next_id <= _MAX_STREAM_ID

    def take(self) -> bytes:
        """Return the bytes to send, and forget them."""
        data = bytes(self._outgoing)
        self._outgoing.clear()
        return data

    def request(self, block: bytes, body: bytes) -> int:
        """Send a request and return its stream. `block` has all headers, pseudo-headers first, of at most one frame."""
        if len(block) > self._frame_bytes:
            raise ValueError("the headers do not fit into one frame")
        stream = self._next_id
        self._next_id += 2
        self._streams[stream] = _Stream(self._first_window)
        self._frame(Frame.HEADERS, _END_HEADERS | (0 if body else _END_STREAM), stream, block)
        if body:
            self._streams[stream].unsent = body
            self._send_body(stream)
        return stream

    def cancel(self, stream: int) -> None:
        """Abandon a request. Its answer is ignored."""
        if self._streams.pop(stream, None) is not None:
            self._frame(Frame.RST_STREAM, 0, stream, _CANCEL.to_bytes(4))

    def receive(self, data: bytes) -> list[Event]:
        """Process received bytes. Raise `Http2Error`; the streams that are still open have no answer then."""
        incoming = self._incoming
        incoming += data
        events: list[Event] = []
        at = 0
        while len(incoming) - at >= _HEAD.size:
            high, low, kind, flags, stream = _HEAD.unpack_from(incoming, at)
            length, stream = high << 8 | low, stream & _MAX_STREAM_ID
            if length > MAX_FRAME_BYTES:
                raise Http2Error(f"a frame of {length} bytes")
            if len(incoming) - at < _HEAD.size + length:
                break
            start = at + _HEAD.size
            at = start + length
            events += self._on_frame(kind, flags, stream, bytes(incoming[start:at]))
        del incoming[:at]
        return events

    def _on_frame(  # noqa: C901 - one case for each kind of frame
        self, kind: int, flags: int, stream: int, payload: bytes
    ) -> Iterator[Event]:
        if self._block is not None and (kind != Frame.CONTINUATION or stream != self._block[0]):
            raise Http2Error("header frames were interrupted")
        match kind:
            case Frame.DATA:
                yield from self._on_data(flags, stream, payload)
            case Frame.HEADERS:
                self._block = (stream, flags, bytearray(_without_padding(flags, payload)))
                yield from self._on_block(is_complete=bool(flags & _END_HEADERS))
            case Frame.CONTINUATION if self._block is not None:
                self._block[2].extend(payload)
                yield from self._on_block(is_complete=bool(flags & _END_HEADERS))
            case Frame.RST_STREAM:
                yield from self._on_reset(stream, payload)
            case Frame.SETTINGS:
                self._on_settings(flags, payload)
            case Frame.PING if not flags & _ACK:
                self._frame(Frame.PING, _ACK, 0, payload)
            case Frame.GOAWAY:
                yield from self._on_goaway(payload)
            case Frame.WINDOW_UPDATE:
                self._on_window_update(stream, payload)
            case Frame.PUSH_PROMISE | Frame.CONTINUATION:
                raise Http2Error(f"unexpected frame {Frame(kind).name}")

    def _on_data(self, flags: int, stream: int, payload: bytes) -> Iterator[Event]:
        self._received += len(payload)
        if self._received > _RECEIVE_WINDOW // 2:
            self._frame(Frame.WINDOW_UPDATE, 0, 0, self._received.to_bytes(4))
            self._received = 0
        found = self._streams.get(stream)
        if found is None:
            return
        found.body += _without_padding(flags & _PADDED, payload)
        if len(found.body) > MAX_ANSWER_BYTES:
            self.cancel(stream)
            yield Failure(stream, "the answer is too large", may_be_applied=True)
        elif flags & _END_STREAM:
            yield self._finish(stream)

    def _on_block(self, *, is_complete: bool) -> Iterator[Event]:
        assert self._block is not None  # noqa: S101 - the caller has set it
        stream, flags, block = self._block
        if len(block) > MAX_HEADER_BYTES:
            raise Http2Error("the headers of an answer are too large")
        if not is_complete:
            return
        self._block = None
        try:
            # Also for a cancelled stream: the block may change the table of the decoder.
            headers = self._decoder.decode(bytes(block))
        except (HPACKError, UnicodeDecodeError) as error:
            raise Http2Error(f"headers cannot be decoded: {error}") from error
        found = self._streams.get(stream)
        if found is None:
            return
        for name, value in headers:
            found.headers[str(name)] = str(value)
        status = found.headers.get(":status", "")
        found.status = int(status) if status.isdecimal() else 0
        if flags & _END_STREAM:
            yield self._finish(stream)
        elif found.status < _OK:
            found.headers.clear()  # An informational answer; the final one follows.

    def _finish(self, stream: int) -> Answer:
        found = self._streams.pop(stream)
        if found.unsent:
            # The peer answered before it has read the body, and does not want the rest.
            self._frame(Frame.RST_STREAM, 0, stream, _CANCEL.to_bytes(4))
        return Answer(stream, found.status, found.headers, bytes(found.body))

    def _on_reset(self, stream: int, payload: bytes) -> Iterator[Event]:
        code = int.from_bytes(payload)
        if self._streams.pop(stream, None) is not None:
            yield Failure(stream, f"the stream was reset: {code}", may_be_applied=code != _REFUSED_STREAM)

    def _on_settings(self, flags: int, payload: bytes) -> None:
        if flags & _ACK:
            return
        if len(payload) % _SETTING.size:
            raise Http2Error("malformed settings")
        self.has_settings = True
        for name, value in _SETTING.iter_unpack(payload):
            if name == _MAX_CONCURRENT:
                self.max_streams = min(value, MAX_STREAMS)
            elif name == _FRAME_SIZE:
                self._frame_bytes = min(value, MAX_FRAME_BYTES)
            elif name == _INITIAL_WINDOW:
                self._change_first_window(value)
        self._frame(Frame.SETTINGS, _ACK, 0, b"")
        self._send_blocked()

    def _change_first_window(self, value: int) -> None:
        if value > _MAX_WINDOW:
            raise Http2Error("an initial window that is too large")
        for stream in self._streams.values():
            stream.window += value - self._first_window
        self._first_window = value

    def _on_goaway(self, payload: bytes) -> Iterator[Event]:
        last, code = int.from_bytes(payload[:4]) & _MAX_STREAM_ID, int.from_bytes(payload[4:8])
        details = payload[8:].decode("utf-8", "replace")
        self.goaway = f"{code} {details}".strip()
        for stream in [each for each in self._streams if each > last]:
            del self._streams[stream]
            yield Failure(stream, f"the server is going away: {self.goaway}", may_be_applied=False)

    def _on_window_update(self, stream: int, payload: bytes) -> None:
        gained = int.from_bytes(payload) & _MAX_WINDOW
        if stream == 0:
            self._window += gained
        elif stream in self._streams:
            self._streams[stream].window += gained
        self._send_blocked()

    def _send_blocked(self) -> None:
        for _ in range(len(self._blocked)):
            self._send_body(self._blocked.popleft())

    def _send_body(self, stream: int) -> None:
        """Send as much of a body as the windows allow. The rest waits for an update of the windows."""
        found = self._streams.get(stream)
        if found is None:
            return
        while found.unsent:
            size = min(len(found.unsent), self._frame_bytes, self._window, found.window)
            if size <= 0:
                self._blocked.append(stream)
                return
            piece, found.unsent = found.unsent[:size], found.unsent[size:]
            self._window -= size
            found.window -= size
            self._frame(Frame.DATA, 0 if found.unsent else _END_STREAM, stream, piece)

    def _frame(self, kind: Frame, flags: int, stream: int, payload: bytes) -> None:
        length = len(payload)
        self._outgoing += _HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream)
        self._outgoing += payload

    def abandon(self) -> Sequence[int]:
        """Return the streams without an answer, after the connection was lost, and forget them."""
        streams = list(self._streams)
        self._streams.clear()
        return streams


def _without_padding(flags: int, payload: bytes) -> bytes:
    start, end = 0, len(payload)
    if flags & _PADDED:
        if not payload:
            raise Http2Error("malformed padding")
        start, end = 1, end - payload[0]
    if flags & _PRIORITY:
        start += 5
    if start > end:
        raise Http2Error("malformed padding")
    return payload[start:end]
