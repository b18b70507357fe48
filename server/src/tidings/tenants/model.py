"""Tenants, their settings and their data keys; ports of the stores and the KMS."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, Protocol, Self

from msgspec import Meta, Struct

from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.tenants.rate_settings import RateOverrides

KEY_BYTES = 32
MAX_VERSION = 2**32 - 1


class KeyKind(StrEnum):
    """Kinds of data keys.

    `content` keys are rotated; old versions are kept for reading. There is one `fingerprint` key. `access` keys sign
    access tokens; a replaced one stops verifying soon after. The installation has one `certificate` key: the seed of the
    Ed25519 key that signs certificates.
    """

    CONTENT = "content"
    FINGERPRINT = "fingerprint"
    ACCESS = "access"
    CERTIFICATE = "certificate"


class KeyName(NamedTuple):
    """Versions are 1, 2, 3 …. A new version is put on condition that it does not exist, so two writers create one key."""

    kind: KeyKind
    version: int

    def __str__(self) -> str:
        return f"{self.kind}-{self.version:010}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return `None` for a kind of key of a newer version of Tidings."""
        kind, _, version = text.partition("-")
        if kind not in KeyKind or not version.isdecimal() or not 0 < int(version) <= MAX_VERSION:
            return None
        return cls(KeyKind(kind), int(version))


FINGERPRINT = KeyName(KeyKind.FINGERPRINT, 1)
FIRST_CONTENT = KeyName(KeyKind.CONTENT, 1)


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A stored data key, encrypted with a master key of the KMS."""

    name: KeyName
    wrapped: bytes
    wrapped_by: str
    created_at_ms: int


class GeneratedKey(NamedTuple):
    """A new data key in wrapped form. It must be unwrapped for use, so every key in use is known to unwrap."""

    wrapped: bytes
    wrapped_by: str


type Purpose = Literal["c", "p", "k", "u", "s"]
"""Kind of sealed data, not exchangeable: content, preview, a user's key, a profile's field, a tenant's secret."""

CONTENT: Final = "c"
PREVIEW: Final = "p"
USER_KEY: Final = "k"
PROFILE: Final = "u"
SECRET: Final = "s"  # noqa: S105 - no password

SETTINGS_FORM = 11
"""Incremented with each new field. An older version of Tidings refuses to write newer settings, which would lose it."""

MAX_MEMBERS = 100_000  # largest value of a tenant's `max_members`
MAX_RETENTION_DAYS: Final = 36_500
MIN_ARCHIVE_DAYS: Final = 30  # a device that was offline for a shorter time reads messages from the log
type RetentionDays = Annotated[int, Meta(ge=1, le=MAX_RETENTION_DAYS)]

type PhonePrefix = Annotated[str, Meta(pattern=r"^\+[1-9][0-9]{0,6}$")]
"""The first digits of a phone number: a country, or a part of one. `+49`, `+1787`."""

type MediaTypes = Annotated[
    str, Meta(max_length=127, pattern=r"^[a-z0-9!#$&^_.+-]+/([a-z0-9!#$&^_.+-]+|\*)$")
]
type Audience = Annotated[str, Meta(min_length=1, max_length=128)]


class TokenSettings(Struct, frozen=True, kw_only=True):
    """Requirements on tokens of the tenant's users. Keys are registered, published at the JWKS URL, or both.

    `issuer` and `typ`, where set, must equal the token's `iss` and the `typ` of its header. Set them if the identity
    provider signs other tokens with the same key, or serves several companies.
    """

    audiences: Annotated[tuple[Audience, ...], Meta(min_length=1, max_length=16)] = ("tidings",)
    jwks_url: Annotated[str, Meta(max_length=1024, pattern=r"^https?://[!-~]+$")] | None = None
    skew_s: Annotated[int, Meta(ge=0, le=300)] = 60
    issuer: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    typ: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


type PushText = Annotated[str, Meta(min_length=1, max_length=200)]
LOCALE_PATTERN = r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$"
type Locale = Annotated[str, Meta(max_length=35, pattern=LOCALE_PATTERN)]
"""A language tag of BCP 47 in lower case, such as `de` or `pt-br`."""


