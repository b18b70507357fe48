"""How deep a frame is nested, before anything decodes it: the decoder itself has no bound but the stack."""

import re
from typing import Final

from tidings.wire.bounds import MAX_FRAME_CONTAINERS, MAX_FRAME_DEPTH

_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[^\[\]{}]+")


def is_too_deep(frame: bytes) -> bool:
    """Nearly every frame has fewer brackets than it may have levels, so counting them is enough."""
    opened = frame.count(b"{") + frame.count(b"[")
    return opened > MAX_FRAME_DEPTH and _is_too_deep(frame)


def _is_too_deep(frame: bytes) -> bool:
    brackets = _BRACKETS.sub(b"", _STRING.sub(b"", frame))
    if len(brackets) > 2 * MAX_FRAME_CONTAINERS:
        return True
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MAX_FRAME_DEPTH:
            return True
    return False
