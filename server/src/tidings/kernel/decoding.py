"""Bytes that somebody else wrote: whatever they are not, it is told by one error.

msgspec tells of a text that is not UTF-8 by another exception than of everything else; who forgets that one ends.
"""

from collections.abc import Callable


def wrap_decoder[T](decode: Callable[[bytes], T], error_type: type[Exception]) -> Callable[[bytes], T]:
    """A decoder that raises `error_type` for a text that is none, as for all else that it can't read."""

    def read(payload: bytes) -> T:
        try:
            return decode(payload)
        except UnicodeDecodeError as error:
            raise error_type(str(error)) from error

    return read
