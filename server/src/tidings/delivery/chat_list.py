"""A user's chat list: pinned chats first, then by newest activity; and the user's flags.

A page costs one read of the rows and one of the heads and names of groups, regardless of its length. With more than 50
groups, heads and names are read apart, and heads of quiet groups only for the chats of the page. Rows of groups in which
a member has left since the user joined are read again after the heads.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidings.chats.model import Chat, ChatType, chat_type, require_membership
from tidings.chats.ports import ChatStore
from tidings.delivery import rules
from tidings.delivery.model import (
    ChatFlags,
    ChatListItem,
    ChatRow,
    LastMessage,
    LastMessageRef,
    LastMessageState,
    ListCursor,
    RowUpdate,
    UnreadExplanation,
    UnreadTotals,
)
from tidings.delivery.ports import ChatListReader, ChatRowReader, WatermarkStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId, is_pseudonym
from tidings.messages.ports import AuthorKeys, KeyProvider

MAX_LIMIT = 100
_MAX_TOGETHER = 50
"""Groups whose heads and names are read together. One call of DynamoDB reads 100 items."""


class ChatListFilter(StrEnum):
    """`active` is the default list: neither archived nor left."""

    ACTIVE = "active"
    UNREAD = "unread"
    PINNED = "pinned"
    MUTED = "muted"
    ARCHIVED = "archived"
    LEFT = "left"


_NO_NAMES: Mapping[ChatId, Chat] = {}


class ChatListPage(NamedTuple):
    """`after` is the cursor of the next page, None at the end. `unread_chats` counts all pages of the filter."""

    chats: tuple[ChatListItem, ...]
    after: ListCursor | None
    unread_chats: int


class ChatList:
    def __init__(
        self, rows: ChatListReader, flags: WatermarkStore, chats: ChatStore, keys: KeyProvider, clock: Clock
    ) -> None:
        self._row_reader = rows
        self._flags = flags
        self._chats = chats
        self._keys = keys
        self._clock = clock

    async def page(
        self,
        tenant: TenantId,
        user: UserId,
        *,
        only: ChatListFilter = ChatListFilter.ACTIVE,
        after: ListCursor | None = None,
        limit: int = 50,
    ) -> ChatListPage:
        """Return a page. A chat with activity since the previous page has moved up, so no chat appears twice."""
        rows, names = await self._rows_and_names(tenant, user)
        now_ms, matches = self._clock.now_ms(), _FILTERS[only]
        matching = sorted((row for row in rows if matches(row, now_ms)), key=_sort_key)
        rest = matching if after is None else _behind(matching, after)
        page = rest[: min(max(limit, 1), MAX_LIMIT)]
        shown = await with_quiet_heads(self._row_reader, tenant, user, page)
        listed = await self.listed(tenant, user, shown, names)
        more = len(rest) > len(page)
        unread_chats = sum(rules.unread_count(row) > 0 for row in matching)
        return ChatListPage(tuple(listed), cursor_at(page[-1]) if more else None, unread_chats)

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> None:
        """Pin, archive or mute a chat for one member."""
        if flags == ChatFlags():
            raise TidingsError(
                Code.REQUEST_INVALID,
                "No flag is given. Set at least one of pinned, archived, muted and notify.",
            )
        require_membership(await self._chats.membership(chat, user))
        await self._flags.set_flags(chat, user, flags)

    async def one(self, chat: ChatKey, user: UserId) -> ChatListItem | None:
        """Return one chat as the user's list shows it; None if delivery has not written a row of it yet."""
        row = await self._row_reader.row(chat, user)
        if row is None or row.known.joined is None:
            return None
        [row] = await with_heads(self._row_reader, chat.tenant, user, [row])
        [row] = await with_quiet_heads(self._row_reader, chat.tenant, user, [row])
        [listed] = await self.listed(chat.tenant, user, [row])
        return listed

    async def explain(self, chat: ChatKey, user: UserId) -> UnreadExplanation:
        """Return why the user's unread count of a chat is what it is. For members only."""
        require_membership(await self._chats.membership(chat, user))
        row = await self._row_reader.row(chat, user)
        row = row or ChatRow(chat=chat.chat, known=rules.NOTHING)
        [row] = await with_heads(self._row_reader, chat.tenant, user, [row])
        return rules.explain_unread(row)

    async def unread_totals(self, tenant: TenantId, user: UserId) -> UnreadTotals:
        """Count the unread messages of the chats that the user is a member of, including muted and archived ones."""
        rows = await self._rows(tenant, user)
        counts = [rules.unread_count(row) for row in rows if rules.is_member(row.known)]
        return UnreadTotals(sum(counts), sum(count > 0 for count in counts))

    async def _rows(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        return await with_heads(self._row_reader, tenant, user, await self._joined(tenant, user))

    async def _joined(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        rows = await self._row_reader.rows(tenant, user)
        return [row for row in rows if row.known.joined is not None]

    async def _rows_and_names(
        self, tenant: TenantId, user: UserId
    ) -> tuple[list[ChatRow], Mapping[ChatId, Chat]]:
        """Return the rows with their heads, and the groups that were read together with the heads."""
        rows = await self._joined(tenant, user)
        groups = [row.chat for row in rows if is_in_group(row)]
        if not 0 < len(groups) <= _MAX_TOGETHER:
            return await with_heads(self._row_reader, tenant, user, rows), {}
        heads, names = await self._row_reader.heads_and_chats(tenant, groups)
        return await combine_with_heads(self._row_reader, tenant, user, rows, heads), names

    async def confirmed(self, tenant: TenantId, user: UserId, rows: Sequence[ChatRow]) -> list[ChatListItem]:
        """Return rows that the caller has combined with heads as list items, without groups that the user has left.

        The positions stay those of the heads that the caller read. Race: the user is removed between the caller's
        reads of a row and of its head, and the head shows a later message. The rows are read again, after the heads.
        """
        quiet = await self._row_reader.heads(tenant, _quiet_groups(rows))
        rows = [rules.with_preview_of(row, quiet.get(row.chat)) for row in rows]
        groups = [row.chat for row in rows if is_in_group(row)]
        again = await self._row_reader.rows_in(tenant, user, groups) if groups else {}
        present = [rules.with_interval(row, again.get(row.chat, row)) for row in rows]
        return await self.listed(tenant, user, [row for row in present if rules.is_member(row.known)])

    async def listed(
        self,
        tenant: TenantId,
        user: UserId,
        page: Sequence[ChatRow],
        names: Mapping[ChatId, Chat] = _NO_NAMES,
    ) -> list[ChatListItem]:
        """Return rows as list items, with names and decrypted previews. `names`: groups that are known already."""
        now_ms = self._clock.now_ms()
        groups = [row.chat for row in page if chat_type(row.chat) is ChatType.GROUP and row.chat not in names]
        if groups:
            names = {**names, **await self._chats.names(tenant, groups)}
        shown = [row.known.shown for row in page if row.known.shown is not None]
        sealed = [(each.sender, each.preview) for each in shown if each.preview]
        keys = await self._keys.to_read(tenant, sealed)
        page_data = _PageData(tenant, user, names, keys, now_ms)
        return [page_data.item(row) for row in page]


async def with_heads(
    reader: ChatRowReader, tenant: TenantId, user: UserId, rows: Sequence[ChatRow]
) -> list[ChatRow]:
    """Return the user's rows as a list may show them: those of groups with the head that the members share.

    Quiet rows have the head's position already, and no preview. Rows that a leave may have changed are read again after
    the heads (`rules.is_outdated`).
    """
    heads = await reader.heads(tenant, [row.chat for row in rows if needs_head(row)])
    return await combine_with_heads(reader, tenant, user, rows, heads)


async def with_quiet_heads(
    reader: ChatRowReader, tenant: TenantId, user: UserId, rows: Sequence[ChatRow]
) -> list[ChatRow]:
    """Return the rows with the heads of those that are quiet, which have the previews."""
    if not (quiet := _quiet_groups(rows)):
        return list(rows)
    return await combine_with_heads(reader, tenant, user, rows, await reader.heads(tenant, quiet))


def needs_head(row: ChatRow) -> bool:
    """Return whether the position of the chat is in the group's head, not in the row."""
    return is_in_group(row) and row.known.quiet_at_ms is None


def _quiet_groups(rows: Sequence[ChatRow]) -> list[ChatId]:
    return [row.chat for row in rows if is_in_group(row) and row.known.quiet_at_ms is not None]


async def combine_with_heads(
    reader: ChatRowReader,
    tenant: TenantId,
    user: UserId,
    rows: Sequence[ChatRow],
    heads: Mapping[ChatId, RowUpdate],
) -> list[ChatRow]:
    """Return rows with heads that were read after them. Rows that a leave may have changed are read again."""
    outdated = [row.chat for row in rows if rules.is_outdated(row, heads.get(row.chat))]
    again = await reader.rows_in(tenant, user, outdated) if outdated else {}
    return [rules.with_head(again.get(row.chat, row), heads.get(row.chat), user) for row in rows]


def is_in_group(row: ChatRow) -> bool:
    """Return whether the row is of a group that its user is a member of: then the group's head counts."""
    return chat_type(row.chat) is ChatType.GROUP and rules.is_member(row.known)


class _PageData(NamedTuple):
    """The data that all items of a page share."""

    tenant: TenantId
    user: UserId
    names: Mapping[ChatId, Chat]
    keys: AuthorKeys
    now_ms: int

    def item(self, row: ChatRow) -> ChatListItem:
        chat, known = self.names.get(row.chat), row.known
        key, some = ChatKey(self.tenant, row.chat), chat.some_members if chat else ()
        others = (known.other,) if known.other else tuple(sorted(u for u in some if u != self.user))
        return ChatListItem(
            chat=key,
            type=chat_type(row.chat),
            at_ms=last_activity_ms(row),
            unread=rules.unread_count(row),
            is_member=rules.is_member(known),
            last=None if known.shown is None else self._last(key, known.shown),
            name=chat.name if chat else None,
            member_count=chat.member_count if chat else 2 if known.other else None,
            members=others,
            head_sequence=known.head.sequence if known.head else 0,
            message_count=known.head.ordinal if known.head else 0,
            read_sequence=row.read_up_to,
            delivered_sequence=row.delivered_up_to,
            muted_until_ms=row.muted_until_ms if is_muted(row, self.now_ms) else None,
            is_pinned=row.is_pinned,
            is_archived=row.is_archived,
            notify=row.notify,
            is_large=known.is_large,
        )

    def _last(self, chat: ChatKey, shown: LastMessageRef) -> LastMessage:
        state, text = self._preview(chat, shown)
        return LastMessage(
            sequence=shown.sequence, at_ms=shown.at_ms, sender=shown.sender, state=state, text=text
        )

    def _preview(self, chat: ChatKey, shown: LastMessageRef) -> tuple[LastMessageState, str]:
        if is_pseudonym(shown.sender):
            return LastMessageState.ERASED, ""
        if shown.expires_at_s is not None:
            is_over = shown.expires_at_s * 1000 <= self.now_ms
            return (LastMessageState.EXPIRED if is_over else LastMessageState.EPHEMERAL), ""
        if shown.preview is None:
            return LastMessageState.REDACTED, ""
        try:
            preview = self.keys.unseal_preview(chat, shown.sequence, shown.sender, shown.preview)
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            return LastMessageState.UNREADABLE, ""  # One altered preview must not fail the whole list.
        if preview is None:
            return LastMessageState.ERASED, ""
        return LastMessageState.ACTIVE, preview.decode()


def last_activity_ms(row: ChatRow) -> int:
    """Return the time of the newest message or of the join, so that an empty chat is listed too."""
    shown, joined = row.known.shown, row.known.joined
    return max(shown.at_ms if shown else 0, joined.at_ms if joined else 0, row.known.quiet_at_ms or 0)


def is_muted(row: ChatRow, now_ms: int) -> bool:
    return row.muted_until_ms is not None and row.muted_until_ms > now_ms


def cursor_at(row: ChatRow) -> ListCursor:
    return ListCursor(row.is_pinned, last_activity_ms(row), row.chat)


def _sort_key(row: ChatRow) -> tuple[bool, int, str]:
    return not row.is_pinned, -last_activity_ms(row), row.chat


def _behind(rows: Sequence[ChatRow], cursor: ListCursor) -> list[ChatRow]:
    position = (not cursor.is_pinned, -cursor.at_ms, cursor.chat)
    return [row for row in rows if _sort_key(row) > position]


def _is_active(row: ChatRow) -> bool:
    return rules.is_member(row.known) and not row.is_archived


_FILTERS: dict[ChatListFilter, Callable[[ChatRow, int], bool]] = {
    ChatListFilter.ACTIVE: lambda row, _: _is_active(row),
    ChatListFilter.UNREAD: lambda row, _: _is_active(row) and rules.unread_count(row) > 0,
    ChatListFilter.PINNED: lambda row, _: _is_active(row) and row.is_pinned,
    ChatListFilter.MUTED: lambda row, now_ms: rules.is_member(row.known) and is_muted(row, now_ms),
    ChatListFilter.ARCHIVED: lambda row, _: rules.is_member(row.known) and row.is_archived,
    ChatListFilter.LEFT: lambda row, _: not rules.is_member(row.known),
}
