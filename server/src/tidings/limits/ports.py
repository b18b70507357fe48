"""Where buckets are kept."""

from collections.abc import Sequence
from typing import Protocol

from tidings.limits.model import LimitPolicy, TokenRequest
from tidings.limits.rules import TakeResult


class LimiterUnavailableError(Exception):
    """They did not answer, or not in time. The tokens may have been taken."""


class NameKey(Protocol):
    async def read(self) -> bytes:
        """Return the key that names are hashed with, the same in every process; at most 64 bytes.

        Raises `TidingsError` while it cannot be had.
        """
        ...


class Buckets(Protocol):
    """Atomic: from all that are asked, or from none."""

    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        """Raises `LimiterUnavailableError`."""
        ...
