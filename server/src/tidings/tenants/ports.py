"""What tenants ask of the world: a key service that wraps their keys, a store for those and for what is set."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from tidings.kernel.ids import TenantId
from tidings.tenants.model import GeneratedKey, Tenant, TenantSettings, WrappedKey


class UnwrapError(Exception):
    """The key service answered, and the answer is that this will never unwrap: altered, or wrapped for another."""


class Kms(Protocol):
    """A key service. Every method raises `keys_unavailable` while it does not answer or does not let us in."""

    async def generate(self, context: Mapping[str, str], /) -> GeneratedKey:
        """A new key of 32 random bytes. It unwraps with the same context only."""
        ...

    async def unwrap(self, wrapped: bytes, context: Mapping[str, str], /) -> bytes:
        """Raises `UnwrapError`. Trusts the keys it was set up with alone, whatever the table says."""
        ...

    async def rewrap(self, wrapped: bytes, context: Mapping[str, str], /) -> GeneratedKey | None:
        """Wrap the same data key with the present master key. None: it is wrapped with that one already.

        Raises `UnwrapError`.
        """
        ...


class KeyStore(Protocol):
    """The wrapped keys of every tenant. Every method raises `keys_unavailable` while the store does not answer."""

    async def list(self, tenant: TenantId, /) -> Sequence[WrappedKey]:
        """All of them, of every kind and version. Strong: what was added before the call is there."""
        ...

    async def add(self, tenant: TenantId, key: WrappedKey, /) -> WrappedKey:
        """Atomic: of two who add the same name one wins. The key that stands under the name, ours or not."""
        ...

    async def replace(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, /) -> bool:
        """Atomic, if the key of this name is still wrapped as `before` is. False: it is not, or is not there."""
        ...


class TenantStore(Protocol):
    """What every tenant has set. Every method raises `keys_unavailable` while the store does not answer."""

    async def create(self, tenant: TenantId, settings: TenantSettings, at_ms: int, /) -> bool:
        """Atomic: of two who create the same one wins. False: it is there already."""
        ...

    async def read(self, tenant: TenantId, /) -> Tenant | None:
        """Strong."""
        ...

    async def list(self, after: TenantId | None, limit: int, /) -> Sequence[TenantId]:
        """List ids of tenants in order, from behind `after` on. May be a second behind."""
        ...

    async def update(self, tenant: TenantId, settings: TenantSettings, version: int, at_ms: int, /) -> bool:
        """Atomic, if the version is still this one; it is one higher then. False: it is not, or is not there."""
        ...
