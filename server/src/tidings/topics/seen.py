"""A topic as the brokers tell of it, read from their metadata and configuration. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

RETENTION, CLEANUP, MIN_IN_SYNC = "retention.ms", "cleanup.policy", "min.insync.replicas"
MAX_MESSAGE, UNCLEAN = "max.message.bytes", "unclean.leader.election.enable"


@dataclass(frozen=True, slots=True)
class ObservedPartition:
    has_leader: bool
    replicas: int
    in_sync: int


@dataclass(frozen=True, slots=True)
class ObservedTopic:
    """What stands there now."""

    name: str
    partitions: tuple[ObservedPartition, ...]
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def replicas(self) -> int:
        """Of the partition that has fewest."""
        return min((part.replicas for part in self.partitions), default=0)

    @property
    def is_stable(self) -> bool:
        """Every partition takes writes, from every copy that there is."""
        return bool(self.partitions) and all(
            part.has_leader and part.in_sync == part.replicas for part in self.partitions
        )