class PushTexts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Texts of notifications in one language. None: that of a less specific language, or the default.

    new_message: shown instead of the start of the message, unless the tenant has previews.
    mention: the title if the message mentions the user. private: the title in private mode.
    notification: the title of an inbox's notification in private mode, or of one without a title.
    """

    new_message: PushText | None = None
    mention: PushText | None = None
    private: PushText | None = None
    notification: PushText | None = None


class PushSettings(Struct, frozen=True, kw_only=True):
    """Push notifications.

    has_previews: whether offline events and notifications contain the start of the message.
    is_private: whether notifications name neither the sender nor the text. The app fetches them.
    max_age_s: no notification is sent for older messages.
    collapse_window_s: at most one notification of a chat makes a sound in this time; others replace it silently.
    """

    has_previews: bool = False
    is_private: bool = False
    max_age_s: Annotated[int, Meta(ge=10, le=86_400)] = 3_600
    collapse_window_s: Annotated[int, Meta(ge=0, le=3_600)] = 10
    counts_chats: bool = False
    """Whether the badge counts chats with unread messages instead of unread messages."""
    texts: Annotated[dict[Locale, PushTexts], Meta(max_length=50)] = {}


class BeforeSendSettings(Struct, frozen=True, kw_only=True):
    """The before-send hook, which may change or refuse messages. `endpoint` is the webhook endpoint with its URL and secret.

    `on_failure`: what happens to a message if the hook does not answer within `timeout_ms`.
    """

    endpoint: Annotated[str, Meta(min_length=26, max_length=26)]
    timeout_ms: Annotated[int, Meta(ge=50, le=5_000)] = 1_000
    on_failure: Literal["allow", "refuse"] = "allow"


class ListedTerm(Struct, frozen=True, kw_only=True):
    """A word or domain of a list, and what happens to a message that contains it."""

    text: Annotated[str, Meta(min_length=1, max_length=40)]
    action: Literal["mask", "refuse", "flag"] = "mask"


class ContentRules(Struct, frozen=True, kw_only=True):
    """Words and domains that messages and edits of the tenant must not contain. Literal texts, no patterns."""

    words: Annotated[tuple[ListedTerm, ...], Meta(max_length=100)] = ()
    domains: Annotated[tuple[ListedTerm, ...], Meta(max_length=50)] = ()


class MediaPolicy(Struct, frozen=True, kw_only=True):
    """Attachments. `types`: those allowed, such as `image/*`; empty: all. `strips_metadata`: images lose their metadata.

    `has_link_previews`: the media worker fetches pages that messages link to.
    """

    max_file_mb: Annotated[int, Meta(ge=1, le=5_120)] = 100
    total_mb: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 100_000
    types: Annotated[tuple[MediaTypes, ...], Meta(max_length=100)] = ()
    strips_metadata: bool = True
    has_link_previews: bool = False


class RetentionSettings(Struct, frozen=True, kw_only=True):
    """The days after which messages expire or are archived; None: never. `is_held`: a legal hold, neither happens."""

    direct_days: RetentionDays | None = None
    group_days: RetentionDays | None = None
    archive_days: Annotated[int, Meta(ge=MIN_ARCHIVE_DAYS, le=MAX_RETENTION_DAYS)] | None = None
    is_held: bool = False


class TenantSettings(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=32)]
    tokens: TokenSettings = TokenSettings()
    has_phone_login: bool = False
    phone_prefixes: Annotated[tuple[PhonePrefix, ...], Meta(max_length=300)] = ()
    """Prefixes of phone numbers that codes may be sent to. Empty: none."""
    has_phone_search: bool = False
    """Whether users may find each other by phone number."""
    rates: RateOverrides = RateOverrides()
    push: PushSettings = PushSettings()
    max_members: Annotated[int, Meta(ge=2, le=MAX_MEMBERS)] = 1_000
    """Members of a group, with its owner."""
    before_send: BeforeSendSettings | None = None
    has_search: bool = False
    """Whether users may search their messages."""
    media: MediaPolicy = MediaPolicy()
    content: ContentRules = ContentRules()
    retention: RetentionSettings = RetentionSettings()
    has_erasure_approval: bool = False  # erasures need a second approver
    form: int = SETTINGS_FORM


class Tenant(Struct, frozen=True, kw_only=True):
    """A tenant. `version` is incremented with each change of the settings."""

    id: TenantId
    settings: TenantSettings
    version: int
    created_at_ms: int
    updated_at_ms: int


class UnwrapError(Exception):
    """A key cannot be unwrapped, now or later: it was altered, or wrapped for another tenant or by another key."""


class KeyStore(Protocol):
    """Wrapped keys of all tenants. Every method raises `keys_unavailable` while the store is unavailable."""

    async def list(self, tenant: TenantId, /) -> Sequence[WrappedKey]:
        """List the keys of every kind and version. Strongly consistent."""
        ...

    async def add(self, tenant: TenantId, key: WrappedKey, /) -> WrappedKey:
        """Store a key if its name is free; atomic. Return the stored key. One of a deleted tenant is not stored."""
        ...

    async def replace(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, /) -> bool:
        """Replace a key on condition that it is unchanged since `before`; atomic. False: it was changed or deleted."""
        ...


@dataclass(frozen=True, slots=True)
class UserKeyRow:
    """The wrapped keys of a user: version n is `wrapped[n - 1]`. A destroyed row has none and can get none."""

    wrapped: tuple[bytes, ...]
    is_destroyed: bool = False


class UserKeyStore(Protocol):
    """Wrapped keys of users. Every method raises `keys_unavailable` while the store is unavailable."""

    async def read(
        self, tenant: TenantId, users: Collection[UserId], /, *, is_strong: bool
    ) -> Mapping[UserId, UserKeyRow]:
        """Read the rows of these users that exist, in one batch."""
        ...

    async def add(self, tenant: TenantId, user: UserId, before: UserKeyRow, wrapped: bytes, /) -> UserKeyRow:
        """Append a version if the row is unchanged since `before`; atomic. Return the stored row: this or another."""
        ...

    async def destroy(self, tenant: TenantId, user: UserId, at_ms: int, /) -> None:
        """Record that the user is erased, so that a restore repeats it, then replace the row by one without keys."""
        ...


class SealingKeys(Protocol):
    """The keys of one tenant. Methods never block."""

    def fingerprint(self, data: bytes, /) -> bytes:
        """Return an HMAC that is equal for equal data and stays the same as long as the tenant exists."""
        ...

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        """Encrypt a body for one place. It cannot be decrypted at another place."""
        ...

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        """Decrypt content. Raises `decryption_failed` if it was not encrypted for this place with these keys."""
        ...


class SealingKeyProvider(Protocol):
    """Keys by tenant. Raises `keys_unavailable` if the keys cannot be loaded and are not cached."""

    async def of(self, tenant: TenantId, /) -> SealingKeys:
        """Return keys to encrypt with, cached after the first call. Creates them for a tenant without keys."""
        ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> SealingKeys:
        """Return keys that decrypt these contents, regardless of their age."""
        ...


class SecretKeys(Protocol):
    """The keys of one tenant, for credentials of other services. Methods never block."""

    def fingerprint(self, data: bytes, /) -> bytes: ...

    def seal_secret(self, name: str, secret: bytes, /) -> bytes:
        """Encrypt a secret for one name; also in an installation that stores content in clear."""
        ...

    def open_secret(self, name: str, sealed: bytes, /) -> bytes | None:
        """Decrypt a secret. None: it was altered, or encrypted for another name or tenant."""
        ...


class SecretKeyProvider(Protocol):
    """Keys by tenant, as `SealingKeyProvider`. Raises `keys_unavailable`."""

    async def of(self, tenant: TenantId, /) -> SecretKeys: ...

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> SecretKeys: ...


class TenantLookup(Protocol):
    async def find(self, tenant: TenantId, /) -> Tenant | None:
        """Read a tenant through a cache. `None`: it does not exist. Raises `keys_unavailable`."""
        ...


class TenantStore(Protocol):
    """Settings of all tenants. Every method raises `keys_unavailable` while the store is unavailable."""

    async def create(self, tenant: TenantId, settings: TenantSettings, at_ms: int, /) -> bool:
        """Create a tenant; atomic. False: it already exists."""
        ...

    async def read(self, tenant: TenantId, /) -> Tenant | None:
        """Read a tenant. Strongly consistent."""
        ...

    async def is_deleted(self, tenant: TenantId, /) -> bool:
        """Return whether the id belonged to a tenant that was deleted. Strongly consistent."""
        ...

    async def list(self, after: TenantId | None, limit: int, /) -> Sequence[TenantId]:
        """List ids in order, after `after`. Eventually consistent."""
        ...

    async def update(self, tenant: TenantId, settings: TenantSettings, version: int, at_ms: int, /) -> bool:
        """Store the settings as `version + 1`, on condition that `version` is current; atomic. False: it is not."""
        ...
