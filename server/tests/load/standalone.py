"""Run a load test outside of pytest: an installation on engines of its own, in a temporary directory."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fixtures.installation_processes import SHORT_SESSION, InstallationProcesses, installation_on

from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import CHAT_ENGINES, Engine, StartRequest


@contextmanager
def standalone_installation(
    *extra: Engine, kafka_extra: dict[str, str] = SHORT_SESSION
) -> Iterator[InstallationProcesses]:
    """Start the engines of chats and `extra`, and an installation with a tenant."""
    with tempfile.TemporaryDirectory() as home:
        fleet = LocalCluster(Path(home) / "engines", default_cache(), dies_with_us=True)
        fleet.start(
            StartRequest(engines=CHAT_ENGINES.union(extra), dynamo="dynoxide", kafka_extra=kafka_extra)
        )
        try:
            directory = Path(home) / "processes"
            directory.mkdir()
            with installation_on(fleet, "dynoxide", directory) as installation:
                asyncio.run(installation.create_tenant())
                yield installation
        finally:
            fleet.stop()


def s3_url(fleet: LocalCluster) -> str:
    """Return the address of the bucket, of engines that were started with `Engine.S3`."""
    nodes = [each.node for each in fleet.status()]
    return "http://" + next(node.address for node in nodes if node.engine is Engine.S3)
