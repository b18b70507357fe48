"""What the socket's edge asks of the rest: the use cases, as they stand."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from tidings.accounts.model import Principal, Revocation
from tidings.delivery.model import (
    ChatListItem,
    ChatRow,
    LogPosition,
    OfflineQueueKey,
    OfflineQueuePage,
    RowUpdate,
)
from tidings.delivery.watermarks import WatermarkResult
from tidings.inboxes.broadcasts.model import (
    BroadcastIndex,
    BroadcastLogId,
    BroadcastLogView,
    BroadcastRelease,
)
from tidings.inboxes.config import Inbox
from tidings.inboxes.model import InboxKey, InboxSnapshot, NotificationId
from tidings.inboxes.queries import NotificationFilter, VisibleNotification
from tidings.inboxes.queries import NotificationSlice as NoticePage
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.edits import ChangeRequest
from tidings.messages.history import HistorySlice, VisibleEntry
from tidings.messages.model import Appended, Entry
from tidings.messages.sender import Content, SendResult


class RequestLimiter(Protocol):
    async def take(self, address: str, principal: Principal | None, /) -> int | None:
        """Counts a request. None: go on; else it is one too many, and the next may come after so many milliseconds.

        Without a principal: an address that nothing is known of yet. Never raises for an engine that is away.
        """
        ...

    async def take_work(self, principal: Principal, tokens: int, /) -> int | None:
        """Count work that one request of a user has caused, against this user alone. Answers as `take` does."""
        ...


class NoRequestLimiter:
    async def take(self, address: str, principal: Principal | None, /) -> None:
        """Nothing is limited."""
        del address, principal

    async def take_work(self, principal: Principal, tokens: int, /) -> None:
        """Nothing is limited."""
        del principal, tokens


class GatewayCredentials(Protocol):
    async def verify(self, bearer: str, /) -> Principal:
        """Raises `credential_invalid` or `credential_expired`; does not tell why."""
        ...


class CredentialRechecker(Protocol):
    async def recheck(self, principal: Principal, /) -> None:
        """Raise what `verify` would raise now for the credential that gave this principal."""
        ...

    def evict(self, revocation: Revocation, /) -> None:
        """Read again what this revocation is about."""
        ...


class MessageSending(Protocol):
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
    ) -> SendResult: ...


class MessageEditing(Protocol):
    async def edit(self, request: ChangeRequest, content: Content) -> Appended: ...

    async def redact(self, request: ChangeRequest) -> Appended: ...

    async def react(self, request: ChangeRequest, emoji: str, *, is_added: bool = True) -> Appended: ...


class HistoryReading(Protocol):
    """What a user may see of a chat, and which range that covers."""

    async def before(self, chat: ChatKey, user: UserId, before: int | None, limit: int) -> HistorySlice: ...

    async def after(self, chat: ChatKey, user: UserId, after: int, limit: int) -> HistorySlice: ...

    async def around(self, chat: ChatKey, user: UserId, sequence: int, limit: int) -> HistorySlice: ...

    async def within(self, chat: ChatKey, after: int, up_to: int, limit: int) -> HistorySlice:
        """As `after`, where it is known that all of `(after, up_to]` is the reader's to see."""
        ...

    async def left(self, chat: ChatKey, user: UserId) -> int | None:
        """The sequence of the user's leave, as it is at this moment; None while he is in."""
        ...

    async def show(self, chat: ChatKey, entries: Sequence[Entry]) -> Sequence[VisibleEntry]:
        """Opened, in their order, for whoever may see them."""
        ...

    async def now(
        self, chat: ChatKey, sequences: Collection[int], user: UserId | None = None
    ) -> Mapping[int, VisibleEntry]:
        """Messages as they are now, with a user those that he may see."""
        ...


class WatermarkMarking(Protocol):
    """How far a user got; only forward, and never above the head."""

    async def read(self, chat: ChatKey, user: UserId, sequence: int) -> WatermarkResult: ...

    async def delivered(self, chat: ChatKey, user: UserId, sequence: int) -> WatermarkResult: ...

    async def is_delivered_known(self, chat: ChatKey, user: UserId, position: LogPosition) -> None:
        """As `delivered`, for an entry that was shown to the user: one write, nothing is asked."""
        ...


