"""What the keys ask of the world: a key service that wraps them, a store that keeps them wrapped."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidings.kernel.ids import TenantId
from tidings.tenants.model import Generated, WrappedKey


class NotUnwrappedError(Exception):
    """The key service answered, and the answer is that this will never unwrap: altered, or wrapped for another."""


class Kms(Protocol):
    """A key service. Every method raises `keys_unavailable` while it does not answer or does not let us in."""

    async def generate(self, context: Mapping[str, str], /) -> Generated:
        """A new key of 32 random bytes. It unwraps with the same context only."""
        ...

    async def unwrap(self, wrapped: bytes, context: Mapping[str, str], /) -> bytes:
        """Raises `NotUnwrappedError`. Trusts the keys it was set up with alone, whatever the table says."""
        ...


class KeyStore(Protocol):
    """The wrapped keys of every tenant. Every method raises `keys_unavailable` while the store does not answer."""

    async def list(self, tenant: TenantId, /) -> Sequence[WrappedKey]:
        """All of them, of every kind and version. Strong: what was added before the call is there."""
        ...

    async def add(self, tenant: TenantId, key: WrappedKey, /) -> WrappedKey:
        """Atomic: of two who add the same name one wins. The key that stands under the name, ours or not."""
        ...
