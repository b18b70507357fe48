"""The flow "chat list": a user's chats, pinned ones first, then by newest activity; and what he makes of them.

One read of his rows, one of the heads of his large chats, one of the names on the page: never one for each chat.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidings.chats.model import Chat, ChatType, chat_type, require_membership
from tidings.delivery import rules
from tidings.delivery.model import (
    ChatFlags,
    ChatListItem,
    ChatRow,
    LastMessage,
    LastMessageRef,
    LastMessageState,
    ListCursor,
    UnreadExplanation,
)
from tidings.delivery.ports import ChatReader, ChatRowReader, DeliveryKeys, FlagStore, OpeningKeys
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

MAX_LIMIT = 100


class ChatListFilter(StrEnum):
    """`active` is the list as one opens it: neither archived nor left."""

    ACTIVE = "active"
    UNREAD = "unread"
    PINNED = "pinned"
    MUTED = "muted"
    ARCHIVED = "archived"
    LEFT = "left"


class ChatListPage(NamedTuple):
    """`after` goes into the next call; None: this was the last page. `unread_chats` counts in the whole filter."""

    chats: tuple[ChatListItem, ...]
    after: ListCursor | None
    unread_chats: int


class ChatList:
    def __init__(
        self, rows: ChatRowReader, flags: FlagStore, chats: ChatReader, keys: DeliveryKeys, clock: Clock
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
        """A chat that got news since the last page has moved up: it is not on the next one, and none is twice."""
        rows = await self._rows(tenant, user)
        now_ms, keeps = self._clock.now_ms(), _FILTERS[only]
        kept = sorted((row for row in rows if keeps(row, now_ms)), key=_place)
        rest = kept if after is None else _behind(kept, after)
        page = rest[: min(max(limit, 1), MAX_LIMIT)]
        listed = await self.listed(tenant, user, page)
        more = len(rest) > len(page)
        unread_chats = sum(rules.unread_count(row) > 0 for row in kept)
        return ChatListPage(tuple(listed), cursor_at(page[-1]) if more else None, unread_chats)

    async def set_flags(self, chat: ChatKey, user: UserId, flags: ChatFlags) -> None:
        """Pin, archive, mute: for oneself, in a chat that one is in."""
        if flags == ChatFlags():
            raise TidingsError(Code.REQUEST_INVALID, "Say what to change: pinned, archived or muted.")
        require_membership(await self._chats.membership(chat, user))
        await self._flags.set_flags(chat, user, flags)

    async def one(self, chat: ChatKey, user: UserId) -> ChatListItem | None:
        """Return one chat as the user's list shows it; None if delivery has not written a row of it yet."""
        row = await self._row_reader.row(chat, user)
        if row is None or row.known.joined is None:
            return None
        [row] = await self._with_heads(chat.tenant, [row])
        [listed] = await self.listed(chat.tenant, user, [row])
        return listed

    async def explain(self, chat: ChatKey, user: UserId) -> UnreadExplanation:
        """Return why the user's unread count of a chat is what it is. For members only."""
        require_membership(await self._chats.membership(chat, user))
        row = await self._row_reader.row(chat, user)
        [row] = await self._with_heads(chat.tenant, [row or ChatRow(chat=chat.chat, known=rules.NOTHING)])
        return rules.explain_unread(row)

    async def _rows(self, tenant: TenantId, user: UserId) -> list[ChatRow]:
        rows = await self._row_reader.rows(tenant, user)
        return await self._with_heads(tenant, [row for row in rows if row.known.joined is not None])

    async def _with_heads(self, tenant: TenantId, rows: list[ChatRow]) -> list[ChatRow]:
        large = [row.chat for row in rows if row.known.is_large and rules.is_member(row.known)]
        heads = await self._row_reader.heads(tenant, large) if large else {}
        return [rules.with_head(row, heads.get(row.chat)) for row in rows] if heads else rows

    async def listed(self, tenant: TenantId, user: UserId, page: Sequence[ChatRow]) -> list[ChatListItem]:
        """These rows as people see them, whoever has read them."""
        now_ms = self._clock.now_ms()
        groups = [row.chat for row in page if chat_type(row.chat) is ChatType.GROUP]
        names = await self._chats.names(tenant, groups) if groups else {}
        sealed = [row.known.shown.preview for row in page if row.known.shown and row.known.shown.preview]
        keys = await self._keys.to_read(tenant, sealed)
        line = _ListLine(tenant, user, names, keys, now_ms)
        return [line.listed(row) for row in page]


class _ListLine(NamedTuple):
    """What every line of a page needs."""

    tenant: TenantId
    user: UserId
    names: Mapping[ChatId, Chat]
    keys: OpeningKeys
    now_ms: int

    def listed(self, row: ChatRow) -> ChatListItem:
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
            read_sequence=row.read.sequence if row.read else 0,
            delivered_sequence=row.delivered.sequence if row.delivered else 0,
            muted_until_ms=row.muted_until_ms if is_muted(row, self.now_ms) else None,
            is_pinned=row.is_pinned,
            is_archived=row.is_archived,
            is_large=known.is_large,
        )

    def _last(self, chat: ChatKey, shown: LastMessageRef) -> LastMessage:
        state, text = self._words(chat, shown)
        return LastMessage(
            sequence=shown.sequence, at_ms=shown.at_ms, sender=shown.sender, state=state, text=text
        )

    def _words(self, chat: ChatKey, shown: LastMessageRef) -> tuple[LastMessageState, str]:
        if shown.expires_at_s is not None:
            is_over = shown.expires_at_s * 1000 <= self.now_ms
            return (LastMessageState.EXPIRED if is_over else LastMessageState.EPHEMERAL), ""
        if shown.preview is None:
            return LastMessageState.REDACTED, ""
        try:
            return LastMessageState.ACTIVE, self.keys.unseal_preview(
                chat, shown.sequence, shown.preview
            ).decode()
        except TidingsError as error:
            if error.code is not Code.DECRYPTION_FAILED:
                raise
            # one preview that somebody altered must not take the whole list away
            return LastMessageState.UNREADABLE, ""


def last_activity_ms(row: ChatRow) -> int:
    """The newest message, or when the user came in: a chat that nobody has written to is listed too."""
    shown, joined = row.known.shown, row.known.joined
    return max(shown.at_ms if shown else 0, joined.at_ms if joined else 0)


def is_muted(row: ChatRow, now_ms: int) -> bool:
    return row.muted_until_ms is not None and row.muted_until_ms > now_ms


def cursor_at(row: ChatRow) -> ListCursor:
    return ListCursor(row.is_pinned, last_activity_ms(row), row.chat)


def _place(row: ChatRow) -> tuple[bool, int, str]:
    return not row.is_pinned, -last_activity_ms(row), row.chat


def _behind(rows: Sequence[ChatRow], cursor: ListCursor) -> list[ChatRow]:
    place = (not cursor.is_pinned, -cursor.at_ms, cursor.chat)
    return [row for row in rows if _place(row) > place]


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
