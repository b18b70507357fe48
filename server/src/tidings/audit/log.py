"""Record administrative actions, and read them.

The start is recorded before the action: an action whose start cannot be recorded is refused. The end is recorded after
it with the outcome and the change. The log has no operation that changes or deletes a record.
"""

import logging
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from tidings.audit.model import (
    AdminAction,
    AuditPage,
    AuditRecord,
    AuditStore,
    month_of,
    next_month,
    record_of,
)
from tidings.kernel.action_notes import CURRENT_NOTES, ActionNotes
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, min_ulid, new_ulid, new_ulid_after

OK = "ok"
_EXPORT_PAGE = 500
_MONTH = re.compile(r"20\d\d-(0[1-9]|1[0-2])")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartedAction:
    action: AdminAction
    action_id: str
    changed: ActionNotes = field(default_factory=ActionNotes)

    @contextmanager
    def notes(self) -> Iterator[None]:
        """Collect the changes that use cases note in the block."""
        token = CURRENT_NOTES.set(self.changed)
        try:
            yield
        finally:
            CURRENT_NOTES.reset(token)


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return OK
    return error.code if isinstance(error, TidingsError) else Code.INTERNAL


class AuditLog:
    def __init__(self, store: AuditStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @asynccontextmanager
    async def action(self, action: AdminAction) -> AsyncIterator[None]:
        """Record the action of the block. Raises, without running the block, if its start cannot be recorded."""
        started = await self.start(action)
        try:
            with started.notes():
                yield
        except BaseException as error:
            await self.finish(started, error)
            raise
        await self.finish(started, None)

    async def start(self, action: AdminAction) -> "StartedAction":
        """Record the start. The caller must not act if this raises."""
        action_id = new_ulid()
        await self._store.append(record_of(action, action_id, action_id))
        return StartedAction(action, action_id)

    async def finish(self, started: "StartedAction", error: BaseException | None) -> None:
        """Record the end. Never raises for the store: the action has been applied, and a failure now would deny it."""
        changed = started.changed
        record = record_of(
            started.action,
            new_ulid_after(started.action_id),
            started.action_id,
            outcome=_outcome(error),
            before=changed.before,
            after=changed.after,
        )
        try:
            await self._store.append(record)
        except TidingsError as failed:
            log.error("the end of action %s was not recorded: %s", started.action_id, failed)  # noqa: TRY400 - no defect

    async def page(
        self, tenant: TenantId | None, month: str | None, limit: int, before: str | None
    ) -> AuditPage:
        """Return records of a month, newest first. None: of the current month."""
        asked = _check_month(month) if month else format_ms(self._clock.now_ms())[:7]
        return await self._store.page(tenant, asked, limit, after=before, newest_first=True)

    async def export(
        self, tenant: TenantId | None, *, since: str | None, after: str | None, until_ms: int
    ) -> AsyncIterator[AuditRecord]:
        """Return the records up to a time, oldest first, from the month `since` on or after the record `after`.

        Processes stamp records by their own clocks. Choose `until_ms` some seconds ago, so that no record appears
        below a cursor that was read.
        """
        month = _month_of_cursor(after) if after else _check_month(since) if since else None
        end = min_ulid(until_ms)
        month = month or month_of(end)
        while month <= month_of(end):
            async for record in self._month(tenant, month, after):
                if record.id >= end:
                    return
                yield record
            month = next_month(month)

    async def _month(
        self, tenant: TenantId | None, month: str, after: str | None
    ) -> AsyncIterator[AuditRecord]:
        last = after
        while True:
            page = await self._store.page(tenant, month, _EXPORT_PAGE, after=last, newest_first=False)
            for record in page.records:
                yield record
            if (last := page.last) is None:
                return


def _check_month(month: str) -> str:
    if _MONTH.fullmatch(month):
        return month
    raise TidingsError(Code.REQUEST_INVALID, f"{month!r} is not a month. Write it as 2026-11.")


def _month_of_cursor(record_id: str) -> str:
    try:
        return month_of(record_id)
    except ValueError as error:
        raise TidingsError(
            Code.REQUEST_INVALID, f"{record_id!r} is not the id of an audit record."
        ) from error
