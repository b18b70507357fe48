"""Joins signs with the stores: who tells of gains, and what a gateway reads for devices that look."""

from tidings.chats.store import DynamoRows
from tidings.delivery.store import DynamoWatermarks
from tidings.gateway.signs.desk import SignOptions, SignWorld
from tidings.kernel.clock import Clock
from tidings.platform.dynamo.client import Client
from tidings.platform.lifecycle.run import Host
from tidings.platform.redis.client import Redis
from tidings.platform.telemetry import logs
from tidings.routing.store import RedisLine, RedisRoutes
from tidings.run.settings import Settings
from tidings.signs.telling import Telling
from tidings.signs.whole import Whole

log = logs.get(__name__)

_NO_LEASE_S = 1.0
"""Who tells takes none."""


def telling(settings: Settings, redis: Redis, host: Host) -> Telling:
    """For every process in which people get further."""
    routes = RedisRoutes(redis, lease_s=_NO_LEASE_S)
    made = Telling(RedisLine(redis), routes, within_s=settings.signs.receipts_within_s, report=_report)
    told = made.told
    host.metrics.tallies(
        "receipts_total",
        "Watermarks that rose; words about them to chats and to users' own devices; those that Redis did not take.",
        "what",
        lambda: {"gains": told.gains, "words": told.words, "own": told.own, "lost": told.lost},
    )
    return made


def sign_world(settings: Settings, client: Client, redis: Redis, clock: Clock) -> SignWorld:
    given = settings.signs
    return SignWorld(
        line=RedisLine(redis),
        whole=Whole(DynamoRows(client, clock), DynamoWatermarks(client, clock)),
        options=SignOptions(receipts_within_s=given.receipts_within_s, subscriptions=given.max_subscriptions),
    )


def _report(what: str, error: BaseException) -> None:
    log.error(what, exc_info=error)
