"""What a user sees of his inbox: counts, pages of notices, and why a count is what it is. For users and for support."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tidings.broadcasts.model import Showing
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.notices import pages, rules, wide
from tidings.notices.book import Book
from tidings.notices.explain import Reason, reason_of
from tidings.notices.model import Content, NoticeId, Owner, Row, Sheet
from tidings.notices.pages import Below, Spot
from tidings.notices.ports import Keys, OpeningKeys, Said

MAX_PAGE = 100
_SCANNED = 2_000
"""So many rows are gone through for one page: a filter that finds little answers with little, and goes on."""
_decode = msgspec.json.Decoder().decode


class Filter(Struct, frozen=True, kw_only=True):
    category: int | None = None
    is_unread: bool = False
    is_archived: bool = False


EVERYTHING = Filter()


class Notice(NamedTuple):
    row: Row
    content: Content
    message: Any
    is_read: bool
    is_seen: bool
    read_ms: int | None
    """When it was read, by itself or by a mark of all."""


class Page(NamedTuple):
    """Newest first. `below` goes into the next; None: this was the last."""

    notices: Sequence[Notice]
    below: str | None
    sheet: Sheet


class Explained(NamedTuple):
    sheet: Sheet
    reasons: Sequence[Reason]
    below: str | None


def place_of(tenant: TenantId, notice: NoticeId) -> ChatKey:
    """Where a notice's content is sealed for. No chat has a `#` in its id."""
    return ChatKey(tenant, ChatId(f"#{notice}"))


class Read:
    def __init__(self, book: Book, contents: Said, keys: Keys) -> None:
        self._book = book
        self._contents = contents
        self._keys = keys

    async def counts(self, owner: Owner, at_least: int = 0) -> Sheet:
        return await self._book.look(owner, at_least)

    async def page(
        self,
        owner: Owner,
        limit: int,
        wanted: Filter = EVERYTHING,
        below: str | None = None,
        at_least: int = 0,
    ) -> Page:
        sheet = await self._book.look(owner, at_least)
        if wanted.is_unread and sheet.total == 0:
            return Page((), None, sheet)
        start = Below.of(below, sheet.shown.board.head)
        rows, end = await self._rows(sheet, limit, wanted, start and start.place)
        shown = [each for each in pages.showings(sheet, wide.visible(sheet)) if _is_shown(each, wanted)]
        spots, end = pages.merged(rows, pages.within(shown, start, end), limit, end)
        head = sheet.shown.board.head if start is None else start.head
        return Page(await self._opened(sheet, spots), pages.text(end, head), sheet)

    async def some(self, owner: Owner, ids: Sequence[NoticeId]) -> Page:
        """Those of them that are there and not archived, as they are now, with the counts."""
        sheet = await self._book.look(owner)
        rows = await self._book.shelf.rows(owner, ids) if ids else {}
        wanted = [Spot(row.id, row) for row in rows.values() if _is_wanted(row, sheet, EVERYTHING)]
        return Page(await self._opened(sheet, wanted) if wanted else (), None, sheet)

    async def shown(self, tenant: TenantId, showing: Showing) -> Notice | None:
        """A broadcast as it is for who gets it now, whoever that is. None: it was redacted."""
        notice = NoticeId(showing.notice)
        content = (await self._contents.of(tenant, [notice])).get(notice)
        if content is None or content.sealed is None:
            return None
        keys = await self._keys.to_read(tenant, [content.sealed])
        message = _message(keys, place_of(tenant, notice), content.version, content.sealed)
        row = Row(
            id=notice,
            category=showing.category,
            delivered_ms=showing.at_ms,
            host_system_id=content.host_system_id,
            expires_ms=showing.expires_ms,
        )
        return Notice(row, content, message, is_read=False, is_seen=False, read_ms=None)

    async def explain(self, owner: Owner, limit: int, below: str | None = None) -> Explained:
        """Every notice, newest first, with what decides about it; the counted ones of all pages make up the count."""
        sheet = await self._book.look(owner)
        start = Below.of(below, sheet.shown.board.head)
        rows, has_more = await self._book.shelf.page(owner, start and start.place, limit)
        end = rows[-1].id if rows and has_more else None
        shown = pages.showings(sheet, sheet.shown.board.everything)
        spots, end = pages.merged(rows, pages.within(shown, start, end), limit, end)
        head = sheet.shown.board.head if start is None else start.head
        return Explained(sheet, [reason_of(each, sheet) for each in spots], pages.text(end, head))

    async def _rows(
        self, sheet: Sheet, limit: int, wanted: Filter, below: NoticeId | None
    ) -> tuple[list[Row], NoticeId | None]:
        found: list[Row] = []
        if wanted.is_unread and sheet.counts.total == 0:
            return found, None
        scanned, has_more = 0, True
        while has_more and len(found) < limit and scanned < _SCANNED:
            rows, has_more = await self._book.shelf.page(
                sheet.owner, below, _asked(limit - len(found), scanned, wanted)
            )
            for row in rows:
                scanned, below = scanned + 1, row.id
                if _is_wanted(row, sheet, wanted):
                    found.append(row)
                if len(found) == limit and row is not rows[-1]:
                    return found, below
        return found, below if has_more else None

    async def _opened(self, sheet: Sheet, spots: Sequence[Spot]) -> list[Notice]:
        """What was redacted a moment ago is hidden at once, though its row is yet to be settled."""
        tenant = sheet.owner.tenant
        contents = await self._contents.of(tenant, [each.row.id for each in spots])
        there = {notice: each.sealed for notice, each in contents.items() if each.sealed is not None}
        keys = await self._keys.to_read(tenant, there.values())

        def message(content: Content) -> object:
            return _message(keys, place_of(tenant, content.id), content.version, there[content.id])

        return [
            _notice(sheet, each, contents[each.row.id], message) for each in spots if each.row.id in there
        ]


def _notice(sheet: Sheet, spot: Spot, content: Content, message: Callable[[Content], object]) -> Notice:
    row = spot.row
    if spot.showing is None:
        is_read, is_seen = rules.is_read(row, sheet.counts), rules.is_seen(row, sheet.counts)
        return Notice(row, content, message(content), is_read, is_seen, rules.read_at_ms(row, sheet.counts))
    is_seen = row.read_ms is not None or spot.showing.sequence <= sheet.wide.seen_before
    named = msgspec.structs.replace(row, host_system_id=content.host_system_id)
    return Notice(named, content, message(content), row.read_ms is not None, is_seen, row.read_ms)


def _message(keys: OpeningKeys, place: ChatKey, version: int, sealed: bytes) -> object:
    message: object = _decode(keys.unseal(place, version, sealed))
    return message


def _asked(missing: int, scanned: int, wanted: Filter) -> int:
    """A filter may leave most rows out: what is wanted is mostly new, and then more are read at a time."""
    if wanted == EVERYTHING:
        return missing
    return max(missing, 250 if scanned else 40)


def _is_wanted(row: Row, sheet: Sheet, wanted: Filter) -> bool:
    if not rules.is_live(row, sheet.now_ms, sheet.keep_from_ms):
        return False
    if (row.archived_ms is not None) != wanted.is_archived:
        return False
    if wanted.category is not None and row.category != wanted.category:
        return False
    return not wanted.is_unread or rules.is_unread(row, sheet)


def _is_shown(spot: Spot, wanted: Filter) -> bool:
    row = spot.row
    if (row.archived_ms is not None) != wanted.is_archived:
        return False
    if wanted.category is not None and row.category != wanted.category:
        return False
    return not wanted.is_unread or row.read_ms is None
