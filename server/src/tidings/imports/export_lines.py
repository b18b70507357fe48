"""Convert a chat of this installation to lines of an import file. Pure.

An import places members by time, and a log places them by sequence. So times never go back here, and each join or leave
has a time of its own: the same messages are before and after it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from tidings.chats.model import Chat, ChatType, Membership, Role
from tidings.imports.model import (
    NAME_CHARS,
    AttachmentPart,
    ChatLine,
    ForeignUser,
    MemberLine,
    MessageLine,
    ReactionPart,
)
from tidings.imports.ports import ShownContent, ShownEntry
from tidings.kernel.ids import UserId, is_pseudonym, is_user_id
from tidings.messages.model import Entry, Interval

_PSEUDONYM: Final = "erased-"
_FORMER: Final = "former-"
_DESCRIBED: Final = "attachments"
"""The part of `data` in which SDKs describe attachments. An import writes it again, with the new ids."""


def exported_user(user: UserId) -> UserId:
    """Return the id of a user in the file. No user can be created with the pseudonym of an erased one."""
    return UserId(_FORMER + user.removeprefix(_PSEUDONYM)) if is_pseudonym(user) else user


def message_id(sequence: int) -> str:
    """Return the id of a message in the file. Client keys are unique for a sender only, and replies name a sequence."""
    return f"m{sequence}"


def to_time(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


class ExportedTimes:
    """The times of one chat. Call `of` for its entries in their order."""

    def __init__(self, members: Iterable[Membership]) -> None:
        intervals = [each for member in members for each in member.intervals]
        joins = {each.joined + 1 for each in intervals}
        self._changes = joins | {each.removed for each in intervals if each.removed is not None}
        self._at_ms: dict[int, int] = {}
        self._last_ms = 0

    def of(self, entry: Entry) -> int:
        is_change = entry.sequence in self._changes
        self._last_ms = max(entry.created_at_ms, self._last_ms + is_change)
        if is_change:
            self._at_ms[entry.sequence] = self._last_ms
        return self._last_ms

    def joined_at(self, interval: Interval) -> datetime | None:
        """Return when a member joined; None: they were in the chat from its start."""
        return to_time(self._at_ms[interval.joined + 1]) if interval.joined else None

    def left_at(self, interval: Interval) -> datetime | None:
        return None if interval.removed is None else to_time(self._at_ms[interval.removed])


def members_at(members: Iterable[Membership], head: int) -> list[Membership]:
    """Return memberships as of an entry. Changes after it are not in the exported log."""
    found = []
    for each in members:
        cut = tuple(
            Interval(joined, None if removed is None or removed > head else removed)
            for joined, removed in each.intervals
            if joined < head
        )
        if cut:
            found.append(replace(each, intervals=cut))
    return found


def can_be_imported(chat: Chat, members: Sequence[Membership]) -> bool:
    """Return whether a chat has the members that the format needs."""
    if chat.type is ChatType.DIRECT:
        return len(members) == 2  # noqa: PLR2004 - of a direct chat
    return any(each.is_member for each in members)


def chat_line(chat: Chat, created_at_ms: int) -> ChatLine:
    is_group = chat.type is ChatType.GROUP
    return ChatLine(
        id=chat.key.chat,
        kind="group" if is_group else "direct",
        name=(chat.name or chat.key.chat)[:NAME_CHARS] if is_group else None,
        created_at=to_time(created_at_ms),
        created_by=exported_user(chat.created_by),
    )


def member_lines(chat: Chat, members: Iterable[Membership], times: ExportedTimes) -> Iterator[MemberLine]:
    for member in members:
        user = exported_user(member.user)
        if chat.type is ChatType.DIRECT:
            yield MemberLine(chat=chat.key.chat, user=user)
            continue
        for interval in member.intervals:
            is_present = interval.removed is None
            yield MemberLine(
                chat=chat.key.chat,
                user=user,
                role=member.role if is_present else Role.MEMBER,
                joined_at=times.joined_at(interval),
                left_at=times.left_at(interval),
            )


def message_line(
    chat: Chat,
    shown: ShownEntry,
    at_ms: int,
    *,
    reply_to: int | None,
    reactions: Iterable[tuple[UserId, str]],
    files: Sequence[AttachmentPart],
) -> MessageLine:
    """Return a message. Without content it is a deleted one: redacted, expired, to expire, or of an erased user.

    `reply_to`: the sequence, if it is that of an earlier message. A client may have sent any number.
    """
    entry, content = shown.entry, shown.content
    line = MessageLine(
        chat=chat.key.chat,
        id=message_id(entry.sequence),
        user=exported_user(entry.sender),
        at=to_time(at_ms),
    )
    if content is None or entry.visible_until_ms is not None or not _has_content(content, files):
        return replace(line, deleted_at=to_time(max(at_ms, entry.redacted_at_ms or 0)))
    return replace(
        line,
        text=content.text,
        data=_data(content),
        reply_to=None if reply_to is None else message_id(reply_to),
        mentions=tuple(exported_user(user) for user in content.mentions if is_user_id(user)),
        edited_at=None if entry.edited_at_ms is None else to_time(max(at_ms, entry.edited_at_ms)),
        reactions=reaction_parts(reactions),
        attachments=tuple(files),
    )


def reaction_parts(reactions: Iterable[tuple[UserId, str]]) -> tuple[ReactionPart, ...]:
    users: dict[str, dict[ForeignUser, None]] = {}
    for user, emoji in reactions:
        users.setdefault(emoji, {})[exported_user(user)] = None
    return tuple(ReactionPart(emoji=emoji, users=tuple(found)) for emoji, found in users.items())


def without_reactions(line: MessageLine) -> MessageLine:
    return replace(line, reactions=())


def users_of(line: MessageLine) -> set[UserId]:
    """Return all users that a message names. Each needs a `user` line."""
    return {line.user, *line.mentions, *(user for each in line.reactions for user in each.users)}


def _data(content: ShownContent) -> dict[str, object] | None:
    if content.data is None or not content.attachments:
        return content.data
    return {name: value for name, value in content.data.items() if name != _DESCRIBED} or None


def _has_content(content: ShownContent, files: Sequence[AttachmentPart]) -> bool:
    return bool(content.text or files or _data(content) is not None)
