"""What the socket's edge asks of the rest: the use cases, as they stand."""

from dataclasses import dataclass, field
from typing import Protocol

from tidings.accounts.model import Principal
from tidings.delivery.watermarks import Reached
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.change import Asked
from tidings.messages.content import Content
from tidings.messages.history import Page
from tidings.messages.model import Appended
from tidings.messages.send import Sent


class Rates(Protocol):
    async def take(self, address: str, principal: Principal | None, /) -> int | None:
        """Counts a request. None: go on; else it is one too many, and the next may come after so many milliseconds.

        Without a principal: an address that nothing is known of yet. Never raises for an engine that is away.
        """
        ...


class NoRates:
    async def take(self, address: str, principal: Principal | None, /) -> None:
        """Nothing is limited."""
        del address, principal


class Credentials(Protocol):
    async def verify(self, bearer: str, /) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; does not tell why."""
        ...


class Sending(Protocol):
    """Answers after the commit, never before."""

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
    ) -> Sent: ...


class Changing(Protocol):
    async def edit(self, asked: Asked, content: Content) -> Appended: ...

    async def redact(self, asked: Asked) -> Appended: ...

    async def react(self, asked: Asked, emoji: str, *, is_added: bool = True) -> Appended: ...


class Reading(Protocol):
    """What a user may see of a chat, and which range that covers."""

    async def before(self, chat: ChatKey, user: UserId, before: int | None, limit: int) -> Page: ...

    async def after(self, chat: ChatKey, user: UserId, after: int, limit: int) -> Page: ...

    async def around(self, chat: ChatKey, user: UserId, sequence: int, limit: int) -> Page: ...

    async def within(self, chat: ChatKey, after: int, up_to: int, limit: int) -> Page:
        """As `after`, where it is known that all of `(after, up_to]` is the reader's to see."""
        ...

    async def show(self, chat: ChatKey, entries: Sequence[Entry]) -> Sequence[Shown]:
        """Opened, in their order, for whoever may see them."""
        ...

    async def now(
        self, chat: ChatKey, sequences: Collection[int], user: UserId | None = None
    ) -> Mapping[int, Shown]:
        """Messages as they are now, with a user those that he may see."""
        ...


class Marking(Protocol):
    """How far a user got; only forward, and never above the head."""

    async def read(self, chat: ChatKey, user: UserId, sequence: int) -> Reached: ...

    async def delivered(self, chat: ChatKey, user: UserId, sequence: int) -> Reached: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    credentials: Credentials
    send: Sending
    change: Changing
    history: Reading
    marking: Marking
    rates: Rates = field(default_factory=NoRates)
