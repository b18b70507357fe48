"""Permissions by chat type and role, and changes of membership intervals. Pure."""

import hashlib
from enum import StrEnum

from msgspec.structs import replace

from tidings.chats.model import ChatType, Membership, MemberStatus, Role
from tidings.kernel.errors import Code
from tidings.kernel.ids import UserId
from tidings.messages.model import Interval

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
SILENCED_BY_BLOCK = frozenset({ChatAction.SEND, ChatAction.REACT, ChatAction.EDIT_OWN})


def check_permission(action: ChatAction, status: MemberStatus, after: int | None = None) -> Code | None:
    """Return why the user may not act; None if they may. A stranger receives `chat_not_found`.

    `after`: the client's position at the first attempt. A right that was granted after it does not count: another
    attempt may have been refused before the grant, and a refusal is final. The client sends a new request instead.
    """
    if status.is_stranger:
        return Code.CHAT_NOT_FOUND
    if status.role is None or _is_newer(status.since, after):
        return Code.NOT_A_MEMBER
    if action not in PERMISSIONS.get((status.type, status.role), frozenset()):
        return Code.FORBIDDEN
    has_new_right = _is_newer(status.right_since, after)
    if has_new_right and action not in OF_EVERY_ROLE[status.type]:
        return Code.FORBIDDEN
    was_blocked = has_new_right and status.type is ChatType.DIRECT
    if (status.is_blocked or was_blocked) and action in SILENCED_BY_BLOCK:
        return Code.BLOCKED
    return None


def _is_newer(given_at: int, after: int | None) -> bool:
    return after is not None and after < given_at


def removal_action(role: Role) -> ChatAction | None:
    """Return the action needed to remove a user of this role; None for an owner, who cannot be removed."""
    return {Role.MEMBER: ChatAction.REMOVE_MEMBER, Role.ADMIN: ChatAction.REMOVE_ADMIN}.get(role)


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
