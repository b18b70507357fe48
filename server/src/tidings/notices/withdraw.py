"""Takes a notice from one user: his row keeps what proves it, and where it has yet to come a tombstone keeps it out."""

from tidings.notices import rules
from tidings.notices.book import Book
from tidings.notices.model import Change, NoticeId, Owner, Sheet
from tidings.notices.ports import Deed, News


class Withdraw:
    def __init__(self, book: Book) -> None:
        self._book = book

    async def __call__(self, owner: Owner, notice: NoticeId, category: int) -> Sheet:
        """May be repeated at will: what is redacted stays as it was then."""

        async def edit(sheet: Sheet) -> Change | None:
            row = (await self._book.shelf.rows(owner, [notice])).get(notice)
            after = rules.redacted(row, sheet, notice, category)
            return None if after == row else rules.changed(sheet, [(row, after)])

        sheet = await self._book.change(owner, Deed.REDACT, edit)
        # told again if it was there: whoever took it may have died before he told
        self._book.tell(owner, News.REDACTED, notice)
        return sheet
