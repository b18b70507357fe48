"""A user whom no device could be reached for: an event for push services and webhooks, for each message.

Called by the worker, and by a gateway that finds that a device is gone after all. May come twice for a message.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from tidings.chats.model import Membership
from tidings.delivery import rules
from tidings.delivery.chat_list import is_muted
from tidings.delivery.chat_rows import truncate
from tidings.delivery.model import ChatRow, OfflineMessage
from tidings.delivery.ports import (
    AudienceReader,
    ChatRowReader,
    DeliveryKeys,
    LogReader,
    OfflineQueue,
    OpeningKeys,
    ReactionReader,
)
from tidings.delivery.rules import EntryRun
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId, message_id
from tidings.messages.model import Entry, EntryKind, may_see


class MessageText(NamedTuple):
    """What a body says. Only the messages' own code knows how it is spelled."""

    text: str = ""
    mentions: Sequence[UserId] = ()


type ReadText = Callable[[bytes], MessageText]


class PushPreferences(Protocol):
    """What a tenant has set."""

    async def shows_previews(self, tenant: TenantId, /) -> bool:
        """Whether words of a message may leave Tidings for a push service."""
        ...


class OfflineEvents(Protocol):
    async def publish(self, event: OfflineMessage, /) -> None:
        """Returns when it is there. Raises `overloaded` while it can't be."""
        ...


class OfflineEventPublisher:
    def __init__(
        self,
        rows: ChatRowReader,
        keys: DeliveryKeys,
        events: OfflineEvents,
        *,
        read: ReadText,
        wishes: PushPreferences,
        clock: Clock,
    ) -> None:
        self._row_reader = rows
        self._keys = keys
        self._read = read
        self._wishes = wishes
        self._events = events
        self._clock = clock

    async def notify_offline(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> None:
        """The badge is counted from the truth: all that is unread in the user's chats, large ones included."""
        rows = await self._rows(chat.tenant, user)
        own = next((row for row in rows if row.chat == chat.chat), None)
        badge = sum(rules.unread_count(row) for row in rows if rules.is_member(row.known))
        muted = own is not None and is_muted(own, self._clock.now_ms())
        shows = await self._wishes.shows_previews(chat.tenant)
        contents = [message.content for message in messages if message.content is not None]
        keys = await self._keys.to_read(chat.tenant, contents)
        for message in messages:
            said = self._message_text(chat, message, keys)
            await self._events.publish(
                OfflineMessage(
                    tenant=chat.tenant,
                    recipient=user,
                    chat=chat.chat,
                    message_id=message_id(chat.chat, message.sequence),
                    sequence=message.sequence,
                    sender=message.sender,
                    kind=message.kind,
                    at=format_ms(message.created_at_ms),
                    badge=badge,
                    collapse_key=chat.chat,
                    is_muted=muted,
                    is_mentioned=user in said.mentions,
                    preview=truncate(said.text).decode() if shows and said.text else None,
                )
            )

    async def _rows(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        rows = await self._row_reader.rows(tenant, user)
        large = [row.chat for row in rows if row.known.is_large and rules.is_member(row.known)]
        heads = await self._row_reader.heads(tenant, large) if large else {}
        return [rules.with_head(row, heads.get(row.chat)) for row in rows]

    def _message_text(self, chat: ChatKey, message: Entry, keys: OpeningKeys) -> MessageText:
        """Of what expires nothing is told: it must not outlive its time in somebody's notification."""
        if message.content is None:
            return MessageText()
        try:
            return self._read(keys.unseal(chat, message.sequence, message.content))
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            # one message that somebody altered must not hold up the others
            return MessageText()


OFFLINE_RETENTION_MS = 30 * 24 * 3600 * 1000


class OfflineQueueRedactor:
    def __init__(
        self, pending: OfflineQueue, audience: AudienceReader, log: LogReader, reactions: ReactionReader
    ) -> None:
        self._pending = pending
        self._audience = audience
        self._log = log
        self._reactions = reactions

    async def redact(self, chat: ChatKey, run: EntryRun) -> None:
        """What is older than the queues keep anything needs no deletes, which cost as much as writes."""
        for entry in run:
            if entry.kind is not EntryKind.REDACTION or entry.refers_to is None:
                continue
            await self._reactions.clear(chat, entry.refers_to)
            message = await self._log.one(chat, entry.refers_to)
            if message is not None and entry.created_at_ms - message.created_at_ms < OFFLINE_RETENTION_MS:
                await self._withdraw(chat, message, run[-1].sequence)

    async def _withdraw(self, chat: ChatKey, message: Entry, as_of: int) -> None:
        users = [
            member.user
            for member in await self._members(chat, message, as_of)
            if member.user != message.sender and may_see(member.intervals, message.sequence)
        ]
        if users:
            await self._pending.withdraw(chat, users, message)

    async def _members(self, chat: ChatKey, message: Entry, as_of: int) -> Sequence[Membership]:
        """Nothing is kept of what is said in a large chat."""
        crowd = await self._audience.of(chat, as_of)
        if crowd.large_since is None:
            return crowd.members
        return await self._audience.everyone(chat) if message.sequence <= crowd.large_since else ()
