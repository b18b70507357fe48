"""Read what a decision needs, after the offline event: everything may have changed since."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tidings.accounts.model import User
from tidings.accounts.ports import SessionStore, UserStore
from tidings.delivery.model import ChatRow, OfflineMessage
from tidings.delivery.ports import ChatRowReader
from tidings.kernel.clock import Clock, parse_ms
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import Entry
from tidings.messages.ports import LogReader
from tidings.push.model import MessageState, PushPreferences, PushRegistration, ShownAlert
from tidings.push.ports import AlertStore, RegistrationStore

_TRUSTED_MS = 86_400_000
"""How long the session of a registration is not checked. An app that is used registers at each start."""


class RecipientState(NamedTuple):
    """The state of one recipient in one chat. `messages` are in the order of the events."""

    messages: Sequence[MessageState]
    registrations: Sequence[PushRegistration]
    alert: ShownAlert | None
    preferences: PushPreferences


class UserDevices(NamedTuple):
    registrations: Sequence[PushRegistration]
    preferences: PushPreferences
    is_suspended: bool = False


class PushStateReader:
    def __init__(
        self,
        *,
        rows: ChatRowReader,
        log: LogReader,
        users: UserStore,
        registrations: RegistrationStore,
        alerts: AlertStore,
        sessions: SessionStore,
        clock: Clock,
    ) -> None:
        self._rows = rows
        self._log = log
        self._users = users
        self._registrations = registrations
        self._alerts = alerts
        self._sessions = sessions
        self._clock = clock

    async def read(self, chat: ChatKey, user: UserId, events: Sequence[OfflineMessage]) -> RecipientState:
        """Read the state of a recipient; of one without a device, nothing else. Raises an error of a store."""
        registrations = await self._signed_in(await self._registrations.list(chat.tenant, user))
        if not registrations:
            return RecipientState((), (), None, PushPreferences())
        row, account, (alert, preferences) = await asyncio.gather(
            self._rows.row(chat, user),
            self._users.confirm(chat.tenant, user),
            self._alerts.read(chat, user),
        )
        entries = await gather_limited(self._log.one(chat, event.sequence) for event in events)
        kept, is_suspended = _after_account(registrations, account)
        messages = [
            _message_state(event, entry, row, is_suspended=is_suspended)
            for event, entry in zip(events, entries, strict=True)
        ]
        return RecipientState(messages, kept, alert, preferences)

    async def devices(self, tenant: TenantId, user: UserId) -> UserDevices:
        """Read the devices of a user, and what else decides about a notification. Raises an error of a store."""
        registrations = await self._signed_in(await self._registrations.list(tenant, user))
        if not registrations:
            return UserDevices((), PushPreferences())
        account, preferences = await asyncio.gather(
            self._users.confirm(tenant, user), self._alerts.preferences(tenant, user)
        )
        kept, is_suspended = _after_account(registrations, account)
        return UserDevices(kept, preferences, is_suspended)

    async def read_up_to(self, chat: ChatKey, user: UserId) -> int:
        """Return the sequence up to which a user has read a chat. Strongly consistent."""
        row = await self._rows.row(chat, user)
        return 0 if row is None else row.read_up_to

    async def _signed_in(self, registrations: Sequence[PushRegistration]) -> list[PushRegistration]:
        """Return the registrations whose session has not ended, and remove the others.

        A sign-out removes the registration at once. A session that expires is noticed here: the app can no longer sign
        out, so the device would show messages of a user who is not signed in on it.
        """
        is_kept = await gather_limited(map(self._is_signed_in, registrations))
        pairs = list(zip(registrations, is_kept, strict=True))
        await gather_limited(self._registrations.remove(each) for each, is_valid in pairs if not is_valid)
        return [each for each, is_valid in pairs if is_valid]

    async def _is_signed_in(self, registration: PushRegistration) -> bool:
        now_ms = self._clock.now_ms()
        if registration.session is None or now_ms - registration.registered_ms < _TRUSTED_MS:
            return True
        session = await self._sessions.peek(registration.tenant, registration.session)
        return session is not None and session.expires_at_ms > now_ms


def _after_account(
    registrations: Sequence[PushRegistration], account: User | None
) -> tuple[list[PushRegistration], bool]:
    """Return the registrations that may be used, and whether the user is suspended."""
    # Race: a device registers with a token while all sessions of its user end. Its registration is older than the
    # end and must not be used, although it was written after the others were removed.
    ended_ms = account.not_before_ms if account is not None and account.not_before_ms else 0
    kept = [each for each in registrations if each.registered_ms >= ended_ms]
    return kept, account is not None and account.suspended_at_ms is not None


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
