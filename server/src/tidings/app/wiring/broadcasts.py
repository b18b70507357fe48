"""Build the services of broadcasts and segments."""

from dataclasses import dataclass

from tidings.inboxes.broadcasts.estimates import ReachEstimator
from tidings.inboxes.broadcasts.log import (
    FRESH_S,
    BroadcastLogCache,
    BroadcastLogPublisher,
    BroadcastRollout,
    LogAppender,
)
from tidings.inboxes.broadcasts.log_store import DynamoBroadcastLog
from tidings.inboxes.broadcasts.ports import ProfileStore, Snapshots
from tidings.inboxes.broadcasts.segment_store import DynamoProfileStore, DynamoSegmentStore
from tidings.inboxes.broadcasts.segments import BroadcastTargeting, ProfileService, SegmentService
from tidings.kernel.clock import Clock
from tidings.platform.dynamo.client import DynamoClient


@dataclass(frozen=True, slots=True)
class BroadcastServices:
    logs: BroadcastLogCache
    appender: LogAppender
    segments: SegmentService
    profiles: ProfileStore
    targeting: BroadcastTargeting
    rollout: BroadcastRollout
    profile_service: ProfileService
    reach: ReachEstimator


def build_broadcasts(
    client: DynamoClient,
    clock: Clock,
    snapshots: Snapshots,
    fresh_s: float = FRESH_S,
    publisher: BroadcastLogPublisher | None = None,
) -> BroadcastServices:
    log, profiles = DynamoBroadcastLog(client), DynamoProfileStore(client)
    logs = BroadcastLogCache(log, snapshots, clock, fresh_s=fresh_s)
    segments = SegmentService(DynamoSegmentStore(client), profiles, clock)
    appender = LogAppender(log, logs, clock, publisher)
    return BroadcastServices(
        logs=logs,
        appender=appender,
        segments=segments,
        profiles=profiles,
        targeting=BroadcastTargeting(logs, segments, profiles),
        rollout=BroadcastRollout(appender),
        profile_service=ProfileService(profiles, clock),
        reach=ReachEstimator(segments, profiles),
    )
