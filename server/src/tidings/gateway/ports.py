"""What the socket's edge asks of the rest: the use cases, as they stand."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidings.accounts.model import Principal
from tidings.accounts.revocations import Revocation
from tidings.broadcasts.model import Board, LogId, Showing, View
from tidings.delivery.model import Drained, Listed, Mark, News, PendingKey, Row
from tidings.delivery.watermarks import Reached
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.change import Asked
from tidings.messages.content import Content
from tidings.messages.history import Page, Shown
from tidings.messages.model import Appended, Entry
from tidings.messages.send import Sent
from tidings.notices.config import Inbox
from tidings.notices.model import NoticeId, Owner, Sheet
from tidings.notices.read import Filter, Notice
from tidings.notices.read import Page as NoticePage


class Rates(Protocol):
    async def take(self, address: str, principal: Principal | None, /) -> int | None:
        """Counts a request. None: go on; else it is one too many, and the next may come after so many milliseconds.

        Without a principal: an address that nothing is known of yet. Never raises for an engine that is away.
        """
        ...

    async def take_work(self, principal: Principal, tokens: int, /) -> int | None:
        """Count work that one request of a user has caused, against this user alone. Answers as `take` does."""
        ...


class NoRates:
    async def take(self, address: str, principal: Principal | None, /) -> None:
        """Nothing is limited."""
        del address, principal

    async def take_work(self, principal: Principal, tokens: int, /) -> None:
        """Nothing is limited."""
        del principal, tokens


class Credentials(Protocol):
    async def verify(self, bearer: str, /) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; does not tell why."""
        ...


class Rechecks(Protocol):
    async def recheck(self, principal: Principal, /) -> None:
        """Raise what `verify` would raise now for the credential that gave this principal."""
        ...

    def forget(self, revocation: Revocation, /) -> None:
        """Read again what this revocation is about."""
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

    async def left(self, chat: ChatKey, user: UserId) -> int | None:
        """The sequence of the user's leave, as it is at this moment; None while he is in."""
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

    async def holds(self, chat: ChatKey, user: UserId, mark: Mark) -> None:
        """As `delivered`, for an entry that was shown to the user: one write, nothing is asked."""
        ...


class KnownInboxes(Protocol):
    async def of(self, tenant: TenantId, inbox: str, /) -> Inbox:
        """Raises `inbox_not_found`."""
        ...


class InboxReading(Protocol):
    async def counts(self, owner: Owner, at_least: int = 0) -> Sheet: ...

    async def page(
        self,
        owner: Owner,
        limit: int,
        wanted: Filter = ...,
        below: str | None = None,
        at_least: int = 0,
    ) -> NoticePage: ...

    async def shown(self, tenant: TenantId, showing: Showing) -> Notice | None:
        """A broadcast for who gets it now, whoever that is. None: it was redacted."""
        ...

    async def some(self, owner: Owner, ids: Sequence[NoticeId]) -> NoticePage:
        """Those of them that are there and not archived, with the counts."""
        ...


class InboxMarking(Protocol):
    """Each answers with fresh counts."""

    async def read(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet: ...

    async def reopen(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet: ...

    async def archive(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet: ...

    async def restore(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet: ...

    async def read_all(
        self, owner: Owner, before_ms: int | None = None, category: int | None = None, at_least: int = 0
    ) -> Sheet: ...

    async def see_all(self, owner: Owner, at_least: int = 0) -> Sheet: ...


class Logs(Protocol):
    """Copies of the logs of broadcasts."""

    async def board(self, log: LogId) -> Board:
        """At most a second old."""
        ...

    async def now(self, log: LogId) -> View:
        """With everything that was appended before."""
        ...


class Audience(Protocol):
    async def is_in(self, tenant: TenantId, segment: str, user: UserId) -> bool:
        """By his profile as it is now: one read."""
        ...


class InboxCases(NamedTuple):
    known: KnownInboxes
    read: InboxReading
    mark: InboxMarking
    logs: Logs
    audience: Audience


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    credentials: Credentials
    send: Sending
    change: Changing
    history: Reading
    marking: Marking
    rates: Rates = field(default_factory=NoRates)
    inboxes: InboxCases | None = None


class Rows(Protocol):
    """The truth that positions are held against. Strong."""

    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[Row]: ...

    async def row(self, chat: ChatKey, user: UserId) -> Row | None: ...

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, News]: ...


class Listing(Protocol):
    async def listed(self, tenant: TenantId, user: UserId, rows: Sequence[Row]) -> Sequence[Listed]:
        """Rows as people see them: names, and the words of the last message."""
        ...


class Queue(Protocol):
    """What was kept for a user while he was away. A quick way to what the log has too."""

    async def drain(
        self, tenant: TenantId, user: UserId, after: PendingKey | None = None, limit: int = 200
    ) -> Drained: ...

    async def delete(self, tenant: TenantId, user: UserId, keys: Sequence[PendingKey]) -> None: ...


class UserAway(Protocol):
    async def tell(self, chat: ChatKey, user: UserId, messages: Sequence[Entry], /) -> None:
        """Messages were pushed to a device that is not here, and its user has no other."""
        ...


class NobodyAway:
    async def tell(self, chat: ChatKey, user: UserId, messages: Sequence[Entry], /) -> None:
        """They are found when the user comes: his row is ahead of his position."""
