"""Where buckets are kept."""

from collections.abc import Sequence
from typing import Protocol

from tidings.limits.model import Ask, Policy
from tidings.limits.rules import Taking


class BucketsAwayError(Exception):
    """They did not answer, or not in time. The tokens may have been taken."""


class Buckets(Protocol):
    """Atomic: from all that are asked, or from none."""

    async def take(self, asks: Sequence[Ask], policies: Sequence[Policy], /) -> Taking:
        """Raises `BucketsAwayError`."""
        ...
