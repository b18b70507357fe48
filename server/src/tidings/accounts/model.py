"""Who somebody is, once a credential was verified."""

from enum import StrEnum
from typing import NewType

from msgspec import Struct

from tidings.kernel.ids import DeviceId, TenantId, UserId

SessionId = NewType("SessionId", str)


class Scope(StrEnum):
    """What an API key of a tenant's server may do. A user needs none: the rules of each subject decide."""

    ACT_AS_USER = "act_as_user"
    """Read and write chats in the name of a user of the tenant, who is named with each request."""
    USERS = "users"
    """Make, change and read users; end their sessions."""
    NOTIFICATIONS = "notices"
    """Set up inboxes; send, change and recall notices; look after their jobs and into users' inboxes."""


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
