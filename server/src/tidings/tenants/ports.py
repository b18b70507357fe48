"""Ports of tenants: the key management service."""

from collections.abc import Mapping
from typing import Protocol

from tidings.tenants.model import GeneratedKey


class Kms(Protocol):
    """A key management service. Every method raises `keys_unavailable` while it is unavailable or denies access."""

    async def generate(self, context: Mapping[str, str], /) -> GeneratedKey:
        """Create a key of 32 random bytes. It unwraps only with the same context."""
        ...

    async def unwrap(self, wrapped: bytes, context: Mapping[str, str], /) -> bytes:
        """Unwrap a key. Raise `UnwrapError`. Uses only the configured master keys, whatever the table names."""
        ...

    async def rewrap(self, wrapped: bytes, context: Mapping[str, str], /) -> GeneratedKey | None:
        """Wrap the same data key with the current master key. `None`: that key has already wrapped it.

        Raises `UnwrapError`.
        """
        ...
