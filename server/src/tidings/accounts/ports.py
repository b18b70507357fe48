"""Interfaces between accounts and the outside: stores, credential verifiers and the SMS provider."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from tidings.accounts.model import (
    ChallengeId,
    EmailRefusal,
    Phone,
    Principal,
    ProfileChange,
    Revocation,
    Session,
    SessionId,
    User,
    UserChange,
)
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.limits.model import LimitVerdict

type OnUserChanged = Callable[[UserChange], Awaitable[None]]
"""Called after a change was written and before its request is answered. An error fails the request, which may be repeated."""
type Mac = Callable[[bytes], bytes]
"""HMAC-SHA256 under a key of the tenant."""
type TenantMac = Callable[[TenantId], Awaitable[Mac]]
"""Returns a tenant's MAC. Creates the tenant's keys if it has none: pass only tenants that exist."""
type MayShow = Callable[[User], bool]
"""Decides whether a user may be shown to other users."""
type ReadRevocations = Callable[[int], Awaitable[Sequence[tuple[str, Revocation]]]]
"""Reads all revocations written since a time in milliseconds, each with its unique name. Strongly consistent."""


class ProfileKeys(Protocol):
    """The keys of one user, for the personal fields of their profile. Methods never block."""

    def seal_field(self, name: str, text: str, /) -> bytes:
        """Encrypt a field. It opens only as the field `name` of this user."""
        ...

    def open_field(self, name: str, sealed: bytes, /) -> str | None:
        """Decrypt a field. None: it was altered, or belongs to another field or user."""
        ...


class ProfileKeyProvider(Protocol):
    """Keys by user. Raises `keys_unavailable` if the keys cannot be loaded and are not cached."""

    async def of(self, tenant: TenantId, user: UserId, /) -> ProfileKeys:
        """Return keys to seal with, cached after the first call. Creates them for a user without keys.

        Raises `user_erased` for a user whose keys were destroyed.
        """
        ...

    async def fields_of(
        self, tenant: TenantId, fields: Collection[tuple[UserId, bytes]], /
    ) -> Mapping[UserId, ProfileKeys | None]:
        """Return keys to open these fields, each with its user. Reads keys that are not cached in one batch.

        None for a user whose keys were destroyed.
        """
        ...


class DirectoryPage(NamedTuple):
    users: Sequence[UserId]
    has_more: bool


class CreateUserResult(NamedTuple):
    """`owner` is the user who has the phone number, if the number was the reason that nothing was created.

    `is_erased`: a user with this id was erased.
    """

    is_created: bool
    owner: UserId | None = None
    is_erased: bool = False


type IsMeant = Callable[[str], bool]
"""Tells whether an e-mail address is the one that was refused."""


class UserStore(Protocol):
    """Users. Their name, avatar and phone number are sealed; they are None for a user whose keys were destroyed.

    An erased user is not shown and cannot be changed, as if they did not exist. `confirm` returns them.
    """

    async def read(self, tenant: TenantId, user: UserId, /) -> User | None:
        """Read a user to show them. Eventually consistent."""
        ...

    async def confirm(self, tenant: TenantId, user: UserId, /) -> User | None:
        """Read a user to decide by, without name, avatar and number. Strongly consistent; needs no keys."""
        ...

    async def confirm_profile(self, tenant: TenantId, user: UserId, /) -> User | None:
        """Read a user to decide by and to show them. Strongly consistent."""
        ...

    async def confirm_phone(
        self, tenant: TenantId, user: UserId, phone: Phone, may_show: MayShow, /
    ) -> User | None:
        """Return a user to show them, if they have this number and `may_show` accepts them. Strongly consistent.

        Otherwise it reads the user's row and no keys, so that the time does not reveal why the result is None.
        `may_show` receives the user without name, avatar and number.
        """
        ...

    async def read_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        """Read users to show them. Eventually consistent. Omits users that do not exist."""
        ...

    async def owner(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        """Return the user who has claimed this phone number. Strongly consistent."""
        ...

    async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        """Look the number up in the index. Eventually consistent: confirm the user before use."""
        ...

    async def create(self, user: User, /) -> CreateUserResult:
        """Create the user and claim their phone number in one transaction.

        Of two concurrent calls with the same id or phone number, exactly one creates its user.
        """
        ...

    async def change(
        self, tenant: TenantId, user: UserId, change: ProfileChange, now_ms: int, /
    ) -> User | None:
        """Update the profile. Return `None` if the user does not exist."""
        ...

    async def refuse_email(
        self, tenant: TenantId, user: UserId, kind: EmailRefusal, is_meant: IsMeant, /
    ) -> bool:
        """Send no more mail to the user's address, if `is_meant` accepts it. Idempotent.

        False: the user has another address, none, or does not exist.
        """
        ...

    async def end_sessions(self, tenant: TenantId, user: UserId, now_ms: int, /) -> bool:
        """End all sessions and refuse tokens issued before `now_ms`; atomic. False: the user does not exist."""
        ...

    async def suspend(self, tenant: TenantId, user: UserId, now_ms: int, /, *, is_on: bool) -> bool:
        """Suspend the user, or lift the suspension; atomic. False: the user does not exist."""
        ...

    async def directory(
        self, tenant: TenantId, part: int, /, *, prefix: str = "", below: UserId | None = None, limit: int
    ) -> DirectoryPage:
        """List ids in one part of the directory, in order. Eventually consistent."""
        ...


class UserEraser(Protocol):
    """Erases the rows of users. Every method can be repeated."""

    async def fence_tenant(self, tenant: TenantId, at_ms: int, /) -> None:
        """Replace the settings by a tombstone that refuses the id, and revoke all credentials of the tenant; atomic."""
        ...

    async def fence(self, tenant: TenantId, user: UserId, at_ms: int, /) -> None:
        """Refuse all credentials of the user and the creation of this id, permanently; atomic.

        Writes a row for a user without one: a tenant's server may have acted for a user who never authenticated.
        Gateways close the user's sockets within some seconds. Other processes refuse a cached credential within a minute.
        """
        ...

    async def empty(self, tenant: TenantId, user: UserId, /) -> None:
        """Delete the profile, the claim of the phone number and the item in the directory. Call `fence` before."""
        ...


class SessionStore(Protocol):
    async def create(self, session: Session, /) -> None:
        """Store a new session. Safe to repeat."""
        ...

    async def peek(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        """Read a session. Eventually consistent."""
        ...

    async def read(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        """Read a session. Strongly consistent."""
        ...

    async def rotate(self, after: Session, /) -> Session | None:
        """Store `after` on condition that the current token is `after.previous_hash`; atomic.

        Return the stored session: `after`, or the result of a concurrent rotation. `None`: it was deleted.
        """
        ...

    async def list(self, tenant: TenantId, user: UserId, /) -> Sequence[Session]:
        """List a user's sessions from an index. A session created within the last second may be missing."""
        ...

    async def delete(self, tenant: TenantId, session: SessionId, user: UserId, now_ms: int, /) -> bool:
        """Delete a session of this user and write its revocation, which closes its connection; atomic.

        False: this user has no such session.
        """
        ...

    async def delete_many(self, tenant: TenantId, sessions: Sequence[SessionId], /) -> None:
        """Delete sessions without revocations. Not atomic; safe to repeat."""
        ...


