"""Principals, users, devices and sessions."""

from enum import StrEnum
from typing import Literal, NamedTuple, NewType

from msgspec import UNSET, Struct, UnsetType

from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.kernel.security import Secret

SessionId = NewType("SessionId", str)


class Scope(StrEnum):
    """A permission of an API key. Users have no scopes: the rules of each subject decide."""

    ACT_AS_USER = "act_as_user"
    """Read and write chats as a user of the tenant, who is named in each request."""
    USERS = "users"
    """Create, change and read users; end their sessions."""
    NOTIFICATIONS = "notifications"
    """Configure inboxes; send, change and recall notifications; read their jobs and users' inboxes."""
    WEBHOOKS = "webhooks"
    """Manage webhook endpoints, read their delivery log, and replay events. Endpoints receive the content of all chats."""
    MODERATION = "moderation"
    """Set the words and links that messages must not contain."""


class Principal(Struct, frozen=True, kw_only=True):
    """The verified sender of a request. The tenant comes only from here, never from a path or a body.

    `user` is `None` for a tenant's server, authenticated by the API key `api_key` with `scopes`. `signed_by` is the `kid` of the
    tenant's signing key, for tokens that the tenant's server signed.
    """

    tenant: TenantId
    user: UserId | None = None
    device: DeviceId | None = None
    session: SessionId | None = None
    scopes: frozenset[Scope] = frozenset()
    issued_at_ms: int | None = None
    expires_at_ms: int | None = None
    signed_by: str | None = None
    api_key: str | None = None


Phone = NewType("Phone", str)
"""A phone number in E.164: `+`, then 7 to 15 digits. Create it with `rules.parse_phone`."""
ChallengeId = NewType("ChallengeId", str)
"""Identifies a code that was sent. Only the client that requested the code receives it."""


type LastSeen = Literal["members", "nobody"]
"""Users who may see a user's presence and last-seen time: members of the same chats, or no one."""

type PhoneSearch = Literal["everyone", "nobody"]
"""Users who may find a user by phone number, or add them to a group by it: all users of the tenant, or no one."""


class EmailRefusal(StrEnum):
    """Why no mail is sent to an address: it does not arrive, or its owner reported it as spam."""

    BOUNCE = "bounce"
    COMPLAINT = "complaint"


class User(Struct, frozen=True, kw_only=True):
    """A user of a tenant.

    `sessions_epoch` is incremented when all sessions are ended: a session with a lower epoch has ended.
    `not_before_ms`: tokens of the tenant's server that were issued earlier are refused. `email` comes from the tenant's
    server, which has verified it; `email_refused` applies until the address changes. `is_erased`: since
    `suspended_at_ms`. Their row remains only to refuse the id.
    """

    tenant: TenantId
    user: UserId
    phone: Phone | None = None
    display_name: str | None = None
    avatar_uri: str | None = None
    email: str | None = None
    email_refused: EmailRefusal | None = None
    locale: str | None = None
    last_seen: LastSeen = "members"
    phone_search: PhoneSearch = "everyone"
    sessions_epoch: int = 0
    not_before_ms: int | None = None
    suspended_at_ms: int | None = None
    is_erased: bool = False
    created_at_ms: int
    updated_at_ms: int


class UserChangeKind(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    SUSPENDED = "suspended"
    UNSUSPENDED = "unsuspended"


class UserChange(NamedTuple):
    """A change of a user that was written."""

    tenant: TenantId
    user: UserId
    kind: UserChangeKind


class ProfileChange(Struct, frozen=True, kw_only=True):
    """A partial update. An unset field keeps its value; `None` removes it."""

    display_name: str | UnsetType | None = UNSET
    avatar_uri: str | UnsetType | None = UNSET
    email: str | UnsetType | None = UNSET
    locale: str | UnsetType | None = UNSET
    last_seen: LastSeen | UnsetType | None = UNSET
    phone_search: PhoneSearch | UnsetType | None = UNSET


class Device(Struct, frozen=True, kw_only=True):
    """`id` is chosen by the client, one per installation; `name` is shown to the user."""

    id: DeviceId
    name: str = ""


class Session(Struct, frozen=True, kw_only=True):
    """The login of a device. One refresh token is current; it and its predecessor are stored as hashes.

    `rotation_key_hash` is the hash of the idempotency key of the last refresh. It distinguishes a retry of that
    refresh from a second use of the token.
    """

    tenant: TenantId
    session: SessionId
    user: UserId
    device: Device
    token_hash: bytes
    previous_hash: bytes | None = None
    rotation_key_hash: bytes | None = None
    epoch: int
    created_at_ms: int
    refreshed_at_ms: int
    expires_at_ms: int


class Revocation(Struct, frozen=True, kw_only=True):
    """The end, from `from_ms` on, of a session, of all credentials of a user, or of a signing key (`kid`).

    Without any of them: of all credentials of a deleted tenant.
    """

    tenant: TenantId
    user: UserId | None = None
    session: SessionId | None = None
    kid: str | None = None
    from_ms: int

    @property
    def is_of_tenant(self) -> bool:
        return self.user is None and self.session is None and self.kid is None


class Challenge(Struct, frozen=True, kw_only=True):
    """The answer to a request for a code. It is the same for every number."""

    id: ChallengeId
    expires_at_ms: int


class TokenGrant(Struct, frozen=True, kw_only=True):
    """The tokens that a device receives after a login or a refresh."""

    session: Session
    refresh_token: Secret
    access_token: Secret
    access_expires_at_ms: int


class LoginResult(Struct, frozen=True, kw_only=True):
    user: User
    grant: TokenGrant
    is_new: bool
