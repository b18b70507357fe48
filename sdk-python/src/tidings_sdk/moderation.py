"""Report messages and users, join groups, and read what keeps the user from sending."""

from datetime import datetime
from typing import Literal, final
from urllib.parse import quote

from msgspec import Struct, convert

from tidings_sdk.credentials import Credentials
from tidings_sdk.rest import RestApi

type ReportReason = Literal["spam", "abuse", "violence", "sexual", "illegal", "other"]


class SendRestrictions(Struct, frozen=True):
    """What keeps the user from sending in a chat. Admins may send in a frozen chat, and slow mode exempts them.

    `muted_until` is None for a mute without an end. `may_send_at`: when the user may send the next message, with slow mode.
    """

    is_frozen: bool = False
    slow_mode_s: int = 0
    may_send_at: datetime | None = None
    is_muted: bool = False
    muted_until: datetime | None = None


class Invite(Struct, frozen=True):
    """An invite to a group."""

    chat: str
    invited_by: str
    created_at: datetime


class _Chat(Struct, frozen=True):
    role: str
    is_frozen: bool = False
    slow_mode_seconds: int = 0
    may_send_at: datetime | None = None
    is_muted: bool = False
    muted_until: datetime | None = None


class _Invites(Struct, frozen=True):
    invites: tuple[Invite, ...]


@final
class Moderation:
    """Reports, invites and restrictions. Get it with `client.moderation`. Methods raise `TidingsError`."""

    def __init__(self, api: str, credentials: Credentials) -> None:
        self._rest = RestApi(api, credentials)

    async def report_message(
        self, chat: str, sequence: int, reason: ReportReason, text: str | None = None
    ) -> None:
        """Report a message to the moderators. A second report of the same message changes nothing."""
        path = f"/v1/messages/{quote(f'{chat}.{sequence}', safe='')}/report"
        await self._rest.call("POST", path, _report(reason, text))

    async def report_user(self, user: str, reason: ReportReason, text: str | None = None) -> None:
        """Report a user to the moderators."""
        await self._rest.call("POST", f"/v1/users/{quote(user, safe='')}/report", _report(reason, text))

    async def restrictions(self, chat: str) -> SendRestrictions:
        """Read what keeps the user from sending in a chat."""
        found = convert(await self._rest.call("GET", f"/v1/chats/{quote(chat, safe='')}"), _Chat)
        is_admin = found.role != "member"
        return SendRestrictions(
            is_frozen=found.is_frozen and not is_admin,
            slow_mode_s=0 if is_admin else found.slow_mode_seconds,
            may_send_at=found.may_send_at,
            is_muted=found.is_muted,
            muted_until=found.muted_until,
        )

    async def join(self, chat: str, token: str | None = None) -> None:
        """Join a group that is open, or with the token of its link."""
        body = {} if token is None else {"token": token}
        await self._rest.call("POST", f"/v1/chats/{quote(chat, safe='')}/join", body)

    async def invites(self) -> tuple[Invite, ...]:
        """List the user's invites: the first 200."""
        return convert(await self._rest.call("GET", "/v1/invites?limit=200"), _Invites).invites

    async def accept(self, chat: str) -> None:
        """Join the group of an invite."""
        await self._rest.call("POST", f"/v1/invites/{quote(chat, safe='')}/accept", {})

    async def decline(self, chat: str) -> None:
        """Delete an invite."""
        await self._rest.call("DELETE", f"/v1/invites/{quote(chat, safe='')}")


def _report(reason: ReportReason, text: str | None) -> dict[str, str]:
    return {"reason": reason} | ({"text": text} if text else {})
