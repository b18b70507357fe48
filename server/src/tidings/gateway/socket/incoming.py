"""Puts the frames of a message together: bounds its size, checks that it is text in UTF-8. Pure.

Framing itself (masks, lengths, opcodes) is the library's work.
"""

import codecs
from typing import final

from tidings.gateway.socket.ports import SocketCloseCode

_Decoder = codecs.getincrementaldecoder("utf-8")


class ProtocolViolationError(Exception):
    """The peer did what it may not; `code` is what the connection is closed with."""

    def __init__(self, code: SocketCloseCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def check_utf8(data: bytes) -> None:
    """Of a message that came in one frame."""
    try:
        data.decode()
    except UnicodeDecodeError:
        raise _invalid_text() from None


def _invalid_text() -> ProtocolViolationError:
    return ProtocolViolationError(SocketCloseCode.INVALID_TEXT, "text is UTF-8")


@final
class FragmentBuffer:
    """A message that comes in several frames. Wrong bytes are found in the fragment that brings them."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._whole = bytearray()
        self._decoder = _Decoder()

    def add(self, data: bytes, *, is_last: bool) -> bytes | None:
        """The whole message with its last part."""
        if len(self._whole) + len(data) > self._max_bytes:
            raise ProtocolViolationError(
                SocketCloseCode.TOO_BIG, f"a message has at most {self._max_bytes} bytes"
            )
        try:
            self._decoder.decode(data, final=is_last)
        except UnicodeDecodeError:
            raise _invalid_text() from None
        self._whole += data
        return bytes(self._whole) if is_last else None
