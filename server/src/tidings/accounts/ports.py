"""What logins ask of the world: rows, keys, limits, and somebody who sends a text message."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from tidings.accounts.model import ChallengeId, Phone, Principal, ProfileChange, Session, SessionId, User
from tidings.kernel.ids import TenantId, UserId


class UserStore(Protocol):
    async def read(self, tenant: TenantId, user: UserId, /) -> User | None:
        """To show: may be a second behind."""
        ...

    async def confirm(self, tenant: TenantId, user: UserId, /) -> User | None:
        """Strong: to decide by."""
        ...

    async def read_many(self, tenant: TenantId, users: Collection[UserId], /) -> Mapping[UserId, User]:
        """Those that are there. To show."""
        ...

    async def owner(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        """Strong."""
        ...

    async def find_by_phone(self, tenant: TenantId, phone: Phone, /) -> UserId | None:
        """Look in the index, which may be a second behind: a hint, to be confirmed."""
        ...

    async def create(self, user: User, /) -> "CreateUserResult":
        """Atomic, with the claim of its number: of two who want one id or one number, one gets it."""
        ...

    async def change(
        self, tenant: TenantId, user: UserId, change: ProfileChange, now_ms: int, /
    ) -> User | None:
        """None: there is no such user."""
        ...

    async def end_sessions(self, tenant: TenantId, user: UserId, now_ms: int, /) -> bool:
        """End all sessions and refuse tokens issued before `now_ms`; atomic. False: there is no such user."""
        ...

    async def suspend(self, tenant: TenantId, user: UserId, now_ms: int, /, *, is_on: bool) -> bool:
        """Suspend the user, or take the suspension back; atomic. False: there is no such user."""
        ...

    async def directory(
        self, tenant: TenantId, part: int, /, *, prefix: str = "", below: UserId | None = None, limit: int
    ) -> "DirectoryPage":
        """List ids in one part of the directory, in order. May be a second behind."""
        ...


class DirectoryPage(Protocol):
    @property
    def users(self) -> Sequence[UserId]: ...

    @property
    def has_more(self) -> bool: ...


class CreateUserResult(Protocol):
    """What stands after an attempt to create."""

    @property
    def is_created(self) -> bool: ...

    @property
    def owner(self) -> UserId | None:
        """Who has the number, if that was what stood in the way."""
        ...


class SessionStore(Protocol):
    async def create(self, session: Session, /) -> None: ...

    async def peek(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        """May be a second behind."""
        ...

    async def read(self, tenant: TenantId, session: SessionId, /) -> Session | None:
        """Strong."""
        ...

    async def rotate(self, after: Session, /) -> Session | None:
        """Atomic: if the good token is `after.previous_hash`. The row as it then stands, ours or not; None: gone."""
        ...

    async def list(self, tenant: TenantId, user: UserId, /) -> Sequence[Session]:
        """From an index: one that was made a moment ago may not be there yet."""
        ...

    async def delete(self, tenant: TenantId, session: SessionId, user: UserId, now_ms: int, /) -> bool:
        """Atomic: if it is this user's, with the revocation that closes its socket. False: there is none."""
        ...

    async def delete_many(self, tenant: TenantId, sessions: Sequence[SessionId], /) -> None: ...


class CodeStore(Protocol):
    async def put(
        self, tenant: TenantId, challenge: ChallengeId, code_hash: bytes, expires_at_s: int, /
    ) -> None: ...

    async def count_try(
        self, tenant: TenantId, challenge: ChallengeId, max_tries: int, now_s: int, /
    ) -> bytes | None:
        """Atomic: the hash to compare with, once for each try there is. None: no code, none left, or too late."""
        ...

    async def redeem(self, tenant: TenantId, challenge: ChallengeId, /) -> bool:
        """Atomic: True for one alone, and the code is gone."""
        ...


class Fingerprints(Protocol):
    """A tenant's keyed hash."""

    def fingerprint(self, said: bytes, /) -> bytes: ...


class TenantKeyProvider(Protocol):
    async def of(self, tenant: TenantId, /) -> Fingerprints:
        """Makes the tenant's keys if there are none: only for a tenant that is known to exist."""
        ...


class SigningKeys(Protocol):
    async def signing_key(self, tenant: TenantId, /) -> tuple[int, bytes]:
        """Version and key. Makes one for a tenant that has none."""
        ...

    async def to_verify(self, tenant: TenantId, version: int, /) -> bytes | None:
        """None: not a key of this tenant, or one that was replaced too long ago. Never makes one."""
        ...


class TokenMinter(Protocol):
    @property
    def life_s(self) -> float: ...

    async def mint(self, principal: Principal, /) -> str: ...


class TenantPolicyReader(Protocol):
    async def phone_prefixes(self, tenant: TenantId, /) -> Sequence[str] | None:
        """Return the number prefixes that the tenant sends codes to, from a cache.

        None: there is no such tenant, or it has no login by phone.
        """
        ...


class DirectoryTenants(Protocol):
    async def may_find_by_phone(self, tenant: TenantId, /) -> bool:
        """Tell from a cache whether users of the tenant may look for each other by phone number."""
        ...


class LoginLimitVerdict(Protocol):
    @property
    def is_allowed(self) -> bool: ...

    @property
    def retry_after_s(self) -> float: ...


class LoginLimiter(Protocol):
    """How many codes are sent and tried. `address` is where the request came from."""

    async def admit_request(self, tenant: TenantId, address: str, /) -> LoginLimitVerdict:
        """Count a request for a code, before anything is looked up."""
        ...

    async def admit_code(self, tenant: TenantId, phone: Phone, address: str, /) -> LoginLimitVerdict:
        """Count a code that is about to be sent. Does the same work for every number."""
        ...

    async def admit_try(self, tenant: TenantId, address: str, /) -> LoginLimitVerdict:
        """Count an attempt to log in with a code."""
        ...

    async def remember(self, tenant: TenantId, phone: Phone, address: str, /) -> None:
        """Record a login, so that strangers cannot use up what this address may request for this number.

        Best effort: never raises for an engine that does not answer.
        """
        ...


class SmsSender(Protocol):
    async def send(self, to: Phone, text: str, /) -> None:
        """Returns when the message is handed on. Raises what it likes: nobody waits for it."""
        ...
