"""Chunks of jobs on their way to the workers: the publisher as a component. It never gates readiness.

Without Kafka a job is found by who looks after what is due: everything comes, some seconds later.
"""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

from tidings.jobs.model import ChunkRef
from tidings.jobs.ports import Chunks
from tidings.jobs.store import KafkaChunks
from tidings.platform.kafka.connection import Connection
from tidings.platform.kafka.publisher import Publisher
from tidings.run.held import Held
from tidings.run.settings import Settings

_CLOSE_S = 3.0


class Unpublished:
    """Where there is no Kafka."""

    def publish(self, refs: Collection[ChunkRef]) -> None:
        pass


def connection_of(settings: Settings) -> Connection:
    kafka = settings.kafka
    if kafka.bootstrap_servers is None:
        raise ValueError("kafka.bootstrap_servers: is missing; or run `tidings engines start`")
    return Connection(
        bootstrap_servers=kafka.bootstrap_servers,
        topic_prefix=kafka.topic_prefix,
        security_protocol=kafka.security_protocol,
        sasl_mechanism=kafka.sasl_mechanism,
        sasl_username=kafka.sasl_username,
        sasl_password=kafka.sasl_password,
        ca_file=kafka.ca_file,
    )


def held_publisher(settings: Settings) -> Held[Publisher]:
    return Held("chunk_publisher", lambda: open_publisher(settings), gates_readiness=False)


def held_chunks(settings: Settings) -> Held[Chunks]:
    return Held("chunks", lambda: _open_chunks(settings), gates_readiness=False)


@asynccontextmanager
async def open_publisher(settings: Settings) -> AsyncIterator[Publisher]:
    made = Publisher(connection_of(settings))
    try:
        yield made
    finally:
        await made.close(_CLOSE_S)


@asynccontextmanager
async def _open_chunks(settings: Settings) -> AsyncIterator[Chunks]:
    if settings.kafka.bootstrap_servers is None:
        yield Unpublished()
        return
    async with open_publisher(settings) as publisher:
        yield KafkaChunks(publisher)
