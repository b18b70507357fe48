"""Joins the logs of broadcasts, their followers, segments and profiles."""

from dataclasses import dataclass

from tidings.broadcasts.announce import BroadcastRollout
from tidings.broadcasts.append import LogAppender
from tidings.broadcasts.audience import BroadcastTargeting
from tidings.broadcasts.estimate import ReachEstimator
from tidings.broadcasts.follow import FRESH_S, BroadcastLogCache
from tidings.broadcasts.people import ProfileService
from tidings.broadcasts.ports import BroadcastLogNotifier, ProfileStore, Snapshots
from tidings.broadcasts.segments import SegmentService
from tidings.broadcasts.store import DynamoBroadcastLog, DynamoProfileStore, DynamoSegmentStore
from tidings.kernel.clock import Clock
from tidings.notices.ports import NoBroadcastLogNotifier
from tidings.platform.dynamo.client import DynamoClient


@dataclass(frozen=True, slots=True)
class BroadcastServices:
    followers: BroadcastLogCache
    append: LogAppender
    segments: SegmentService
    profiles: ProfileStore
    audience: BroadcastTargeting
    announce: BroadcastRollout
    profile_service: ProfileService
    estimate: ReachEstimator


def build_broadcasts(
    client: DynamoClient,
    clock: Clock,
    snapshots: Snapshots,
    fresh_s: float = FRESH_S,
    notifier: BroadcastLogNotifier | None = None,
) -> BroadcastServices:
    log, profiles = DynamoBroadcastLog(client), DynamoProfileStore(client)
    followers = BroadcastLogCache(log, snapshots, clock, fresh_s=fresh_s)
    segments = SegmentService(DynamoSegmentStore(client), profiles, clock)
    append = LogAppender(log, followers, clock, notifier or NoBroadcastLogNotifier())
    return BroadcastServices(
        followers=followers,
        append=append,
        segments=segments,
        profiles=profiles,
        audience=BroadcastTargeting(followers, segments, profiles),
        announce=BroadcastRollout(append),
        profile_service=ProfileService(profiles, clock),
        estimate=ReachEstimator(segments, profiles),
    )