class CodeStore(Protocol):
    async def put(
        self, tenant: TenantId, challenge: ChallengeId, code_hash: bytes, expires_at_s: int, /
    ) -> None: ...

    async def count_try(
        self, tenant: TenantId, challenge: ChallengeId, max_tries: int, now_s: int, /
    ) -> bytes | None:
        """Use up one attempt and return the hash to compare with; atomic.

        `None`: the code does not exist, has expired, or has no attempts left.
        """
        ...

    async def redeem(self, tenant: TenantId, challenge: ChallengeId, /) -> bool:
        """Delete the code; atomic. Return `True` for exactly one of several concurrent calls."""
        ...


class CredentialVerifier(Protocol):
    """Verifies bearer tokens of users. Implemented per kind of token, and by the chain of all kinds."""

    async def verify(self, bearer: str, /) -> Principal:
        """Raise `credential_invalid` or `credential_expired`; `keys_unavailable` while no decision is possible."""
        ...

    async def recheck(self, principal: Principal, /) -> None:
        """Raise what `verify` would raise now for the credential that this principal was verified with."""
        ...

    def evict(self, revocation: Revocation, /) -> None:
        """Drop cached state that the revocation makes stale."""
        ...


class SigningKeys(Protocol):
    """Keys that sign access tokens. Every method raises `keys_unavailable` while keys cannot be read."""

    async def signing_key(self, tenant: TenantId, /) -> tuple[int, bytes]:
        """Return version and key. Create the first key of a tenant."""
        ...

    async def to_verify(self, tenant: TenantId, version: int, /) -> bytes | None:
        """Return the key, or `None` if the tenant has no such key or it was replaced too long ago. Creates nothing."""
        ...


class LoginLimiter(Protocol):
    """Rate limits of login by phone. `address` is the client's address."""

    async def admit_request(self, tenant: TenantId, address: str, /) -> LimitVerdict:
        """Count a request for a code. Call it before any look-up."""
        ...

    async def admit_code(self, tenant: TenantId, phone: Phone, address: str, /) -> LimitVerdict:
        """Count a code that is about to be sent. Does the same work for every number."""
        ...

    async def admit_try(self, tenant: TenantId, address: str, /) -> LimitVerdict:
        """Count an attempt to log in with a code."""
        ...

    async def remember(self, tenant: TenantId, phone: Phone, address: str, /) -> None:
        """Record a successful login, which makes the address known for this number. Best effort: never raises."""
        ...


class SmsSender(Protocol):
    async def send(self, to: Phone, text: str, /) -> None:
        """Hand the message to the provider. May raise any error: the caller logs it and continues."""
        ...


type OnSignedOut = Callable[[TenantId, UserId, DeviceId | None], Awaitable[None]]
"""Called after the session of a device has ended; without a device, after all sessions of the user. Idempotent."""