class InboxConfigs(Protocol):
    async def of(self, tenant: TenantId, inbox: str, /) -> Inbox:
        """Raises `inbox_not_found`."""
        ...


class InboxReads(Protocol):
    async def counts(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot: ...

    async def page(
        self,
        inbox_key: InboxKey,
        limit: int,
        wanted: NotificationFilter = ...,
        below: str | None = None,
        at_least: int = 0,
    ) -> NoticePage: ...

    async def shown(self, tenant: TenantId, release: BroadcastRelease) -> VisibleNotification | None:
        """A broadcast for who gets it now, whoever that is. None: it was redacted."""
        ...

    async def some(self, inbox_key: InboxKey, ids: Sequence[NotificationId]) -> NoticePage:
        """Those of them that are there and not archived, with the counts."""
        ...


class InboxMarks(Protocol):
    """Each answers with fresh counts."""

    async def read(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot: ...

    async def reopen(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot: ...

    async def archive(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot: ...

    async def restore(
        self, inbox_key: InboxKey, ids: Sequence[NotificationId], at_least: int = 0
    ) -> InboxSnapshot: ...

    async def read_all(
        self,
        inbox_key: InboxKey,
        before_ms: int | None = None,
        category: int | None = None,
        at_least: int = 0,
    ) -> InboxSnapshot: ...

    async def see_all(self, inbox_key: InboxKey, at_least: int = 0) -> InboxSnapshot: ...


class BroadcastLogReader(Protocol):
    """Copies of the logs of broadcasts."""

    async def index(self, log: BroadcastLogId) -> BroadcastIndex:
        """At most a second old."""
        ...

    async def now(self, log: BroadcastLogId) -> BroadcastLogView:
        """With everything that was appended before."""
        ...


class BroadcastTargets(Protocol):
    async def is_in(self, tenant: TenantId, segment: str, user: UserId) -> bool:
        """By his profile as it is now: one read."""
        ...


class InboxUseCases(NamedTuple):
    known: InboxConfigs
    read: InboxReads
    mark: InboxMarks
    logs: BroadcastLogReader
    audience: BroadcastTargets


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayUseCases:
    credentials: GatewayCredentials
    send: MessageSending
    change: MessageEditing
    history: HistoryReading
    marking: WatermarkMarking
    rates: RequestLimiter = field(default_factory=NoRequestLimiter)
    inboxes: InboxUseCases | None = None


class DeviceChatRows(Protocol):
    """The truth that positions are held against. Strong."""

    async def rows(self, tenant: TenantId, user: UserId) -> Sequence[ChatRow]: ...

    async def row(self, chat: ChatKey, user: UserId) -> ChatRow | None: ...

    async def heads(self, tenant: TenantId, chats: Sequence[ChatId]) -> Mapping[ChatId, RowUpdate]: ...


class ChatListing(Protocol):
    async def listed(self, tenant: TenantId, user: UserId, rows: Sequence[ChatRow]) -> Sequence[ChatListItem]:
        """Rows as people see them: names, and the words of the last message."""
        ...


class DeviceQueueReader(Protocol):
    """What was kept for a user while he was away. A quick way to what the log has too."""

    async def drain(
        self, tenant: TenantId, user: UserId, after: OfflineQueueKey | None = None, limit: int = 200
    ) -> OfflineQueuePage: ...

    async def delete(self, tenant: TenantId, user: UserId, keys: Sequence[OfflineQueueKey]) -> None: ...


class OfflineNotifier(Protocol):
    async def notify_offline(self, chat: ChatKey, user: UserId, messages: Sequence[Entry], /) -> None:
        """Messages were pushed to a device that is not here, and its user has no other."""
        ...


class NoOfflineNotifier:
    async def notify_offline(self, chat: ChatKey, user: UserId, messages: Sequence[Entry], /) -> None:
        """They are found when the user comes: his row is ahead of his position."""
