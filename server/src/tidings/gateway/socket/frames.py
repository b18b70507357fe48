"""Text frames as a server writes them: unmasked, so the same bytes serve every receiver."""

from typing import final

_TEXT = 0x81
_LENGTH_16 = 126
_LENGTH_64 = 127


def text_frame(payload: bytes) -> bytes:
    return _header(len(payload)) + payload


def _header(size_bytes: int) -> bytes:
    if size_bytes < _LENGTH_16:
        return bytes((_TEXT, size_bytes))
    if size_bytes < 1 << 16:
        return bytes((_TEXT, _LENGTH_16)) + size_bytes.to_bytes(2)
    return bytes((_TEXT, _LENGTH_64)) + size_bytes.to_bytes(8)


@final
class LastFrameCache:
    """Keeps the frame of the payload that was sent last: in a fan-out the next receiver gets the same one."""

    def __init__(self) -> None:
        self._payload = b""
        self._frame = text_frame(b"")

    def of(self, payload: bytes) -> bytes:
        if payload is not self._payload:
            self._payload, self._frame = payload, text_frame(payload)
        return self._frame
