"""Messages for users without a connected device: events for push services, and redactions in the offline queue."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from tidings.chats.model import Membership
from tidings.delivery import rules
from tidings.delivery.chat_list import is_muted
from tidings.delivery.chat_rows import truncate
from tidings.delivery.model import ChatRow, OfflineMessage
from tidings.delivery.ports import (
    AudienceReader,
    ChatRowReader,
    ClearReactions,
    OfflineQueue,
    PublishOfflineMessage,
)
from tidings.delivery.rules import EntryRun
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId, message_id
from tidings.messages.model import Entry, EntryKind, may_see
from tidings.messages.ports import AuthorKeys, KeyProvider, LogReader


class MessageText(NamedTuple):
    """The text and mentions of a message body."""

    text: str = ""
    mentions: Sequence[UserId] = ()


type ReadText = Callable[[bytes], MessageText]
type ShowsPreviews = Callable[[TenantId], Awaitable[bool]]
"""Returns whether the tenant allows message text in push notifications."""


class OfflineEventPublisher:
    """Publish an event per message for push services and webhooks.

    The worker calls it, and a gateway that finds a device disconnected after a push. Events may repeat.
    """

    def __init__(
        self,
        rows: ChatRowReader,
        keys: KeyProvider,
        publish: PublishOfflineMessage,
        *,
        read_text: ReadText,
        shows_previews: ShowsPreviews,
        clock: Clock,
    ) -> None:
        self._row_reader = rows
        self._keys = keys
        self._read_text = read_text
        self._shows_previews = shows_previews
        self._publish = publish
        self._clock = clock

    async def notify_offline(self, chat: ChatKey, user: UserId, messages: Sequence[Entry]) -> None:
        """Publish the messages. The badge is the exact number of unread messages in all chats of the user."""
        rows = await self._rows(chat.tenant, user)
        own = next((row for row in rows if row.chat == chat.chat), None)
        badge = sum(rules.unread_count(row) for row in rows if rules.is_member(row.known))
        muted = own is not None and is_muted(own, self._clock.now_ms())
        shows_previews = await self._shows_previews(chat.tenant)
        contents = [(each.sender, each.content) for each in messages if each.content is not None]
        keys = await self._keys.to_read(chat.tenant, contents)
        for message in messages:
            body = self._message_text(chat, message, keys)
            await self._publish(
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
                    is_mentioned=user in body.mentions,
                    preview=truncate(body.text).decode() if shows_previews and body.text else None,
                )
            )

    async def _rows(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        rows = await self._row_reader.rows(tenant, user)
        large = [row.chat for row in rows if row.known.is_large and rules.is_member(row.known)]
        heads = await self._row_reader.heads(tenant, large) if large else {}
        return [rules.with_head(row, heads.get(row.chat)) for row in rows]

    def _message_text(self, chat: ChatKey, message: Entry, keys: AuthorKeys) -> MessageText:
        """Return the text of a message; empty for ephemeral content, which a notification would outlive."""
        if message.content is None:
            return MessageText()
        try:
            body = keys.unseal(chat, message.sequence, message.sender, message.content)
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            return MessageText()  # One altered message must not block the others.
        return MessageText() if body is None else self._read_text(body)


OFFLINE_RETENTION_MS = 30 * 24 * 3600 * 1000


class OfflineQueueRedactor:
    """Remove redacted messages from offline queues, and their reactions."""

    def __init__(
        self, queue: OfflineQueue, audience: AudienceReader, log: LogReader, clear_reactions: ClearReactions
    ) -> None:
        self._queue = queue
        self._audience = audience
        self._log = log
        self._clear_reactions = clear_reactions

    async def redact(self, chat: ChatKey, run: EntryRun) -> None:
        """Process the redactions of a run. Idempotent. Skips queues that no longer retain the message."""
        for entry in run:
            if entry.kind is not EntryKind.REDACTION or entry.refers_to is None:
                continue
            # Race: a gateway drains a user's queue before the worker withdraws the message. The device receives the
            # message as it was queued, and after it the redaction entry, which removes it from the device.
            await self._clear_reactions(chat, entry.refers_to)
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
            await self._queue.withdraw(chat, users, message)

    async def _members(self, chat: ChatKey, message: Entry, as_of: int) -> Sequence[Membership]:
        """Return the members who may have the message queued. Messages of large chats are never queued."""
        audience = await self._audience.of(chat, as_of)
        if audience.large_since is None:
            return audience.members
        return await self._audience.everyone(chat) if message.sequence <= audience.large_since else ()
