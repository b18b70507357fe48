"""Number pairs of integers densely and assign a range of positions to each pair, to store sparse tables in flat arrays."""

from typing import Final, final

import numpy as np

from tidings_harness.history.events import Numbers

_MAX_TABLE: Final = 2**27


@final
class PairIndex:
    """Dense numbers (cells) for the pairs `(one, other)` that occur.

    Construction takes linear time while a table of all pairs fits in memory; otherwise it sorts the pairs.
    """

    def __init__(self, one: Numbers, other: Numbers) -> None:
        self._width = int(other.max(initial=0)) + 1
        codes = self._code(one, other)
        size = int(codes.max(initial=0)) + 1
        self._table: Numbers | None = None
        if size <= _MAX_TABLE:
            table = np.zeros(size, np.int64)
            table[codes] = 1
            self._codes = np.flatnonzero(table)
            table[self._codes] = np.arange(1, len(self._codes) + 1)
            self._table = table - 1
        else:
            self._codes = np.unique(codes)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def one(self) -> Numbers:
        return self._codes // self._width

    @property
    def other(self) -> Numbers:
        return self._codes % self._width

    def find(self, one: Numbers, other: Numbers) -> Numbers:
        """Return the cells of pairs; -1 for a pair without a cell."""
        codes = self._code(one, other)
        codes = np.where((other >= self._width) | (other < 0) | (one < 0), -1, codes)
        if self._table is not None:
            inside = (codes >= 0) & (codes < len(self._table))
            return np.where(inside, self._table[np.where(inside, codes, 0)], -1)
        places = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        return np.where(self._codes[places] == codes, places, -1)

    def known(self, one: Numbers, other: Numbers) -> Numbers:
        """Return the cells of pairs that certainly have one, without a check."""
        codes = self._code(one, other)
        return self._table[codes] if self._table is not None else np.searchsorted(self._codes, codes)

    def _code(self, one: Numbers, other: Numbers) -> Numbers:
        return one * self._width + other


def starts(lengths: Numbers) -> Numbers:
    """Return the start of each range in a flat array, and the end of the last range."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
