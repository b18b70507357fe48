"""What a user sees of his inbox: counts, pages of notices, and why a count is what it is. For users and for support."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.notices import rules
from tidings.notices.book import Book
from tidings.notices.model import Content, NoticeId, Owner, Row, Sheet
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
    below: NoticeId | None
    sheet: Sheet


class Why(StrEnum):
    """Why a notice counts, or why not: the first of these that holds."""

    REDACTED = "redacted"
    EXPIRED = "expired"
    KEPT_NO_LONGER = "kept_no_longer"
    ARCHIVED = "archived"
    READ = "read"
    MARKED_ALL = "marked_all"
    MARKED_CATEGORY = "marked_category"
    UNREAD_AGAIN = "unread_again"
    DELIVERED = "delivered"


class Reason(NamedTuple):
    """`at_ms`: since when, by the deed that decides."""

    row: Row
    is_counted: bool
    why: Why
    at_ms: int


class Explained(NamedTuple):
    sheet: Sheet
    reasons: Sequence[Reason]
    below: NoticeId | None


def place_of(tenant: TenantId, notice: NoticeId) -> ChatKey:
    """Where a notice's content is sealed for. No chat has a `#` in its id."""
    return ChatKey(tenant, ChatId(f"#{notice}"))


class Read:
    def __init__(self, book: Book, contents: Said, keys: Keys) -> None:
        self._book = book
        self._contents = contents
        self._keys = keys

    async def counts(self, owner: Owner) -> Sheet:
        return await self._book.look(owner)

    async def page(
        self, owner: Owner, limit: int, wanted: Filter = EVERYTHING, below: NoticeId | None = None
    ) -> Page:
        sheet = await self._book.look(owner)
        if wanted.is_unread and sheet.counts.total == 0:
            return Page((), None, sheet)
        rows, end = await self._rows(sheet, limit, wanted, below)
        return Page(await self._opened(sheet, rows), end, sheet)

    async def some(self, owner: Owner, ids: Sequence[NoticeId]) -> Page:
        """Those of them that are there and not archived, as they are now, with the counts."""
        sheet = await self._book.look(owner)
        rows = await self._book.shelf.rows(owner, ids) if ids else {}
        wanted = [row for row in rows.values() if _is_wanted(row, sheet, EVERYTHING)]
        return Page(await self._opened(sheet, wanted) if wanted else (), None, sheet)

    async def explain(self, owner: Owner, limit: int, below: NoticeId | None = None) -> Explained:
        """Every row, newest first, with what decides about it; the counted ones of all pages make up the count."""
        sheet = await self._book.look(owner)
        rows, has_more = await self._book.shelf.page(owner, below, limit)
        reasons = [reason_of(row, sheet) for row in rows]
        return Explained(sheet, reasons, rows[-1].id if rows and has_more else None)

    async def _rows(
        self, sheet: Sheet, limit: int, wanted: Filter, below: NoticeId | None
    ) -> tuple[list[Row], NoticeId | None]:
        found: list[Row] = []
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

    async def _opened(self, sheet: Sheet, rows: Sequence[Row]) -> list[Notice]:
        """What was redacted a moment ago is hidden at once, though its row is yet to be settled."""
        tenant = sheet.owner.tenant
        contents = await self._contents.of(tenant, [row.id for row in rows])
        there = {notice: each.sealed for notice, each in contents.items() if each.sealed is not None}
        keys = await self._keys.to_read(tenant, there.values())
        return [
            Notice(
                row,
                contents[row.id],
                _message(keys, place_of(tenant, row.id), contents[row.id].version, there[row.id]),
                rules.is_read(row, sheet.counts),
                rules.is_seen(row, sheet.counts),
                rules.read_at_ms(row, sheet.counts),
            )
            for row in rows
            if row.id in there
        ]


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


def reason_of(row: Row, sheet: Sheet) -> Reason:
    why, at_ms = _why(row, sheet)
    return Reason(row, rules.is_unread(row, sheet), why, at_ms)


def _why(row: Row, sheet: Sheet) -> tuple[Why, int]:
    if row.redacted_ms is not None:
        return Why.REDACTED, row.redacted_ms
    if row.expires_ms is not None and row.expires_ms <= sheet.now_ms:
        return Why.EXPIRED, row.expires_ms
    if row.sent_ms < sheet.keep_from_ms:
        return Why.KEPT_NO_LONGER, sheet.keep_from_ms
    if row.archived_ms is not None:
        return Why.ARCHIVED, row.archived_ms
    return _why_read(row, sheet) or _why_unread(row)


def _why_read(row: Row, sheet: Sheet) -> tuple[Why, int] | None:
    counts = sheet.counts
    if row.read_ms is not None:
        return Why.READ, row.read_ms
    if row.since_ms <= counts.read_before_ms:
        return Why.MARKED_ALL, counts.read_before_ms
    if rules.is_read(row, counts):
        return Why.MARKED_CATEGORY, rules.read_up_to_ms(counts, row.category)
    return None


def _why_unread(row: Row) -> tuple[Why, int]:
    why = Why.UNREAD_AGAIN if row.reopened_ms is not None else Why.DELIVERED
    return why, row.since_ms
