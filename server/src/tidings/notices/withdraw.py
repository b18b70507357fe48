"""Takes a notice from one user: his row keeps what proves it, and where it has yet to come a tombstone keeps it out."""

from tidings.notices import rules
from tidings.notices.book import InboxStateService
from tidings.notices.model import InboxChange, InboxKey, InboxSnapshot, NotificationId
from tidings.notices.ports import InboxEvent, InboxOperation


class NotificationWithdrawer:
    def __init__(self, inbox_state: InboxStateService) -> None:
        self._state = inbox_state

    async def __call__(
        self, inbox_key: InboxKey, notification: NotificationId, category: int
    ) -> InboxSnapshot:
        """May be repeated at will: what is redacted stays as it was then."""

        async def edit(sheet: InboxSnapshot) -> InboxChange | None:
            row = (await self._state.repository.rows(inbox_key, [notification])).get(notification)
            after = rules.redact(row, sheet, notification, category)
            return None if after == row else rules.apply_row_changes(sheet, [(row, after)])

        sheet = await self._state.change(inbox_key, InboxOperation.REDACT, edit)
        # told again if it was there: whoever took it may have died before he told
        self._state.notify(inbox_key, InboxEvent.REDACTED, notification)
        return sheet
