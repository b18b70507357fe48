"""Check Redis or Valkey: does it answer, is it new enough, does it evict keys, is the cluster complete."""

from collections.abc import Iterator
from time import monotonic

from tidings.app.wiring.options import redis_options
from tidings.doctor.dynamo import check_clock
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok
from tidings.platform.redis.connection import call_blocking, open_blocking_socket
from tidings.platform.redis.options import RedisOptions
from tidings.platform.redis.pipeline import reply_reader

OLDEST = 7


_CHECK = "redis"
_NO_REDIS = (
    "Without Redis messages are stored and read, but not pushed, and each process counts rate limits alone."
)

type Info = dict[str, str]


def check_redis(context: DoctorContext) -> Iterator[Finding]:
    if context.loaded.settings.redis.url is None:
        todo = "`tidings engines start`, or `tidings dev`; or set redis.url."
        yield Finding(_CHECK, CheckState.WRONG, "redis.url is not set", _NO_REDIS, todo)
        return
    options = redis_options(context.loaded.settings)
    where = ",".join(str(seed) for seed in options.seeds)
    try:
        info, took_ms = _read_info(options)
    except Exception as error:  # noqa: BLE001 - any error is reported
        todo = "`tidings engines status` shows whether it runs here; otherwise check redis.url, its password and TLS."
        found = f"{where} does not answer: {str(error) or type(error).__name__}"
        yield Finding(_CHECK, CheckState.WRONG, found, _NO_REDIS, todo)
        return
    faults = list(check_info(info, is_cluster_set=options.is_cluster))
    name = (
        f"Valkey {info['valkey_version']}"
        if "valkey_version" in info
        else f"Redis {info.get('redis_version')}"
    )
    yield ok(_CHECK, f"{where} answers in {took_ms:.0f} ms ({name})")
    yield from faults
    if "server_time_usec" in info:
        ahead_s = context.clock.now().timestamp() - int(info["server_time_usec"]) / 1e6
        yield check_clock("Redis", ahead_s)


def _read_info(options: RedisOptions) -> tuple[Info, float]:
    """Read the state of one node on a plain connection: the client refuses a node that differs from the settings."""
    with open_blocking_socket(options, options.seeds[0]) as sock:
        answers = reply_reader()
        call_blocking(sock, answers, *options.hello)
        info = _fields(call_blocking(sock, answers, "INFO", "everything"))
        began = monotonic()
        call_blocking(sock, answers, "PING")
        took_ms = (monotonic() - began) * 1000
        if info.get("cluster_enabled") == "1":
            info |= _fields(call_blocking(sock, answers, "CLUSTER", "INFO"))
    return info, took_ms


def _fields(reply: object) -> Info:
    lines = (reply if isinstance(reply, bytes) else b"").decode(errors="replace").splitlines()
    return {name: value for name, colon, value in (line.partition(":") for line in lines) if colon}


def check_info(info: Info, *, is_cluster_set: bool) -> Iterator[Finding]:
    """Compare the state of a server with the needs of Tidings."""
    yield from _version(info)
    yield from _eviction(info)
    yield from _writes(info)
    yield from _cluster(info, is_set=is_cluster_set)


def _version(info: Info) -> Iterator[Finding]:
    version = info.get("valkey_version") or info.get("redis_version") or "0"
    if int(version.partition(".")[0]) < OLDEST:
        yield Finding(
            "redis version",
            CheckState.WRONG,
            f"{version} is too old",
            "Pushes go over sharded channels, which came with 7.0.",
            "Run Redis 7 or newer, or Valkey.",
        )


def _eviction(info: Info) -> Iterator[Finding]:
    policy = info.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        yield Finding(
            "redis memory",
            CheckState.WARNING,
            f"maxmemory-policy is {policy}",
            "A full server deletes routes of connected devices: they receive no pushes until they resume.",
            "CONFIG SET maxmemory-policy noeviction (on AWS in the parameter group), and watch its memory.",
        )


def _writes(info: Info) -> Iterator[Finding]:
    if info.get("role") == "slave":
        yield Finding(
            "redis role",
            CheckState.WRONG,
            f"it is a replica of {info.get('master_host')}:{info.get('master_port')}",
            "A replica accepts no writes, so no device can register.",
            "Set redis.url to the primary.",
        )
    failed = [
        name for name in ("rdb_last_bgsave_status", "aof_last_write_status") if info.get(name, "ok") != "ok"
    ]
    if failed:
        yield Finding(
            "redis persistence",
            CheckState.WRONG,
            f"it can't write to its disk ({', '.join(failed)})",
            "A server in this state refuses writes.",
            'Check its disk and its log; Tidings needs no persistence: `save ""` and `appendonly no` are fine.',
        )


def _cluster(info: Info, *, is_set: bool) -> Iterator[Finding]:
    is_cluster = info.get("cluster_enabled") == "1"
    if is_cluster != is_set:
        what = "belongs to a cluster" if is_cluster else "belongs to no cluster"
        yield Finding(
            "redis cluster",
            CheckState.WRONG,
            f"the node {what}, and redis.is_cluster is {str(is_set).lower()}",
            "Commands would go to nodes that don't have the keys, or wait for nodes that don't exist.",
            f"Set redis.is_cluster to {str(is_cluster).lower()}.",
        )
    elif is_cluster and info.get("cluster_state") != "ok":
        yield Finding(
            "redis cluster",
            CheckState.WRONG,
            f"the cluster's state is {info.get('cluster_state')}: "
            f"{info.get('cluster_slots_ok')} of 16384 slots are served",
            "Users in the other slots receive no pushes.",
            "`valkey-cli --cluster check` (or redis-cli) names the nodes that are missing.",
        )
