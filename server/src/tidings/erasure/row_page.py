"""Delete rows up to a number, and count them by table."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tidings.erasure.ports import TenantRows

READ_ROWS: Final = 100

type IsMeant = Callable[[Mapping[str, Any]], bool]


class RowPage:
    """One page of a step. `left`: how many more rows it deletes. Deleted rows are counted once: a repeat finds none."""

    def __init__(self, rows: TenantRows, left: int) -> None:
        self._rows = rows
        self.left = left
        self.counts: dict[str, int] = {}

    @property
    def limit(self) -> int:
        return max(1, min(self.left, READ_ROWS))

    async def partition(self, table: str, key: str, is_meant: IsMeant | None = None) -> bool:
        """Delete a partition. False: rows remain, because the page is full."""
        return await self._delete(table, key, "", is_meant)

    async def prefixed(self, table: str, key: str, prefix: str) -> bool:
        """Delete the rows of a partition whose sort key has a prefix."""
        return await self._delete(table, key, prefix, None)

    async def row(self, table: str, row: Mapping[str, Any]) -> None:
        """Delete one row that was read before."""
        await self.rows(table, [row])

    async def rows(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Delete rows that were read before."""
        await self._rows.delete(table, rows)
        self._count(table, len(rows))

    async def _delete(self, table: str, key: str, prefix: str, is_meant: IsMeant | None) -> bool:
        after = None
        while self.left > 0:
            found = await self._rows.list(table, key, self.limit, prefix=prefix, after=after)
            if not found:
                return True
            meant = [row for row in found if is_meant is None or is_meant(row)]
            if meant:
                await self.rows(table, meant)
            after = found[-1]
        return False

    def _count(self, table: str, rows: int) -> None:
        self.counts[table] = self.counts.get(table, 0) + rows
        self.left -= rows
