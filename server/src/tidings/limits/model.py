"""What is counted, how often it may happen, and what an asker is told."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from msgspec import Struct

from tidings.kernel.ids import TenantId


class TakeResult(NamedTuple):
    """`levels` after it; if it was not allowed nothing was taken anywhere."""

    is_allowed: bool
    levels: tuple[int, ...]


NO_TENANT = TenantId("_system")
"""For an address of which nobody knows yet for whom it asks."""


class LimitKind(StrEnum):
    """What a bucket counts by. There is a policy for each."""

    TENANT = "tenant"
    USER = "user"
    ADDRESS = "address"
    CHAT_USER = "chat_user"
    """Chats that a user creates."""
    CODE_ADDRESS = "code_address"
    """One-time codes requested from an address."""
    CODE_NETWORK = "code_network"
    """One-time codes requested from an IPv6 /48."""
    CODE_NUMBER_PLACE = "code_number_place"
    """One-time codes sent to a phone number at the request of one address."""
    CODE_NUMBER = "code_number"
    """One-time codes sent to a phone number at the request of addresses that never logged in with it."""
    CODE_PREFIX = "code_prefix"
    """One-time codes sent to numbers that share their first digits."""
    CODE_TENANT = "code_tenant"
    CODE_INSTALLATION = "code_installation"
    """One-time codes of all tenants."""
    REDEEM_ADDRESS = "redeem_address"
    """Tries to log in with a code."""
    PHONE_SEARCH = "phone_search"
    """Phone numbers that a user looks up."""


class LimitPolicy(Struct, frozen=True, kw_only=True):
    """`count` in each `period_s` for good, and `burst` at once after a quiet time.

    Counted in whole units, of which a token has `period_s` times a million: one unit comes back with each
    microsecond, times `count`. So nothing is rounded, and Lua's numbers, exact up to 2**53, give the same answer.
    """

    count: int
    period_s: int
    burst: int

    def __post_init__(self) -> None:
        if min(self.count, self.period_s, self.burst) < 1 or self.capacity > 2**52 or self.count > 10**10:
            raise ValueError(f"a policy that can't be counted: {self}")

    @property
    def token(self) -> int:
        """The units of one token."""
        return self.period_s * 1_000_000

    @property
    def capacity(self) -> int:
        return self.burst * self.token


class TokenRequest(Struct, frozen=True):
    """`tokens` from the bucket of `name`. More than the bucket ever holds means all that it holds.

    The asks of one `take` are of one tenant; those of `NO_TENANT` also of one name.
    """

    kind: LimitKind
    tenant: TenantId
    name: str = ""
    tokens: int = 1


class LimitVerdict(Struct, frozen=True, kw_only=True):
    """Of the bucket that matters most: the one that refuses, or is the nearest to it."""

    is_allowed: bool
    kind: LimitKind
    limit: int
    """How many it holds when it is full."""
    remaining: int
    window_s: int
    """How long an empty one takes to be full."""
    reset_s: int
    """Until it is full again, as it is now."""
    retry_after_s: int
    """0 if allowed. Asking earlier is in vain."""
    is_local: bool = False
    """Redis was not asked: each process counts for itself."""


class NameKey(Protocol):
    async def read(self) -> bytes:
        """Return the key that names are hashed with, the same in every process; at most 64 bytes.

        Raises `TidingsError` while it cannot be had.
        """
        ...


class Buckets(Protocol):
    """Atomic: from all that are asked, or from none."""

    async def take(self, asks: Sequence[TokenRequest], policies: Sequence[LimitPolicy], /) -> TakeResult:
        """Raises `UnavailableError`."""
        ...
