"""Who somebody is, once a credential was verified."""

from enum import StrEnum
from typing import Literal, NewType

from msgspec import UNSET, Struct, UnsetType

from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.kernel.security import Secret

SessionId = NewType("SessionId", str)


class Scope(StrEnum):
    """What an API key of a tenant's server may do. A user needs none: the rules of each subject decide."""

    ACT_AS_USER = "act_as_user"
    """Read and write chats in the name of a user of the tenant, who is named with each request."""
    USERS = "users"
    """Make, change and read users; end their sessions."""
    NOTIFICATIONS = "notifications"
    """Set up inboxes; send, change and recall notifications; look after their jobs and into users' inboxes."""


class Principal(Struct, frozen=True, kw_only=True):
    """Whom a request comes from. The tenant comes from here alone, never from a path or a body.

    `user` None: the tenant's own server, by API key; `scopes` says what it may do. `signed_by`: the `kid` of the
    tenant's signing key, for tokens of the tenant's own server.
    """

    tenant: TenantId
    user: UserId | None = None
    device: DeviceId | None = None
    session: SessionId | None = None
    scopes: frozenset[Scope] = frozenset()
    issued_at_ms: int | None = None
    expires_at_ms: int | None = None
    signed_by: str | None = None


Phone = NewType("Phone", str)
"""In E.164: `+`, then 7 to 15 digits. Made by `rules.parse_phone` alone."""
ChallengeId = NewType("ChallengeId", str)
"""Names a code that was sent out. Only who asked for the code knows it."""


type LastSeen = Literal["members", "nobody"]
"""Who may see whether a user is there and when he last was: those with whom he shares a chat, or nobody."""

type PhoneSearch = Literal["everyone", "nobody"]
"""Who of the tenant finds a user by their phone number, or adds them to a group by it: the user's own choice."""


class User(Struct, frozen=True, kw_only=True):
    """`sessions_epoch` goes up when all sessions are ended; a session of an earlier one is over.

    `not_before_ms`: tokens of the tenant's own server that were issued earlier are refused.
    """

    tenant: TenantId
    user: UserId
    phone: Phone | None = None
    display_name: str | None = None
    avatar_uri: str | None = None
    last_seen: LastSeen = "members"
    phone_search: PhoneSearch = "everyone"
    sessions_epoch: int = 0
    not_before_ms: int | None = None
    suspended_at_ms: int | None = None
    created_at_ms: int
    updated_at_ms: int


class ProfileChange(Struct, frozen=True, kw_only=True):
    """What is not set stays as it is; None takes it away."""

    display_name: str | UnsetType | None = UNSET
    avatar_uri: str | UnsetType | None = UNSET
    last_seen: LastSeen | UnsetType | None = UNSET
    phone_search: PhoneSearch | UnsetType | None = UNSET


class Device(Struct, frozen=True, kw_only=True):
    """`id` is the client's own, one per installation; `name` is for people who look at their devices."""

    id: DeviceId
    name: str = ""


class Session(Struct, frozen=True, kw_only=True):
    """A login of a device. One refresh token is good at a time; of all others only hashes are known, of the last one.

    `rotation_key_hash` is of the key that the last refresh came with: it tells its retry from a token used twice.
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


class Challenge(Struct, frozen=True, kw_only=True):
    """What who asked for a code is told, whatever the number is."""

    id: ChallengeId
    expires_at_ms: int


class TokenGrant(Struct, frozen=True, kw_only=True):
    """What a device holds after a login or a refresh."""

    session: Session
    refresh_token: Secret
    access_token: Secret
    access_expires_at_ms: int


class LoginResult(Struct, frozen=True, kw_only=True):
    user: User
    grant: TokenGrant
    is_new: bool
