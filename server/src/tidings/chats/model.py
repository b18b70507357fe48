"""Chats and memberships."""

import hashlib
from base64 import b32encode
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId
from tidings.messages.model import NO_SUCH_CHAT, Interval

MAX_SMALL_MEMBERS = 100
"""A chat with more members is large: the work for a message must not grow with its members."""
MAX_JOINS_PER_CALL = 96
"""A transaction has at most 100 items: the entry, its key, the chat's row, and these members. Use `MemberJobs` for more."""
DEFAULT_MAX_MEMBERS = 1_000
SOME_MEMBERS = 5
"""Number of members that a chat's row lists for display."""


class ChatType(StrEnum):
    DIRECT = "direct"
    GROUP = "group"


class Role(StrEnum):
    OWNER = "owner"
    ADMIN = "admin"
    MEMBER = "member"


class JoinRule(StrEnum):
    CLOSED = "closed"
    """Admins add members."""
    LINK = "link"
    """Users who have the chat's link join."""
    OPEN = "open"
    """Every user of the tenant joins."""


FOREVER_MS: Final = 253_402_300_799_000
"""The end of a mute or ban without an end: the year 9999."""


class Membership(Struct, frozen=True, kw_only=True):
    """A user's row in a chat. Never deleted, because a user may join again.

    `right_since`: the sequence of the entry that last granted a right: a role in a group, the end of a block in a
    direct chat. `muted_until_ms`, `banned_until_ms`: 0 for none; both end by the server's clock. `unmuted_at`: the
    sequence that ended the last mute before its time. A user who was banned before they joined has no intervals.
    """

    user: UserId
    role: Role
    intervals: tuple[Interval, ...]
    right_since: int = 0
    blocks_other: bool = False
    blocked_by_other: bool = False
    muted_until_ms: int = 0
    unmuted_at: int = 0
    banned_until_ms: int = 0
    ban_reason: str | None = None
    last_sent_ms: int = 0

    @property
    def is_member(self) -> bool:
        return bool(self.intervals) and self.intervals[-1].removed is None

    def is_banned(self, now_ms: int) -> bool:
        return now_ms < self.banned_until_ms


class MemberStatus(NamedTuple):
    """The basis of permission checks. `role` is None for former members and strangers.

    `is_stranger`: never was a member. `is_moderator`: acts for the tenant, and is no member. `since`: the sequence of the join. `right_since`: the sequence that granted the
    role or removed a block.
    """

    type: ChatType
    role: Role | None
    is_blocked: bool = False
    since: int = 0
    right_since: int = 0
    is_stranger: bool = False
    muted_until_ms: int = 0
    unmuted_at: int = 0
    last_sent_ms: int = 0
    is_moderator: bool = False


class MemberPage[T](NamedTuple):
    """A page of a list sorted by user id. `last` is the cursor of the next page, None at the end."""

    items: tuple[T, ...]
    last: UserId | None


class Chat(Struct, frozen=True, kw_only=True):
    key: ChatKey
    type: ChatType
    created_by: UserId
    member_count: int
    name: str | None = None
    large_since: int | None = None
    """The sequence at which the chat became large. It stays large afterwards."""
    some_members: frozenset[UserId] = frozenset()
    """At most `SOME_MEMBERS` members, for display."""
    is_frozen: bool = False
    slow_mode_s: int = 0
    join_rule: JoinRule = JoinRule.CLOSED
    join_link: bytes | None = None
    """The digest of the token in the chat's link."""


class ImportStep(StrEnum):
    """How far the import of a chat is."""

    LOG = "log"
    """Its log is being written, and it has no members yet."""
    MEMBERS = "members"
    """Its log is complete, and members are being added."""
    FINISHED = "finished"
    NONE = "none"
    """The chat was not imported."""


class ImportState(NamedTuple):
    """`entries`: of a finished import. `is_new`: this call has claimed the chat."""

    step: ImportStep
    entries: int = 0
    is_new: bool = False


class ImportTotals(NamedTuple):
    """The part of an imported chat's row that is known when its log is complete."""

    member_count: int
    large_since: int | None
    some_members: frozenset[UserId]


class Entrance(NamedTuple):
    """The reason that a user may join without an admin. The commit is conditional on it."""

    rule: JoinRule | None = None
    link: bytes | None = None
    is_invite: bool = False


class Invite(NamedTuple):
    """An invite to a chat, and the admin who sent it."""

    chat: ChatId
    by: UserId
    created_at_ms: int


_DIRECT_MARK, _GROUP_MARK = "d", "g"


def direct_chat_key(tenant: TenantId, one: UserId, other: UserId) -> ChatKey:
    """Return the key of the direct chat of two users, the same for both orders."""
    # Race: both users create the chat at the same time. Both derive the same key, so one chat is created.
    return ChatKey(tenant, ChatId(_DIRECT_MARK + _digest("#".join(sorted((one, other))))))


def group_chat_key(tenant: TenantId, owner: UserId, client_key: ClientKey) -> ChatKey:
    """Return the key of a group, the same for every attempt to create it."""
    return ChatKey(tenant, ChatId(_GROUP_MARK + _digest(f"{owner}#{client_key}")))


def _digest(text: str) -> str:
    return b32encode(hashlib.sha256(text.encode()).digest()[:15]).decode()


def chat_type(chat: ChatId) -> ChatType:
    """Return the type of a chat, which its id contains."""
    return ChatType.DIRECT if chat.startswith(_DIRECT_MARK) else ChatType.GROUP


def member_status_of(chat: ChatId, row: Membership | None) -> MemberStatus:
    if row is None or not row.is_member:
        return MemberStatus(chat_type(chat), None, is_stranger=not was_member(row))
    return MemberStatus(
        chat_type(chat),
        row.role,
        is_blocked=row.blocks_other or row.blocked_by_other,
        since=row.intervals[-1].joined + 1,
        right_since=row.right_since,
        muted_until_ms=row.muted_until_ms,
        unmuted_at=row.unmuted_at,
        last_sent_ms=row.last_sent_ms,
    )


def was_member(row: Membership | None) -> bool:
    """Return whether the user is or was a member. A row without intervals is that of a ban."""
    return row is not None and bool(row.intervals)


def require_membership(row: Membership | None) -> Membership:
    """Return the row of a present member. Raises `not_a_member` for a former member.

    Raises `chat_not_found` for a stranger, as for a chat that does not exist. A chat's id is derived from its users, so
    another error would show whether two users have a chat.
    """
    if row is None or not row.intervals:
        raise TidingsError(Code.CHAT_NOT_FOUND, NO_SUCH_CHAT)
    if not row.is_member:
        raise TidingsError(Code.NOT_A_MEMBER, "The user is no longer a member of this chat.")
    return row
