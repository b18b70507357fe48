"""Take a redacted message out of the queues in which it may still wait, and delete its reactions."""

from collections.abc import Sequence

from tidings.chats.model import Membership, may_see
from tidings.delivery.ports import AudienceReader, LogReader, OfflineQueue, ReactionReader
from tidings.delivery.rules import EntryRun
from tidings.kernel.ids import ChatKey
from tidings.messages.model import Entry, EntryKind

OFFLINE_RETENTION_MS = 30 * 24 * 3600 * 1000


class OfflineQueueRedactor:
    def __init__(
        self, pending: OfflineQueue, audience: AudienceReader, log: LogReader, reactions: ReactionReader
    ) -> None:
        self._pending = pending
        self._audience = audience
        self._log = log
        self._reactions = reactions

    async def __call__(self, chat: ChatKey, run: EntryRun) -> None:
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
