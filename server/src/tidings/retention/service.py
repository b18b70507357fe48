"""Set the limit and the legal hold of a chat."""

from tidings.kernel.action_notes import note_change
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey
from tidings.messages.model import NO_SUCH_CHAT
from tidings.retention.model import ChatRetention
from tidings.retention.ports import ChatLimits
from tidings.tenants.model import MAX_RETENTION_DAYS


class RetentionService:
    """For operators and the tenant's servers: members of a chat cannot change how long it keeps messages."""

    def __init__(self, limits: ChatLimits) -> None:
        self._limits = limits

    async def read(self, chat: ChatKey) -> ChatRetention:
        """Return the limit and the hold of a chat. Raises `chat_not_found`."""
        found = await self._limits.read(chat)
        if found is None:
            raise _not_found()
        return found

    async def set_days(self, chat: ChatKey, days: int | None) -> ChatRetention:
        """Set the limit of a chat, which replaces that of the tenant; None removes it. Raises `chat_not_found`."""
        if days is not None and not 1 <= days <= MAX_RETENTION_DAYS:
            raise TidingsError(
                Code.REQUEST_INVALID, f"{days} days are not allowed. Use 1 to {MAX_RETENTION_DAYS}, or none."
            )
        before = await self.read(chat)
        if not await self._limits.set_days(chat, days):
            raise _not_found()
        note_change({"retention_days": before.days}, {"retention_days": days})
        return await self.read(chat)

    async def set_hold(self, chat: ChatKey, *, is_held: bool) -> ChatRetention:
        """Set or release the legal hold of a chat. While it is held, no message expires. Raises `chat_not_found`."""
        before = await self.read(chat)
        if not await self._limits.set_hold(chat, is_held=is_held):
            raise _not_found()
        note_change({"is_held": before.is_held}, {"is_held": is_held})
        return await self.read(chat)


def _not_found() -> TidingsError:
    return TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
