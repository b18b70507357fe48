"""Operators, their roles and their sessions."""

from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from tidings.kernel.ids import TenantId
from tidings.kernel.security import Secret

ALL_TENANTS: Final = "*"


class Role(StrEnum):
    """Each role includes the ones before it."""

    VIEWER = "viewer"
    """Read configuration, jobs and the state of processes."""
    SUPPORT = "support"
    """Also look up users and messages, read content with a reason, and end sessions."""
    OPERATOR = "operator"
    """Also change inboxes, send and recall notifications, control jobs, drain gateways, replay and drop dead letters,
    export and erase users, and read the audit log."""
    OWNER = "owner"
    """Also change tenants and keys, and export the audit log."""

    def includes(self, other: "Role") -> bool:
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER: Final = tuple(Role)


class Operator(Struct, frozen=True, kw_only=True):
    """A person who uses the console. `tenants` is what they may act on; `*` stands for all and the installation.

    id: `oidc:` and the subject at the identity provider, or `bootstrap_key`.
    """

    id: str
    role: Role
    tenants: frozenset[str]
    name: str = ""
    email: str = ""

    def may_act_on(self, tenant: TenantId) -> bool:
        return ALL_TENANTS in self.tenants or tenant in self.tenants

    @property
    def has_all_tenants(self) -> bool:
        return ALL_TENANTS in self.tenants


class OperatorSession(Struct, frozen=True, kw_only=True):
    """A sign-in. Only a hash of its secret is stored. Role and tenants stay as they were at the sign-in."""

    id: str
    operator: Operator
    secret_hash: bytes
    created_at_ms: int
    expires_at_ms: int


class IssuedSession(Struct, frozen=True, kw_only=True):
    session: OperatorSession
    token: Secret


class OperatorSessionStore(Protocol):
    """Store of sessions. Every method raises `overloaded` while the store is unavailable."""

    async def add(self, session: OperatorSession, /) -> None: ...

    async def find(self, session: str, /) -> OperatorSession | None:
        """Read a session. Strongly consistent, so that a revoked one is refused at once."""
        ...

    async def list(self) -> "list[OperatorSession]":
        """List all sessions, oldest first, including expired ones that are not deleted yet."""
        ...

    async def delete(self, session: str, /) -> bool:
        """Delete a session. False: it does not exist."""
        ...
