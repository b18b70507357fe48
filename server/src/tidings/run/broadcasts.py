"""Joins the logs of broadcasts, their followers, segments and profiles."""

from dataclasses import dataclass

from tidings.broadcasts.announce import Announce
from tidings.broadcasts.append import Append
from tidings.broadcasts.audience import Audience
from tidings.broadcasts.estimate import Estimate
from tidings.broadcasts.follow import FRESH_S, Followers
from tidings.broadcasts.people import People
from tidings.broadcasts.ports import LogNews, ProfileStore, Snapshots
from tidings.broadcasts.segments import Segments
from tidings.broadcasts.store import DynamoLog, DynamoProfiles, DynamoSegments
from tidings.kernel.clock import Clock
from tidings.notices.ports import NobodyListens
from tidings.platform.dynamo.client import Client


@dataclass(frozen=True, slots=True)
class WideCases:
    followers: Followers
    append: Append
    segments: Segments
    profiles: ProfileStore
    audience: Audience
    announce: Announce
    people: People
    estimate: Estimate


def join_broadcasts(
    client: Client,
    clock: Clock,
    snapshots: Snapshots,
    fresh_s: float = FRESH_S,
    news: LogNews | None = None,
) -> WideCases:
    log, profiles = DynamoLog(client), DynamoProfiles(client)
    followers = Followers(log, snapshots, clock, fresh_s=fresh_s)
    segments = Segments(DynamoSegments(client), profiles, clock)
    append = Append(log, followers, clock, news or NobodyListens())
    return WideCases(
        followers=followers,
        append=append,
        segments=segments,
        profiles=profiles,
        audience=Audience(followers, segments, profiles),
        announce=Announce(append),
        people=People(profiles, clock),
        estimate=Estimate(segments, profiles),
    )
