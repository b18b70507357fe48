"""Compare rows of chats and members with the log after a restore or failover. Pure.

The tables are restored or replicated separately, so a row may have a change that its log has lost, or lack one that its
log has. The log decides. A change that the log has lost is removed from the row where the log has the value before it.
A role, a mute or a name that a lost entry changed remains as it is.
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from tidings.chats import rules
from tidings.chats.model import (
    FOREVER_MS,
    MAX_SMALL_MEMBERS,
    Chat,
    ChatType,
    JoinRule,
    Membership,
    Role,
    chat_type,
)
from tidings.kernel.ids import ChatId, ChatKey, UserId
from tidings.messages.model import Entry, EntryKind, Interval
from tidings.messages.ports import PastEnd

_JOINING = frozenset({EntryKind.CREATE, EntryKind.JOIN})


def restored_membership(
    chat: ChatId, user: UserId, row: Membership | None, past: PastEnd
) -> Membership | None:
    """Return the row as the log says. None: the user never was a member, and has no row."""
    found = None if row is None else _cut(row, past.sequence, past.lost)
    for entry in past.changes:
        if user in entry.users or (entry.kind is EntryKind.BLOCK and user == entry.sender):
            found = _applied(chat, user, found, entry, past.lost)
    return found if found is None else _with_role(found, past.changes)


def restored_chat(key: ChatKey, row: Chat | None, past: PastEnd) -> Chat | None:
    """Return the row as the log says. None: no entry of this chat is left."""
    if not past.sequence:
        return None
    for entry in past.changes:
        if entry.kind is EntryKind.CREATE and row is None:
            kind = chat_type(key.chat)
            row = Chat(key=key, type=kind, created_by=entry.sender, member_count=0, name=entry.name)
        if row is not None:
            row = _chat_after(row, entry)
    if row is None:
        return None
    return replace(row, is_frozen=past.rules.is_frozen, slow_mode_s=past.rules.slow_mode_s)


def _cut(row: Membership, end: int, lost: Collection[int]) -> Membership:
    """Remove joins and leaves that are lost, and what lies behind the end of the log, also marks of roles and mutes."""
    intervals = list[Interval]()
    for each in row.intervals:
        removed = each.removed if each.removed is not None and each.removed <= end else None
        if each.joined < end and each.joined + 1 not in lost:
            # A lost leave before this join counts: without it, the member could not have joined.
            intervals.append(Interval(each.joined, removed))
        elif intervals and intervals[-1].removed in lost:
            intervals[-1] = Interval(intervals[-1].joined, removed)
    if intervals and intervals[-1].removed in lost:
        intervals[-1] = Interval(intervals[-1].joined)
    cut = replace(
        row,
        intervals=tuple(intervals),
        right_since=min(row.right_since, end),
        unmuted_at=min(row.unmuted_at, end),
    )
    # The ban of a member was written together with a leave that is lost.
    return replace(cut, banned_until_ms=0, ban_reason=None) if cut.is_member and row.banned_until_ms else cut


def _applied(
    chat: ChatId, user: UserId, row: Membership | None, entry: Entry, lost: Collection[int]
) -> Membership | None:
    """Return the row after an entry that names the user. An entry that the row already has changes nothing."""
    if entry.kind in _JOINING:
        return _joined(chat, user, row, entry, lost)
    if entry.kind is EntryKind.BAN:
        return _banned(user, row, entry)
    if row is None:
        return None
    if entry.kind is EntryKind.LEAVE:
        if row.is_member and row.intervals[-1].joined < entry.sequence:
            row = rules.with_leave(row, entry.sequence)
        return _banned(user, row, entry)
    if entry.kind is EntryKind.MUTE:
        return _muted(row, entry)
    return _blocked(row, user, entry) if entry.kind is EntryKind.BLOCK else row


def _joined(
    chat: ChatId, user: UserId, row: Membership | None, entry: Entry, lost: Collection[int]
) -> Membership | None:
    last = row.intervals[-1] if row is not None and row.intervals else None
    if row is not None and last is not None:
        if entry.sequence - 1 <= last.joined or entry.sequence - 1 < (last.removed or 0):
            return row
        if last.removed is None:
            # The member joins again, so they have left before, in one of the lost entries.
            left = [each for each in lost if last.joined + 1 < each < entry.sequence]
            if not left:
                return row
            row = rules.with_leave(row, max(left))
    is_owner = entry.kind is EntryKind.CREATE and user == entry.sender
    role = Role.OWNER if is_owner and chat_type(chat) is ChatType.GROUP else Role.MEMBER
    return rules.with_join(user, row, role, entry.sequence)


def _banned(user: UserId, row: Membership | None, entry: Entry) -> Membership | None:
    """Return the row after a ban, its end, or a leave, which may be part of a ban."""
    if entry.role == "ban":
        return rules.with_ban(user, row, entry.until_ms or FOREVER_MS, entry.reason)
    is_lifted = entry.kind is EntryKind.BAN and row is not None
    return rules.with_ban(user, row, 0, None) if is_lifted else row


def _muted(row: Membership, entry: Entry) -> Membership:
    if entry.role == "mute":
        return replace(row, muted_until_ms=entry.until_ms or FOREVER_MS)
    is_early = entry.created_at_ms < row.muted_until_ms
    return replace(row, muted_until_ms=0, unmuted_at=entry.sequence if is_early else row.unmuted_at)


def _blocked(row: Membership, user: UserId, entry: Entry) -> Membership:
    is_block = entry.role == "block"
    since = row.right_since if is_block else max(row.right_since, entry.sequence)
    if user == entry.sender:
        return replace(row, blocks_other=is_block, right_since=since)
    return replace(row, blocked_by_other=is_block, right_since=since)


def _with_role(row: Membership, changes: Sequence[Entry]) -> Membership:
    """Return the row with the last role that an entry has given since the last join."""
    if not row.is_member:
        return row
    for entry in reversed(changes):
        if entry.kind is EntryKind.ROLE and row.user in entry.users and entry.role is not None:
            if entry.sequence <= row.intervals[-1].joined:
                return row
            # A transfer names the new owner, then the old one, who becomes an admin.
            role = Role(entry.role) if row.user == entry.users[0] else Role.ADMIN
            return replace(row, role=role, right_since=max(row.right_since, entry.sequence))
    return row


def _chat_after(row: Chat, entry: Entry) -> Chat:
    if entry.kind is EntryKind.RENAME:
        return replace(row, name=entry.name)
    if entry.kind is EntryKind.RULES and entry.role is not None:
        return replace(row, join_rule=JoinRule(entry.role))
    if entry.member_count is None:
        return row
    is_large = entry.kind in _JOINING and entry.member_count > MAX_SMALL_MEMBERS
    since = entry.sequence if is_large and row.large_since is None else row.large_since
    return replace(row, member_count=entry.member_count, large_since=since)
