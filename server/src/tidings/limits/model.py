"""Rate-limit kinds, policies, requests for tokens and verdicts."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from tidings.kernel.ids import TenantId


class TakeResult(NamedTuple):
    """The outcome and the levels of the buckets after it. If it is not allowed, no bucket was changed."""

    is_allowed: bool
    levels: tuple[int, ...]


NO_TENANT = TenantId("_system")
"""For requests of an address that is not authenticated yet."""


class LimitKind(StrEnum):
    """What a bucket counts. Each kind has a policy."""

    TENANT = "tenant"
    USER = "user"
    ADDRESS = "address"
    CHAT_USER = "chat_user"
    """Chats that a user creates."""
    CODE_ADDRESS = "code_address"
    """One-time codes requested from an address."""
    CODE_NETWORK = "code_network"
    """One-time codes requested from an IPv6 /48."""
    CODE_NUMBER_ADDRESS = "code_number_address"
    """One-time codes sent to a phone number at the request of one address."""
    CODE_NUMBER = "code_number"
    """One-time codes sent to a phone number at the request of addresses that never logged in with it."""
    CODE_PREFIX = "code_prefix"
    """One-time codes sent to numbers that share their first digits."""
    CODE_TENANT = "code_tenant"
    CODE_INSTALLATION = "code_installation"
    """One-time codes of all tenants."""
    REDEEM_ADDRESS = "redeem_address"
    """Attempts to log in with a code."""
    PHONE_SEARCH = "phone_search"
    """Phone numbers that a user looks up."""


class LimitPolicy(Struct, frozen=True, kw_only=True):
    """A sustained rate of `count` per `period_s`, and up to `burst` at a time after a quiet period.

    Levels are whole units: a token is `period_s` million units, and `count` units are added each microsecond. So
    nothing is rounded, and Lua's numbers, which are exact up to 2**53, give the same result.
    """

    count: int
    period_s: int
    burst: int

    def __post_init__(self) -> None:
        if min(self.count, self.period_s, self.burst) < 1 or self.capacity > 2**52 or self.count > 10**10:
            raise ValueError(
                f"The policy {self} is out of range: values start at 1, units must fit into 52 bits."
            )

    @property
    def token(self) -> int:
        """Return the units of one token."""
        return self.period_s * 1_000_000

    @property
    def capacity(self) -> int:
        return self.burst * self.token


class TokenRequest(Struct, frozen=True):
    """A request for `tokens` of one bucket. More than half of its capacity means half of it.

    All requests of one `take` have the same tenant, and with `NO_TENANT` also the same name.
    """

    kind: LimitKind
    tenant: TenantId
    name: str = ""
    tokens: int = 1


class LimitVerdict(Struct, frozen=True, kw_only=True):
    """The verdict of the decisive bucket: the one that refuses longest, or has the fewest tokens left."""

    is_allowed: bool
    kind: LimitKind
    limit: int
    """Tokens in a full bucket."""
    remaining: int
    window_s: int
    """Seconds to refill an empty bucket."""
    reset_s: int
    """Seconds until this bucket is full."""
    retry_after_s: int
    """Seconds until a retry can succeed; 0 if allowed."""
    is_local: bool = False
    """Decided in this process's memory, because Redis was unavailable."""


type ReadNameKey = Callable[[], Awaitable[bytes]]
"""Returns the key that names are hashed with: the same in every process, at most 64 bytes.

Raises `TidingsError` while it is unavailable.
"""


class Buckets(Protocol):
    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        """Take tokens from all buckets or from none. Raises `UnavailableError`; they may have been taken then."""
        ...
