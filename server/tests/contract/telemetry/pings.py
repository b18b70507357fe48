"""Pings by the real clients, as processes will have them: a read of DynamoDB, a record acknowledged, a GET."""

from tidings.platform.dynamo.access import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.channel import Channel, Limits
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.credentials import LOCAL_KEYS, FixedKeys
from tidings.platform.dynamo.endpoints import parse
from tidings.platform.dynamo.errors import MissingError
from tidings.platform.kafka.connection import Connection
from tidings.platform.kafka.publisher import Publisher
from tidings.platform.lifecycle.probe import Ping
from tidings.platform.redis.client import Redis
from tidings.platform.redis.options import Options

TOPIC = "pings"
_READ = AccessPattern("sample.ping", ("leases",), Operation.GET_ITEM, Consistency.STRONG, "Does it answer?")


def dynamo(host: str, port: int) -> Ping:
    """A table that is not there is an answer, too."""
    channel = Channel(parse(f"http://{host}:{port}"), "us-east-1", FixedKeys(LOCAL_KEYS), Limits())
    client = Client(channel, "sample-")

    async def ping() -> None:
        try:
            await client.get(_READ, {"lease": "_system#ping"})
        except MissingError:
            return

    return ping


def kafka(host: str, port: int) -> Ping:
    publisher = Publisher(Connection(bootstrap_servers=f"{host}:{port}"))

    async def ping() -> None:
        await publisher.send(TOPIC, None, b"ping")

    return ping


def redis(host: str, port: int) -> Ping:
    client = Redis(Options.from_url(f"redis://{host}:{port}"))

    async def ping() -> None:
        await client.read("GET", client.keys.key("_system", "sample", "ping"))

    return ping
