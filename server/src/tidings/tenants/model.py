"""A tenant: what it has set, and its data keys as they are named and stand in the table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, Protocol, Self

from msgspec import Meta, Struct

from tidings.kernel.ids import TenantId

KEY_BYTES = 32
MAX_VERSION = 2**32 - 1


class KeyKind(StrEnum):
    """`content` keys are replaced now and then, and the old ones kept to read with; there is one `fingerprint` key.

    `access` keys sign access tokens; one that was replaced is soon believed no longer.
    """

    CONTENT = "content"
    FINGERPRINT = "fingerprint"
    ACCESS = "access"


class KeyName(NamedTuple):
    """Versions are 1, 2, 3 …; the next one is put where nothing is yet, so that two who make it make one."""

    kind: KeyKind
    version: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.version:010}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None for what a later Tidings may have put beside the keys that this one knows."""
        kind, _, version = text.partition("-")
        if kind not in KeyKind or not version.isdecimal() or not 0 < int(version) <= MAX_VERSION:
            return None
        return cls(KeyKind(kind), int(version))


FINGERPRINT = KeyName(KeyKind.FINGERPRINT, 1)
FIRST_CONTENT = KeyName(KeyKind.CONTENT, 1)


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A data key as the table holds it: of no use without the key service that wrapped it."""

    name: KeyName
    wrapped: bytes
    wrapped_by: str
    created_at_ms: int


class GeneratedKey(NamedTuple):
    """A new data key that nobody has seen yet. To use it, unwrap it: so a key in use is one that unwraps."""

    wrapped: bytes
    wrapped_by: str


type Purpose = Literal["c", "p"]
"""What was sealed: content or a preview. One is never taken for the other."""

CONTENT: Final = "c"
PREVIEW: Final = "p"


SETTINGS_FORM = 4
"""Goes up when a field comes that an older Tidings must not lose by writing the settings back without it."""

type PhonePrefix = Annotated[str, Meta(pattern=r"^\+[1-9][0-9]{0,6}$")]
"""The first digits of a phone number: a country, or a part of one. `+49`, `+1787`."""

type Audience = Annotated[str, Meta(min_length=1, max_length=128)]


class TokenSettings(Struct, frozen=True, kw_only=True):
    """What users' tokens of this tenant must be like. Keys are registered, or published at the JWKS URL, or both.

    `issuer` and `typ`, where set, must be the token's `iss` and the `typ` of its header. An identity provider that
    signs other tokens with the same key, or serves several companies, needs them.
    """

    audiences: Annotated[tuple[Audience, ...], Meta(min_length=1, max_length=16)] = ("tidings",)
    jwks_url: Annotated[str, Meta(max_length=1024, pattern=r"^https?://[!-~]+$")] | None = None
    skew_s: Annotated[int, Meta(ge=0, le=300)] = 60
    issuer: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    typ: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class RateLimit(Struct, frozen=True, kw_only=True):
    """A token bucket: `per_s` in the long run, `burst` at once."""

    per_s: Annotated[float, Meta(gt=0, le=1_000_000)]
    burst: Annotated[int, Meta(ge=1, le=1_000_000)]


class RateOverrides(Struct, frozen=True, kw_only=True):
    """None: as the installation has it. `user`, `address` and `chat` are for each of them."""

    tenant: RateLimit | None = None
    user: RateLimit | None = None
    address: RateLimit | None = None
    chat: RateLimit | None = None
    """Chats that a user creates."""
    code: RateLimit | None = None
    """One-time codes sent by SMS, of the whole tenant."""


class PushSettings(Struct, frozen=True, kw_only=True):
    """What push services are told of messages. Off: that there is one, not what it says."""

    has_previews: bool = False


class TenantSettings(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=32)]
    tokens: TokenSettings = TokenSettings()
    has_phone_login: bool = False
    phone_prefixes: Annotated[tuple[PhonePrefix, ...], Meta(max_length=300)] = ()
    """Numbers that codes may be sent to. Empty: none."""
    has_phone_search: bool = False
    """Whether users may find each other by phone number."""
    rates: RateOverrides = RateOverrides()
    push: PushSettings = PushSettings()
    form: int = SETTINGS_FORM


class Tenant(Struct, frozen=True, kw_only=True):
    """`version` goes up with each change of the settings."""

    id: TenantId
    settings: TenantSettings
    version: int
    created_at_ms: int
    updated_at_ms: int


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


class TenantLookup(Protocol):
    async def find(self, tenant: TenantId, /) -> Tenant | None:
        """Read a tenant through a cache. `None`: it does not exist. Raises `keys_unavailable`."""
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
