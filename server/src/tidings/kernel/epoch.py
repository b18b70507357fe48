"""The installation's epoch as a port: asked for whatever is written or told now, never kept.

An epoch is the second in which a restore was finished, and 0 until there was one: so no two are ever alike, also where
a copy from before an earlier restore is put back.
"""

from collections.abc import Callable

type Epoch = Callable[[], int]


def initial_epoch() -> int:
    return 0
