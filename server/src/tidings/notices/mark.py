"""What a user does with his notices: read, unread again, archive; all up to a time; seen. Each answers with fresh counts."""

from collections.abc import Callable, Sequence
from itertools import batched
from typing import NamedTuple

from msgspec.structs import replace

from tidings.notices import rules, wide
from tidings.notices.book import Book
from tidings.notices.model import Change, NoticeId, Owner, Row, Sheet, Wide
from tidings.notices.ports import Deed, Readers

AT_ONCE = 25
"""Rows of one change: each may bring an item that expires, and there is what has expired beside them."""
_PAGE = 1_000


class Doing(NamedTuple):
    """To a direct notice, and to broadcasts."""

    row: Callable[[Row, Sheet], Row]
    bits: Callable[[Sheet, int], Wide]


_READ = Doing(rules.marked_read, wide.marked_read)
_REOPEN = Doing(rules.reopened, wide.reopened)
_ARCHIVE = Doing(rules.archived, wide.archived)
_RESTORE = Doing(rules.restored, wide.restored)


class Mark:
    def __init__(self, book: Book, readers: Readers) -> None:
        self._book = book
        self._readers = readers

    async def read(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet:
        """What is read, gone or not there stays as it is."""
        return await self._each(owner, ids, _READ, at_least)

    async def reopen(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet:
        """Unread again, whatever was marked before."""
        return await self._each(owner, ids, _REOPEN, at_least)

    async def archive(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet:
        return await self._each(owner, ids, _ARCHIVE, at_least)

    async def restore(self, owner: Owner, ids: Sequence[NoticeId], at_least: int = 0) -> Sheet:
        """Out of the archive: as read or unread as it was."""
        return await self._each(owner, ids, _RESTORE, at_least)

    async def read_all(
        self,
        owner: Owner,
        before_ms: int | None = None,
        category: int | None = None,
        at_least: int = 0,
    ) -> Sheet:
        """All up to a time, of all or of one category. What is yet to come is never read by it."""

        async def edit(sheet: Sheet) -> Change | None:
            direct = await self._direct_marked(sheet, before_ms, category)
            state = wide.marked_all(sheet, before_ms, category)
            await self._note(sheet, state)
            return _both(sheet, direct, state)

        return await self._book.change(owner, Deed.SETTLE, edit, at_least)

    async def see_all(self, owner: Owner, at_least: int = 0) -> Sheet:
        """The user has looked: what is there now is no news any more, read or not."""

        async def edit(sheet: Sheet) -> Change | None:
            direct = rules.all_seen(sheet) if rules.has_news(sheet) else None
            return _both(sheet, direct, wide.all_seen(sheet))

        return await self._book.change(owner, Deed.SETTLE, edit, at_least)

    async def _direct_marked(
        self, sheet: Sheet, before_ms: int | None, category: int | None
    ) -> Change | None:
        at_ms = rules.mark_ms(sheet, before_ms)
        if not rules.is_news(sheet, at_ms, category):
            return None
        unread = await self._unread(sheet) if rules.needs_rows(sheet, at_ms, category) else None
        return rules.marked_all(sheet, at_ms, category, unread)

    async def _each(self, owner: Owner, ids: Sequence[NoticeId], doing: Doing, at_least: int) -> Sheet:
        sheet = None
        for some in batched(dict.fromkeys(ids), AT_ONCE):
            sheet = await self._some(owner, some, doing, at_least)
        return sheet or await self._book.look(owner, at_least)

    async def _some(self, owner: Owner, ids: Sequence[NoticeId], doing: Doing, at_least: int) -> Sheet:
        async def edit(sheet: Sheet) -> Change | None:
            bits, direct = _split(sheet, ids)
            found = (await self._book.shelf.rows(owner, direct)).values()
            live = [row for row in found if rules.is_live(row, sheet.now_ms, sheet.keep_from_ms)]
            pairs = [(row, after) for row in live if (after := doing.row(row, sheet)) != row]
            state = doing.bits(sheet, bits) if bits else sheet.wide
            await self._note(sheet, state)
            return _both(sheet, rules.changed(sheet, pairs) if pairs else None, state)

        return await self._book.change(owner, Deed.MARK, edit, at_least)

    async def _note(self, sheet: Sheet, state: Wide) -> None:
        """Before the state is written: afterwards a repeat would find nothing to note."""
        if read := wide.newly_read(sheet, state):
            await self._readers.note(sheet.owner.tenant, sheet.owner.user, read, sheet.now_ms)

    async def _unread(self, sheet: Sheet) -> list[Row]:
        """All rows that are counted; found from the newest on, and not a row further than the last of them."""
        found: list[Row] = []
        below, has_more = None, True
        while has_more and len(found) < sheet.counts.total:
            rows, has_more = await self._book.shelf.page(sheet.owner, below, _PAGE)
            found += [row for row in rows if rules.is_unread(row, sheet)]
            below = rows[-1].id if rows else None
        return found


def _split(sheet: Sheet, ids: Sequence[NoticeId]) -> tuple[int, list[NoticeId]]:
    """Broadcasts are known by the log; the others may be rows."""
    bits, direct = 0, []
    for notice in ids:
        if sheet.shown.board.of_notice(notice):
            bits |= wide.named(sheet, notice)
        else:
            direct.append(notice)
    return bits, direct


def _both(sheet: Sheet, direct: Change | None, after: Wide) -> Change | None:
    """One change of both kinds; None where neither changes."""
    state = wide.following(sheet, after)
    if state is None:
        return direct
    return Change(wide=state) if direct is None else replace(direct, wide=state)
