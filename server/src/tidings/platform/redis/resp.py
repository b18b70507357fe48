"""Bytes to and from a server: RESP3, by hiredis. Commands are packed, answers come as Python values or errors."""

from typing import Final, cast

import hiredis

from tidings.platform.redis.errors import error_from_reply

type Arg = str | bytes | int | float
type Reply = bool | int | float | bytes | list[Reply] | dict[Reply, Reply] | None
type Push = list[bytes]

NOTHING: Final = object()
"""What a reader gives while an answer is not complete yet; None and False are answers."""

PushNotification = hiredis.PushNotification
ProtocolError = hiredis.ProtocolError


def pack_command(command: str, *args: Arg) -> bytes:
    # hiredis declares a tuple of one
    return cast("bytes", hiredis.pack_command((command, *args)))  # type: ignore[arg-type]


def reply_reader() -> hiredis.Reader:
    return hiredis.Reader(replyError=error_from_reply, notEnoughData=NOTHING)
