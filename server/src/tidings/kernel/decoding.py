"""Bytes that somebody else wrote: whatever they are not, it is told by one error.

msgspec tells of a text that is not UTF-8 by another exception than of everything else; who forgets that one ends.
"""

from collections.abc import Callable


def decoding[T](decode: Callable[[bytes], T], told_by: type[Exception]) -> Callable[[bytes], T]:
    """A decoder that raises `told_by` for a text that is none, as for all else that it can't read."""

    def read(payload: bytes) -> T:
        try:
            return decode(payload)
        except UnicodeDecodeError as error:
            raise told_by(str(error)) from error

    return read
