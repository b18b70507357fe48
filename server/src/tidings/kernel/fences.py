"""Tell an event that was lost from one that waits behind its consumers' lag.

Whoever misses the effect of an event notes where the log of the event's partition ends: the fence. Once the consumers
have committed past the fence, everything that was published before it has been handled. An effect that is still
missing then was lost, and publishing the event again can help; before that, it would only make the lag longer.
"""

from typing import NamedTuple


class PartitionProgress(NamedTuple):
    """The end of a partition's log, and the offset up to which its consumers have handled it."""

    partition: int
    end: int
    committed: int


class OffsetFence(NamedTuple):
    """An offset above everything that was published to the partition when the fence was noted."""

    partition: int
    offset: int


def fence_at(reached: PartitionProgress) -> OffsetFence:
    return OffsetFence(reached.partition, reached.end)


def is_explained_by_lag(fence: OffsetFence, reached: PartitionProgress) -> bool:
    """Tell whether the event may still lie in the log, unhandled, below the fence.

    A log that ends below its fence was lost and created again: it explains nothing. Nor does another partition.
    """
    if fence.partition != reached.partition or reached.end < fence.offset:
        return False
    return reached.committed < fence.offset
