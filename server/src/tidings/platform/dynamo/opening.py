"""Opens clients for an installation's endpoint: AWS, or an engine that speaks its protocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.platform.dynamo import endpoints
from tidings.platform.dynamo.channel import DYNAMODB, Channel, Dialect, Limits
from tidings.platform.dynamo.client import Client
from tidings.platform.dynamo.credentials import LOCAL_KEYS, FixedKeys, Keys, find_keys
from tidings.platform.dynamo.streams import Streams

_LIMITS = Limits()


@asynccontextmanager
async def open_client(
    endpoint: str,
    region: str,
    table_prefix: str,
    *,
    keys: Keys | None = None,
    limits: Limits = _LIMITS,
    measure: bool = False,
) -> AsyncIterator[Client]:
    """`endpoint` is "aws" or a URL. Without `keys`, AWS gets those that botocore finds and others get dummies."""
    client = Client(
        await make_channel(endpoint, endpoints.DYNAMODB, region, keys, limits), table_prefix, measure=measure
    )
    try:
        yield client
    finally:
        client.close()


@asynccontextmanager
async def open_streams(
    endpoint: str,
    region: str,
    table_prefix: str,
    *,
    keys: Keys | None = None,
    limits: Limits = _LIMITS,
) -> AsyncIterator[Streams]:
    streams = Streams(await make_channel(endpoint, endpoints.STREAMS, region, keys, limits), table_prefix)
    try:
        yield streams
    finally:
        streams.close()


async def make_channel(
    endpoint: str,
    service: str,
    region: str,
    keys: Keys | None,
    limits: Limits,
    *,
    dialect: Dialect = DYNAMODB,
) -> Channel:
    """To any service of AWS that takes a target and JSON; `service` is botocore's name for it."""
    if endpoint != endpoints.AWS:
        return Channel(
            endpoints.parse(endpoint), region, FixedKeys(keys or LOCAL_KEYS), limits, dialect=dialect
        )
    import botocore.session  # noqa: PLC0415 - half a second to load, and for AWS only

    session = botocore.session.get_session()
    place = await asyncio.to_thread(endpoints.aws_endpoint, session, service, region)
    source = FixedKeys(keys) if keys else await find_keys(session)
    return Channel(place, region, source, limits, dialect=dialect)
