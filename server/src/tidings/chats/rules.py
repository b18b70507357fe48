"""Permissions by chat type and role, and changes of membership intervals. Pure."""

import hashlib
from collections.abc import Iterable
from enum import StrEnum

from msgspec.structs import replace

from tidings.chats.model import MAX_JOINS_PER_CALL, ChatType, Membership, MemberStatus, Role
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId
from tidings.messages.model import Interval, Refusal, RulesContext

MAX_INTERVALS = 8
"""Maximum number of intervals in a row; `schema/tables/limits.py` reserves the space."""


class ChatAction(StrEnum):
    READ = "read"
    SEND = "send"
    REACT = "react"
    EDIT_OWN = "edit_own"
    REDACT_OWN = "redact_own"
    REDACT_OTHERS = "redact_others"
    RENAME = "rename"
    ADD_MEMBERS = "add_members"
    REMOVE_MEMBER = "remove_member"
    REMOVE_ADMIN = "remove_admin"
    CHANGE_ROLE = "change_role"
    TRANSFER = "transfer"
    LEAVE = "leave"
    BLOCK = "block"
    CHANGE_RULES = "change_rules"


_MEMBER = {
    ChatAction.READ,
    ChatAction.SEND,
    ChatAction.REACT,
    ChatAction.EDIT_OWN,
    ChatAction.REDACT_OWN,
    ChatAction.LEAVE,
}
_ADMIN = _MEMBER | {
    ChatAction.REDACT_OTHERS,
    ChatAction.RENAME,
    ChatAction.ADD_MEMBERS,
    ChatAction.REMOVE_MEMBER,
    ChatAction.CHANGE_RULES,
}
_OWNER = (_ADMIN - {ChatAction.LEAVE}) | {
    ChatAction.REMOVE_ADMIN,
    ChatAction.CHANGE_ROLE,
    ChatAction.TRANSFER,
}

PERMISSIONS: dict[tuple[ChatType, Role], frozenset[ChatAction]] = {
    (ChatType.GROUP, Role.MEMBER): frozenset(_MEMBER),
    (ChatType.GROUP, Role.ADMIN): frozenset(_ADMIN),
    # An owner must transfer the group before leaving it.
    (ChatType.GROUP, Role.OWNER): frozenset(_OWNER),
    (ChatType.DIRECT, Role.MEMBER): frozenset((_MEMBER - {ChatAction.LEAVE}) | {ChatAction.BLOCK}),
}
OF_EVERY_ROLE: dict[ChatType, frozenset[ChatAction]] = {
    kind: frozenset.intersection(*(rights for (of, _), rights in PERMISSIONS.items() if of is kind))
    for kind in ChatType
}
OF_MODERATORS = frozenset({ChatAction.REDACT_OTHERS, ChatAction.REMOVE_MEMBER, ChatAction.REMOVE_ADMIN})
"""Actions of the tenant's moderators in every chat, also in direct ones."""
SILENCED_BY_BLOCK = frozenset({ChatAction.SEND, ChatAction.REACT, ChatAction.EDIT_OWN})


def check_permission(action: ChatAction, status: MemberStatus, after: int | None = None) -> Code | None:
    """Return why the user may not act; None if they may. A stranger receives `chat_not_found`.

    `after`: the client's position at the first attempt. A right that was granted after it does not count: another
    attempt may have been refused before the grant, and a refusal is final. The client sends a new request instead.
    """
    if status.is_moderator:
        return None if action in OF_MODERATORS else Code.FORBIDDEN
    if status.is_stranger:
        return Code.CHAT_NOT_FOUND
    if status.role is None or _is_newer(status.since, after):
        return Code.NOT_A_MEMBER
    has_new_right = _is_newer(status.right_since, after)
    rights = PERMISSIONS.get((status.type, status.role), frozenset())
    if action not in (rights & OF_EVERY_ROLE[status.type] if has_new_right else rights):
        return Code.FORBIDDEN
    was_blocked = has_new_right and status.type is ChatType.DIRECT
    if (status.is_blocked or was_blocked) and action in SILENCED_BY_BLOCK:
        return Code.BLOCKED
    return None


