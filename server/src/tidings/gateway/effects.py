"""What a connection wants done. Whoever has the socket does it, in this order."""

from typing import NamedTuple

from msgspec import Struct

from tidings.wire.close_codes import CloseCode


class WriteFrame(NamedTuple):
    """One text frame."""

    data: bytes


class HandleRequest(NamedTuple):
    """A use case is to be called; what comes of it is told with `answered` under this number, exactly once."""

    number: int
    request: Struct


class CloseConnection(NamedTuple):
    """The last effect of every connection. `reason` is for the close frame.

    Calls that are still being made go on: a send that was begun is not cut off. Their answers are dropped.
    """

    code: CloseCode
    reason: str


type Effect = WriteFrame | HandleRequest | CloseConnection
