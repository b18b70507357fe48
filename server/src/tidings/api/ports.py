"""What the edge asks of the rest, where that is more than a use case of one class."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from tidings.accounts.model import Principal
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId
from tidings.messages.content import Content
from tidings.messages.send import SendResult


class ApiCredentials(Protocol):
    async def verify(self, bearer: str, /) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; does not tell why."""
        ...


class MessageSending(Protocol):
    """`messages.send`, and whatever is done with each committed message."""

    async def __call__(
        self,
        chat: ChatKey,
        sender: UserId,
        client_key: ClientKey,
        content: Content,
        *,
        after: int | None = None,
        content_type: str | None = None,
        ttl_s: int | None = None,
    ) -> SendResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitState:
    """What is left in the bucket that is nearest to its end. `policy` is its name."""

    policy: str
    limit: int
    remaining: int
    reset_s: int
    window_s: int
    is_allowed: bool = True
    retry_after_ms: int = 0


class ApiLimits(Protocol):
    def is_blocked(self, address: str, /) -> RateLimitState | None:
        """Of an address that nothing is known of: is it in vain to ask for it? Known here, without waiting."""
        ...

    async def admit(
        self, address: str, principal: Principal | None, user: UserId | None, /
    ) -> RateLimitState | None:
        """Takes one from each bucket. Without a principal: an address that nothing is known of.

        None: nothing is limited. Never raises for an engine that is away.
        """
        ...

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> RateLimitState | None:
        """Take `tokens` for what a request costs beyond the request itself, from the tenant and from `user`."""
        ...

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> RateLimitState | None:
        """Count a chat that `user` is about to create."""
        ...

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> RateLimitState | None:
        """Charge a phone number that `user` looks up: `tokens` as `charge` does, and one from the user's daily bucket.

        Takes from all buckets or from none.
        """
        ...


class RequestTelemetry(Protocol):
    def answered(self, route: str, status: int, /) -> None:
        """`route` is the template of the address, never the address itself."""
        ...


class ApiTelemetry(Protocol):
    def request(self, method: str, traceparent: str | None, /) -> AbstractContextManager[RequestTelemetry]:
        """A span and its metrics around one request. `traceparent` only where the outside is trusted."""
        ...


class NoApiLimits:
    def is_blocked(self, address: str, /) -> None:
        del address

    async def admit(self, address: str, principal: Principal | None, user: UserId | None, /) -> None:
        del address, principal, user

    async def charge(self, tenant: TenantId, user: UserId | None, tokens: int, /) -> None:
        del tenant, user, tokens

    async def admit_chat(self, tenant: TenantId, user: UserId, /) -> None:
        del tenant, user

    async def charge_look_up(self, tenant: TenantId, user: UserId, tokens: int, /) -> None:
        del tenant, user, tokens


class _Nothing:
    def answered(self, route: str, status: int, /) -> None:
        del route, status


class NoApiTelemetry:
    def request(self, method: str, traceparent: str | None, /) -> AbstractContextManager[RequestTelemetry]:
        del method, traceparent
        return _NOTHING


_NOTHING: AbstractContextManager[RequestTelemetry] = nullcontext(_Nothing())
