"""Start the engines of `tidings dev`, and create its tables, topics and bucket. All functions block."""

import asyncio
import dataclasses
from dataclasses import dataclass
from time import sleep
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from tidings.app.settings import Settings
from tidings.app.settings.loader import Key, LoadedSettings
from tidings.app.settings.model import DynamoSettings
from tidings.app.wiring import schema
from tidings.app.wiring.media import has_decoder, s3_options
from tidings.engines.jars import OnDownloadProgress, cache_in
from tidings.engines.local_cluster import RUNNERS, LocalCluster
from tidings.engines.model import CHAT_ENGINES, Engine, RunningEngine, StartRequest
from tidings.engines.seaweedfs import default_engines
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.redis.options import RedisOptions
from tidings.platform.s3.client import open_s3
from tidings.schema.plan import SchemaPlan
from tidings.schema.reconcile import ProgressEvent
from tidings.schema.tables.apply import apply_tables
from tidings.schema.topics.control_plane import apply_topics


def create_tables(settings: DynamoSettings) -> str:
    plane = schema.tables_control_plane(settings)
    plan = schema.tables_plan(plane, settings)
    apply_tables(plane, plan, _silent)
    return _step_text(plan)


def create_topics(settings: Settings) -> str:
    plane = schema.topics_control_plane(settings.kafka)
    plan = schema.topics_plan(plane, settings.kafka)
    apply_topics(plane, plan, _silent)
    return _step_text(plan)


def create_bucket(settings: Settings) -> str:
    """Create the bucket of attachments in the local store."""
    options = s3_options(settings)
    if options is None:
        return "no store: attachments are off"

    async def act() -> None:
        async with open_s3(options) as s3:
            await s3.create_bucket()

    asyncio.run(act())
    return options.bucket


def _step_text(plan: SchemaPlan[Any, Any, Any]) -> str:
    count = len(plan.entries)
    return f"{count}, {plan.todo} created or changed" if plan.todo else f"{count} as declared"


def _silent(step: ProgressEvent) -> None:
    """Ignore the progress: the console shows a spinner."""


_POLL_S = 0.1
_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


def wanted_engines() -> frozenset[Engine]:
    """Return the engines to start. Without the extra `media` there are no attachments, and no S3."""
    return default_engines() if has_decoder() else CHAT_ENGINES


@dataclass(slots=True)
class DevEngines:
    """`were_running`: engines that ran before; `tidings dev` does not stop them."""

    cluster: LocalCluster
    request: StartRequest
    were_running: list[RunningEngine]
    dynamo_is_elsewhere: bool

    @classmethod
    def of(cls, loaded: LoadedSettings) -> "DevEngines":
        require_local(loaded)
        chosen, away = loaded.settings.engines, remote_engines(loaded)
        cache = cache_in(chosen.cache_dir)
        cluster = LocalCluster(chosen.data_dir, cache, dies_with_us=True)
        running = [each for each in cluster.status() if each.is_alive]
        return cls(
            cluster,
            _start_request(loaded, running, wanted_engines() - away.keys()),
            running,
            Engine.DYNAMO in away,
        )

    def start(self, progress: OnDownloadProgress) -> list[str]:
        """Start the engines and return their versions. Call it in the main thread: the engines end with that thread."""
        started = dataclasses.replace(self.cluster, progress=progress).start(self.request)
        return [RUNNERS[each.node.kind].version() for each in started]

    def dynamo_when_ready(self, settings: DynamoSettings) -> DynamoSettings:
        """Wait until DynamoDB answers and return settings with its endpoint. Runs in a thread while `start` waits for all."""
        while not self.dynamo_is_elsewhere:
            for each in self.cluster.status():
                if each.node.engine is Engine.DYNAMO and RUNNERS[each.node.kind].is_ready(each.node):
                    return replace(settings, endpoint=f"http://{each.node.address}")
            sleep(_POLL_S)
        return settings

    def wipe(self) -> None:
        if self.dynamo_is_elsewhere:
            raise TidingsError(
                Code.SETTINGS_INVALID,
                "--fresh deletes the data of this directory's engines, but dynamo.endpoint names another DynamoDB.",
                hint="Empty that DynamoDB yourself, or unset dynamo.endpoint.",
            )
        if self.cluster.home.exists():
            self.cluster.wipe()

    def stop(self) -> list[str]:
        if self.were_running:
            return []
        return [each.node.name for each in self.cluster.stop()]


def _start_request(
    loaded: LoadedSettings, running: list[RunningEngine], wanted: frozenset[Engine]
) -> StartRequest:
    """Request the same form as the running engines; if none runs, data on disk, so that it survives a restart."""
    chosen = loaded.settings.engines
    by_engine = {each.node.engine: each.node for each in running}
    dynamo, broker = by_engine.get(Engine.DYNAMO), by_engine.get(Engine.KAFKA)
    return StartRequest(
        engines=wanted,
        dynamo="dynoxide" if (dynamo.kind if dynamo else chosen.dynamo) == "dynoxide" else "local",
        on_disk=running[0].node.on_disk if running else True,
        kafka_brokers=len(broker.peers) if broker else chosen.kafka_brokers,
        ports={
            Engine.DYNAMO: chosen.dynamo_port,
            Engine.KAFKA: chosen.kafka_port,
            Engine.VALKEY: chosen.valkey_port,
            Engine.S3: chosen.s3_port,
        },
        ready_timeout_s=chosen.ready_timeout_s,
    )


def require_local(loaded: LoadedSettings) -> None:
    far = [name for name, hosts in _hosts(loaded).items() if not hosts <= _HERE]
    if far:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            f"{' and '.join(far)} name other machines, and `tidings dev` creates tables, topics and a tenant.",
            hint="Unset them here (`tidings config show` shows where they are set), or run the processes yourself: "
            "`tidings tables apply`, `tidings run api`.",
        )


def _hosts(loaded: LoadedSettings) -> dict[str, set[str]]:
    """Return the hosts of the engines whose address is set by the user."""
    settings, away = loaded.settings, remote_engines(loaded)
    hosts: dict[str, set[str]] = {}
    if Engine.DYNAMO in away:
        hosts["dynamo.endpoint"] = {urlsplit(settings.dynamo.endpoint or "").hostname or "aws"}
    if Engine.KAFKA in away:
        servers = (settings.kafka.bootstrap_servers or "").split(",")
        hosts["kafka.bootstrap_servers"] = {server.rpartition(":")[0] for server in servers}
    if Engine.VALKEY in away and settings.redis.url:
        hosts["redis.url"] = {str(seed[0]) for seed in RedisOptions.from_url(settings.redis.url).seeds}
    if Engine.S3 in away:
        hosts["media.endpoint"] = {urlsplit(settings.media.endpoint or "").hostname or "aws"}
    return hosts


_ENDPOINT_SETTINGS: dict[Engine, Key] = {
    Engine.DYNAMO: ("dynamo", "endpoint"),
    Engine.KAFKA: ("kafka", "bootstrap_servers"),
    Engine.VALKEY: ("redis", "url"),
    Engine.S3: ("media", "endpoint"),
    Engine.OPENSEARCH: ("search", "url"),
}


def remote_engines(loaded: LoadedSettings) -> dict[Engine, str]:
    """Return the engines that the settings place elsewhere: AWS, MSK, ElastiCache, another machine."""
    return {
        engine: str(getattr(getattr(loaded.settings, section), name))
        for engine, (section, name) in _ENDPOINT_SETTINGS.items()
        if loaded.sources.get((section, name)) not in (None, "running engines")
    }
