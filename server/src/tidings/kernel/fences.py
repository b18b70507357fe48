"""Distinguish a lost event from one that its consumers have not reached yet.

A process that misses the effect of an event notes the end of the event's partition: the fence. Once the consumers have
committed past the fence, they have handled every event that was published before it. If the effect is still missing
then, the event was lost and must be published again. Publishing it earlier would only increase the lag.
"""

from typing import NamedTuple


class PartitionProgress(NamedTuple):
    """The end of a partition's log, and the offset up to which its consumers have handled it."""

    partition: int
    end: int
    committed: int


class OffsetFence(NamedTuple):
    """An offset above every event that was in the partition when the fence was noted."""

    partition: int
    offset: int


def fence_at(reached: PartitionProgress) -> OffsetFence:
    return OffsetFence(reached.partition, reached.end)


def is_explained_by_lag(fence: OffsetFence, reached: PartitionProgress) -> bool:
    """Return whether the event may still be in the log below the fence, not handled yet.

    False if the log ends below the fence (it was lost and created again) or is of another partition.
    """
    if fence.partition != reached.partition or reached.end < fence.offset:
        return False
    return reached.committed < fence.offset
