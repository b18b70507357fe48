"""What a user does with his notices: read, unread again, archive; all up to a time; seen. Each answers with fresh counts."""

from collections.abc import Callable, Sequence
from itertools import batched

from tidings.notices import rules
from tidings.notices.book import Book
from tidings.notices.model import Change, NoticeId, Owner, Row, Sheet
from tidings.notices.ports import Deed

AT_ONCE = 25
"""Rows of one change: each may bring an item that expires, and there is what has expired beside them."""
_PAGE = 1_000

type Doing = Callable[[Row, Sheet], Row]


class Mark:
    def __init__(self, book: Book) -> None:
        self._book = book

    async def read(self, owner: Owner, ids: Sequence[NoticeId]) -> Sheet:
        """What is read, gone or not there stays as it is."""
        return await self._each(owner, ids, rules.marked_read)

    async def reopen(self, owner: Owner, ids: Sequence[NoticeId]) -> Sheet:
        """Unread again, whatever was marked before."""
        return await self._each(owner, ids, rules.reopened)

    async def archive(self, owner: Owner, ids: Sequence[NoticeId]) -> Sheet:
        return await self._each(owner, ids, rules.archived)

    async def restore(self, owner: Owner, ids: Sequence[NoticeId]) -> Sheet:
        """Out of the archive: as read or unread as it was."""
        return await self._each(owner, ids, rules.restored)

    async def read_all(
        self, owner: Owner, before_ms: int | None = None, category: int | None = None
    ) -> Sheet:
        """All up to a time, of all or of one category. What is yet to come is never read by it."""

        async def edit(sheet: Sheet) -> Change | None:
            at_ms = rules.mark_ms(sheet, before_ms)
            if not rules.is_news(sheet, at_ms, category):
                return None
            unread = await self._unread(sheet) if rules.needs_rows(sheet, at_ms, category) else None
            return rules.marked_all(sheet, at_ms, category, unread)

        return await self._book.change(owner, Deed.SETTLE, edit)

    async def see_all(self, owner: Owner) -> Sheet:
        """The user has looked: what is there now is no news any more, read or not."""

        async def edit(sheet: Sheet) -> Change | None:
            return rules.all_seen(sheet) if rules.has_news(sheet) else None

        return await self._book.change(owner, Deed.SETTLE, edit)

    async def _each(self, owner: Owner, ids: Sequence[NoticeId], doing: Doing) -> Sheet:
        sheet = None
        for some in batched(dict.fromkeys(ids), AT_ONCE):
            sheet = await self._some(owner, some, doing)
        return sheet or await self._book.look(owner)

    async def _some(self, owner: Owner, ids: Sequence[NoticeId], doing: Doing) -> Sheet:
        async def edit(sheet: Sheet) -> Change | None:
            found = (await self._book.shelf.rows(owner, ids)).values()
            live = [row for row in found if rules.is_live(row, sheet.now_ms, sheet.keep_from_ms)]
            pairs = [(row, after) for row in live if (after := doing(row, sheet)) != row]
            return rules.changed(sheet, pairs) if pairs else None

        return await self._book.change(owner, Deed.MARK, edit)

    async def _unread(self, sheet: Sheet) -> list[Row]:
        """All rows that are counted; found from the newest on, and not a row further than the last of them."""
        found: list[Row] = []
        below, has_more = None, True
        while has_more and len(found) < sheet.counts.total:
            rows, has_more = await self._book.shelf.page(sheet.owner, below, _PAGE)
            found += [row for row in rows if rules.is_unread(row, sheet)]
            below = rows[-1].id if rows else None
        return found
