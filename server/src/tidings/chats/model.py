"""What a chat is and what somebody is in it."""

import hashlib
from base64 import b32encode
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import NO_SUCH_CHAT, Interval

MAX_SMALL_MEMBERS = 100
"""In a chat of more members, work for a message must not grow with them."""
SOME_MEMBERS = 5


class ChatType(StrEnum):
    DIRECT = "direct"
    GROUP = "group"


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


class Membership(Struct, frozen=True, kw_only=True):
    """A user's row in a chat. It is never deleted, because people come back.

    `right_since`: the entry that last gave a right beyond membership; in a group a role, in a direct chat the end of a
    block.
    """

    user: UserId
    role: Role
    intervals: tuple[Interval, ...]
    right_since: int = 0
    blocks_other: bool = False
    blocked_by_other: bool = False

    @property
    def is_member(self) -> bool:
        return bool(self.intervals) and self.intervals[-1].removed is None


class MemberStatus(NamedTuple):
    """What a permission hangs on. `role` None: not a member (any more); a stranger has never been one.

    With the entries that gave it: `since` let him in, `right_since` gave the role or lifted a block.
    """

    type: ChatType
    role: Role | None
    is_blocked: bool = False
    since: int = 0
    right_since: int = 0
    is_stranger: bool = False


class MemberPage[T](NamedTuple):
    """Some of a list that is sorted by users; `last` is where it goes on, None at its end."""

    items: tuple[T, ...]
    last: UserId | None


class Chat(Struct, frozen=True, kw_only=True):
    key: ChatKey
    type: ChatType
    created_by: UserId
    member_count: int
    name: str | None = None
    large_since: int | None = None
    """The entry with which there were more than `MAX_SMALL_MEMBERS` members. Large is for good."""
    some_members: frozenset[UserId] = frozenset()
    """A few of them, for people to look at."""


_DIRECT_MARK, _GROUP_MARK = "d", "g"


def direct_chat_key(tenant: TenantId, one: UserId, other: UserId) -> ChatKey:
    """The same for both orders, so that two who write to each other for the first time meet in one chat."""
    return ChatKey(tenant, ChatId(_DIRECT_MARK + _digest("#".join(sorted((one, other))))))


def group_chat_key(tenant: TenantId, owner: UserId, client_key: ClientKey) -> ChatKey:
    """The same for every try of its making."""
    return ChatKey(tenant, ChatId(_GROUP_MARK + _digest(f"{owner}#{client_key}")))


def _digest(text: str) -> str:
    return b32encode(hashlib.sha256(text.encode()).digest()[:15]).decode()


def chat_type(chat: ChatId) -> ChatType:
    """The id alone tells."""
    return ChatType.DIRECT if chat.startswith(_DIRECT_MARK) else ChatType.GROUP


def member_status_of(chat: ChatId, row: Membership | None) -> MemberStatus:
    if row is None or not row.is_member:
        return MemberStatus(chat_type(chat), None, is_stranger=row is None)
    return MemberStatus(
        chat_type(chat),
        row.role,
        is_blocked=row.blocks_other or row.blocked_by_other,
        since=row.intervals[-1].joined + 1,
        right_since=row.right_since,
    )


def require_membership(row: Membership | None) -> Membership:
    """Of somebody who asks as a member. Who has never been one is told what he is told of a chat that is not there.

    Else anybody could learn whether two users have a chat: its id is derived from theirs.
    """
    if row is None:
        raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
    if not row.is_member:
        raise TidingsError(Code.NOT_A_MEMBER, "The user is no longer a member of this chat.")
    return row
