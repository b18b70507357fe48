"""Pings by the real clients, as processes will have them: a read of DynamoDB, a record acknowledged, a GET."""

from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.credentials import LOCAL_KEYS, StaticCredentials, parse_endpoint
from tidings.platform.dynamo.errors import NotFoundError
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.transport import CallLimits, Transport
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.component import Ping
from tidings.platform.redis.client import RedisClient
from tidings.platform.redis.options import RedisOptions

TOPIC = "pings"
_READ = AccessPattern("sample.ping", ("leases",), Operation.GET_ITEM, Consistency.STRONG, "Does it answer?")


def dynamo(host: str, port: int) -> Ping:
    """A missing table counts as an answer too."""
    channel = Transport(
        parse_endpoint(f"http://{host}:{port}"), "us-east-1", StaticCredentials(LOCAL_KEYS), CallLimits()
    )
    client = DynamoClient(channel, "sample-")

    async def ping() -> None:
        try:
            await client.get(_READ, {"lease": "_system#ping"})
        except NotFoundError:
            return

    return ping


def kafka(host: str, port: int) -> Ping:
    publisher = KafkaPublisher(KafkaConfig(bootstrap_servers=f"{host}:{port}"))

    async def ping() -> None:
        await publisher.send(TOPIC, None, b"ping")

    return ping


def redis(host: str, port: int) -> Ping:
    client = RedisClient(RedisOptions.from_url(f"redis://{host}:{port}"))

    async def ping() -> None:
        await client.read("GET", client.keys.key("_system", "sample", "ping"))

    return ping
