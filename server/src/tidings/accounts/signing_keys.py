"""Public keys that a tenant has registered: made, added, listed, retired by operators; read to verify tokens."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from tidings.accounts.public_keys import BadKeyError, Jwk, KeyAlgorithm, make_pair, public_part, read_key
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.kernel.security import SecurityEventKind, record_security_event


class SigningKey(Struct, frozen=True, kw_only=True):
    """`jwk` is public. From `not_after_ms` on no token of this key is taken, whatever else it says."""

    tenant: TenantId
    kid: str
    jwk: dict[str, Any]
    created_at_ms: int
    not_after_ms: int | None = None


class NewPair(NamedTuple):
    """`private` is shown once and kept nowhere."""

    key: SigningKey
    private: dict[str, Any]


class SigningKeyStore(Protocol):
    """Every method raises `keys_unavailable` while the store does not answer."""

    async def list(self, tenant: TenantId, /) -> Sequence[SigningKey]:
        """All, retired ones too. Strong."""
        ...

    async def add(self, key: SigningKey, /) -> bool:
        """False: there is one of this `kid`, and it stays as it is."""
        ...

    async def retire(self, key: SigningKey, not_after_ms: int, /) -> bool:
        """Sets the end. False: it is not there any more as it was read."""
        ...


class SigningKeyService:
    def __init__(self, store: SigningKeyStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def make(self, tenant: TenantId, kind: KeyAlgorithm) -> NewPair:
        private = make_pair(kind)
        return NewPair(await self.add(tenant, private), private)

    async def add(self, tenant: TenantId, jwk: Jwk) -> SigningKey:
        """Of a private key the public part is kept, nothing else."""
        try:
            kid = read_key(jwk).kid
        except BadKeyError as error:
            raise TidingsError(Code.REQUEST_INVALID, f"This key can't be used: {error}.") from error
        key = SigningKey(tenant=tenant, kid=kid, jwk=public_part(jwk), created_at_ms=self._clock.now_ms())
        if not await self._store.add(key):
            raise TidingsError(
                Code.REQUEST_INVALID,
                f"{tenant} has a key {kid} already.",
                hint="A `kid` is never used again, not even for a key that was retired.",
            )
        record_security_event(SecurityEventKind.SIGNING_KEY_ADDED, tenant=tenant, subject=kid)
        return key

    async def list(self, tenant: TenantId) -> Sequence[SigningKey]:
        return await self._store.list(tenant)

    async def retire(self, tenant: TenantId, kid: str, not_after_ms: int) -> SigningKey:
        for key in await self._store.list(tenant):
            if key.kid == kid and await self._store.retire(key, not_after_ms):
                record_security_event(SecurityEventKind.SIGNING_KEY_RETIRED, tenant=tenant, subject=kid)
                return key
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{tenant} has no key {kid}.",
            hint="`tidings tenant key list` shows them.",
        )