def check_rules(action: ChatAction, status: MemberStatus, context: RulesContext) -> Refusal | None:
    """Return why the chat's rules or a mute refuse the action now; None if they allow it. Admins send in frozen chats.

    A freeze or mute that an entry ended after the client's `after` still counts, as in `check_permission`.
    """
    rules, now_ms, after = context
    if now_ms < status.muted_until_ms or _is_newer(status.unmuted_at, after):
        return Refusal(Code.MUTED)
    if status.role is not Role.MEMBER:
        return None
    if rules.is_frozen or _is_newer(rules.unfrozen_at, after):
        return Refusal(Code.CHAT_FROZEN)
    wait_ms = status.last_sent_ms + rules.slow_mode_s * 1000 - now_ms
    if action is ChatAction.SEND and rules.slow_mode_s and wait_ms > 0:
        return Refusal(Code.SLOW_MODE, retry_after_ms=wait_ms)
    return None


def _is_newer(given_at: int, after: int | None) -> bool:
    return after is not None and after < given_at


def removal_action(role: Role) -> ChatAction | None:
    """Return the action needed to remove a user of this role; None for an owner, who cannot be removed."""
    return {Role.MEMBER: ChatAction.REMOVE_MEMBER, Role.ADMIN: ChatAction.REMOVE_ADMIN}.get(role)


def with_ban(user: UserId, row: Membership | None, until_ms: int, reason: str | None) -> Membership:
    """Return the row of a user who is banned; the intervals do not change. `until_ms` 0 ends the ban."""
    row = row or Membership(user=user, role=Role.MEMBER, intervals=())
    return replace(row, banned_until_ms=until_ms, ban_reason=reason)


def with_join(user: UserId, row: Membership | None, role: Role, sequence: int) -> Membership:
    """Return the row after a join at `sequence`. Earlier intervals remain."""
    opened = Interval(sequence - 1)
    if row is None:
        return Membership(user=user, role=role, intervals=(opened,))
    return replace(row, role=role, intervals=(*row.intervals, opened))


def with_leave(row: Membership, sequence: int) -> Membership:
    """Return the row after a leave at `sequence`."""
    last = row.intervals[-1]
    return replace(row, role=Role.MEMBER, intervals=(*row.intervals[:-1], Interval(last.joined, sequence)))


def request_fingerprint(kind: str, said: bytes) -> bytes:
    """Return the fingerprint of a change of the chat. Its content is not secret, so a plain digest is enough."""
    return hashlib.sha256(kind.encode() + b"|" + said).digest()[:16]


def refuse_banned(rows: Iterable[Membership], now_ms: int) -> None:
    banned = [row.user for row in rows if row.is_banned(now_ms)]
    if banned:
        raise TidingsError(
            Code.BANNED, f"{banned[0]} is banned from this chat.", hint="Remove the ban first."
        )


def refuse_erased(erased: Iterable[UserId]) -> None:
    """Raise `user_erased` if a user of a change was erased. `erased`: those of the change who were."""
    for user in sorted(erased):
        raise TidingsError(
            Code.USER_ERASED,
            f"User {user} was erased.",
            hint="The id cannot be used again. Repeat the request without it.",
        )


def check_batch_size(users: int) -> None:
    if users > MAX_JOINS_PER_CALL:
        raise ValueError(f"{users} users do not fit into one transaction")


def cannot_join(row: Membership, now_ms: int) -> bool:
    return row.is_banned(now_ms) or len(row.intervals) >= MAX_INTERVALS


def check_rejoin_limit(rows: Iterable[Membership]) -> None:
    at_limit = [row.user for row in rows if len(row.intervals) >= MAX_INTERVALS]
    if at_limit:
        raise TidingsError(
            Code.REJOIN_LIMIT_REACHED,
            f"{at_limit[0]} has joined this chat {MAX_INTERVALS} times and cannot join again.",
        )
