"""A user's inbox, read as it is now and changed on condition that nobody else changed it meanwhile.

Counts are read first and rows after them: what changes a row changes the version of the counts, so a change that was
made ready on older counts is not written.
"""

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from tidings.broadcasts.model import LogId
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.tries import on_what_is_there
from tidings.notices import rules, wide
from tidings.notices.model import Change, NoticeId, Owner, Sheet, Wide
from tidings.notices.ports import Broadcasts, Deed, Live, News, Retention, Shelf

FEW = 8
"""Of those that expire are read at first: the next is nearly always among them.

Who finds more than this to be dropped drops them, so that no later one has to go through them.
"""
_ROUNDS = 200

type Edit = Callable[[Sheet], Awaitable[Change | None]]


class Book:
    def __init__(
        self, shelf: Shelf, retention: Retention, clock: Clock, live: Live, broadcasts: Broadcasts
    ) -> None:
        self.shelf = shelf
        self._broadcasts = broadcasts
        self._retention = retention
        self._clock = clock
        self._live = live

    async def look(self, owner: Owner, at_least: int = 0) -> Sheet:
        """As it is now. Writes nothing, but where much has piled up, rows are kept no longer, or the user is new."""
        return await on_what_is_there(lambda: self._settled(owner, at_least))

    async def change(self, owner: Owner, deed: Deed, edit: Edit, at_least: int = 0) -> Sheet:
        """As it is after. `edit` may be asked again, on what is there then; None: there is nothing to change."""

        async def step() -> tuple[Sheet, Change | None]:
            sheet = await self._settled(owner, at_least)
            change = await edit(sheet)
            if change is not None:
                await self._commit(owner, deed, change)
            return sheet, change

        sheet, change = await on_what_is_there(step)
        if change is None:
            return sheet
        self._live.tell(owner, News.COUNTED)
        return await self._after(sheet, change)

    def tell(self, owner: Owner, news: News, notice: NoticeId) -> None:
        """What became of a notice, whether or not its row was changed by it."""
        self._live.tell(owner, news, notice)

    async def _after(self, sheet: Sheet, change: Change) -> Sheet:
        """The next to expire may be another now; without any that expire nothing is read again."""
        if sheet.next_ms is None and not change.expiring:
            stored, counts = change.counts or sheet.stored, change.counts or sheet.counts
            dropped = sheet.dropped if change.counts is None else ()
            after = replace(
                sheet, stored=stored, counts=counts, dropped=dropped, wide=change.wide or sheet.wide
            )
            return wide.counted(after)
        return await self.look(sheet.owner)

    async def _settled(self, owner: Owner, at_least: int) -> Sheet:
        """Whole, and with so little to be dropped that it fits beside a change."""
        expiring = FEW
        for _ in range(_ROUNDS):
            standing = await self.shelf.standing(owner, expiring)
            sheet = rules.settled(owner, standing, self._clock.now_ms())
            is_whole = sheet.next_ms is not None or not standing.is_cut
            if not is_whole and expiring == FEW:
                expiring = rules.DROPPED_AT_ONCE
            elif not is_whole or len(sheet.dropped) > FEW:
                await self._commit(owner, Deed.SETTLE, rules.only_settled(sheet))
            elif (kept := await self._kept(sheet)) is not None:
                return await self._with_broadcasts(kept, standing.wide, at_least)
        raise TidingsError(Code.OVERLOADED, "Too much has expired in this inbox to be taken out at once.")

    async def _with_broadcasts(self, sheet: Sheet, state: Wide | None, at_least: int) -> Sheet:
        """The state was read before the log: what it knows of is in the log's copy, or is kept as it is."""
        owner = sheet.owner
        log = LogId(owner.tenant, owner.inbox)
        shown = await self._broadcasts.of(log, owner.user, is_joined=state is not None, at_least=at_least)
        if state is None and shown.board.showings:
            state = Wide(joined=shown.joined, updated_ms=sheet.now_ms, version=1)
            if not await self.shelf.join(owner, state):
                raise TidingsError(Code.CHANGED_MEANWHILE, "The user came just now.")
        return wide.counted(replace(sheet, shown=shown, wide=state or Wide()))

    async def _kept(self, sheet: Sheet) -> Sheet | None:
        """Without what is kept no longer. None: rows were to be forgotten; look again."""
        days = await self._retention.retention_days(sheet.owner.tenant, sheet.owner.inbox)
        from_ms, counts = rules.cutoff_ms(days, sheet.now_ms), sheet.counts
        if from_ms <= counts.kept_from_ms:
            return sheet
        is_quiet = counts.total == 0 and from_ms < counts.kept_from_ms + rules.DAY_MS
        if counts.version == 0 or is_quiet:
            return rules.forgotten(sheet, from_ms, ())
        await self._forget(sheet, from_ms)
        return None

    async def _forget(self, sheet: Sheet, from_ms: int) -> None:
        """Counts first: a row that is gone and still counted would be counted for ever."""
        below = await self.shelf.sent_before(sheet.owner, from_ms)
        change = rules.only_settled(rules.forgotten(sheet, from_ms, below))
        await self._commit(sheet.owner, Deed.SETTLE, change)
        await self.shelf.forget(sheet.owner, [row.id for row in below])

    async def _commit(self, owner: Owner, deed: Deed, change: Change) -> None:
        if not await self.shelf.commit(owner, deed, change):
            raise TidingsError(Code.CHANGED_MEANWHILE, "The inbox changed just now.")
