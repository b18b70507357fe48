"""Read what a decision needs, after the offline event: everything may have changed since."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tidings.accounts.ports import UserStore
from tidings.delivery.model import ChatRow, OfflineMessage
from tidings.delivery.ports import ChatRowReader
from tidings.kernel.clock import parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatKey, UserId
from tidings.messages.model import Entry
from tidings.messages.ports import LogReader
from tidings.push.model import MessageState, PushPreferences, PushRegistration, ShownAlert
from tidings.push.ports import AlertStore, RegistrationStore


class RecipientState(NamedTuple):
    """The state of one recipient in one chat. `messages` are in the order of the events."""

    messages: Sequence[MessageState]
    registrations: Sequence[PushRegistration]
    alert: ShownAlert | None
    preferences: PushPreferences


class PushStateReader:
    def __init__(
        self,
        *,
        rows: ChatRowReader,
        log: LogReader,
        users: UserStore,
        registrations: RegistrationStore,
        alerts: AlertStore,
    ) -> None:
        self._rows = rows
        self._log = log
        self._users = users
        self._registrations = registrations
        self._alerts = alerts

    async def read(self, chat: ChatKey, user: UserId, events: Sequence[OfflineMessage]) -> RecipientState:
        """Read the state of a recipient; of one without a device, nothing else. Raises an error of a store."""
        registrations = await self._registrations.list(chat.tenant, user)
        if not registrations:
            return RecipientState((), (), None, PushPreferences())
        row, account, (alert, preferences) = await asyncio.gather(
            self._rows.row(chat, user),
            self._users.confirm(chat.tenant, user),
            self._alerts.read(chat, user),
        )
        entries = await gather_limited(self._log.one(chat, event.sequence) for event in events)
        is_suspended = account is not None and account.suspended_at_ms is not None
        # Race: a device registers with a token while all sessions of its user end. Its registration is older than the
        # end and must not be used, although it was written after the others were removed.
        ended_ms = account.not_before_ms if account is not None and account.not_before_ms else 0
        kept = [each for each in registrations if each.registered_ms >= ended_ms]
        messages = [
            _message_state(event, entry, row, is_suspended=is_suspended)
            for event, entry in zip(events, entries, strict=True)
        ]
        return RecipientState(messages, kept, alert, preferences)


def _message_state(
    event: OfflineMessage, entry: Entry | None, row: ChatRow | None, *, is_suspended: bool
) -> MessageState:
    state = MessageState(
        chat=event.chat,
        sequence=event.sequence,
        sent_ms=parse_ms(event.at),
        is_mentioned=event.is_mentioned,
        is_member=False,
        is_redacted=entry is None or entry.redacted_at_ms is not None,
        is_suspended=is_suspended,
    )
    if row is None:
        return state
    known = row.known
    return replace(
        state,
        is_member=known.joined is not None and known.joined.sequence > (known.removed or 0),
        read_up_to=row.read_up_to,
        delivered_up_to=row.delivered_up_to,
        read_ms=row.read_at_ms,
        muted_until_ms=row.muted_until_ms,
        notify=row.notify,
    )
