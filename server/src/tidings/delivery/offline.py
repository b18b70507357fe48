"""Remove redacted messages from offline queues."""

from tidings.chats.model import ChatType, chat_type
from tidings.delivery.ports import AudienceReader, ClearReactions, DeleteUploads, OfflineQueue
from tidings.delivery.rules import EntryRun
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry, EntryKind, may_see
from tidings.messages.ports import LogReader

OFFLINE_RETENTION_MS = 30 * 24 * 3600 * 1000


class OfflineQueueRedactor:
    """Remove redacted messages from offline queues, their reactions, and their attachments."""

    def __init__(
        self,
        queue: OfflineQueue,
        audience: AudienceReader,
        log: LogReader,
        clear_reactions: ClearReactions,
        delete_uploads: DeleteUploads | None = None,
    ) -> None:
        self._queue = queue
        self._audience = audience
        self._log = log
        self._clear_reactions = clear_reactions
        self._delete_uploads = delete_uploads

    async def redact(self, chat: ChatKey, run: EntryRun) -> None:
        """Process the redactions of a run. Idempotent. Skips queues that no longer retain the message.

        Only messages of direct chats are queued.
        """
        for entry in run:
            if entry.kind is not EntryKind.REDACTION or entry.refers_to is None:
                continue
            # Race: a gateway drains a user's queue before the worker withdraws the message. The device receives the
            # message as it was queued, and after it the redaction entry, which removes it from the device.
            await self._clear_reactions(chat, entry.refers_to)
            is_direct = chat_type(chat.chat) is ChatType.DIRECT
            if not is_direct and self._delete_uploads is None:
                continue
            message = await self._log.one(chat, entry.refers_to)
            if message is not None and message.attachments and self._delete_uploads is not None:
                await self._delete_uploads(chat.tenant, message.attachments)
            if not is_direct:
                continue
            if message is not None and entry.created_at_ms - message.created_at_ms < OFFLINE_RETENTION_MS:
                await self._withdraw(chat, message, run[-1].sequence)

    async def _withdraw(self, chat: ChatKey, message: Entry, as_of: int) -> None:
        users = [
            member.user
            for member in (await self._audience.of(chat, as_of)).members
            if member.user != message.sender and may_see(member.intervals, message.sequence)
        ]
        if users:
            await self._queue.withdraw(chat, users, message)
