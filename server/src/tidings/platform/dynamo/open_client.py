"""Open clients for an endpoint: AWS, or a local engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.platform.dynamo import credentials
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.credentials import LOCAL_KEYS, AwsKeys, StaticCredentials, find_keys
from tidings.platform.dynamo.streams import StreamsClient
from tidings.platform.dynamo.transport import DYNAMODB, CallLimits, ServiceProfile, Transport

_LIMITS = CallLimits()


@asynccontextmanager
async def open_client(
    endpoint: str,
    region: str,
    table_prefix: str,
    *,
    keys: AwsKeys | None = None,
    limits: CallLimits = _LIMITS,
    measure: bool = False,
) -> AsyncIterator[DynamoClient]:
    """Open a client. `endpoint` is "aws" or a URL. Without `keys`, botocore finds those of AWS; others get dummies."""
    client = DynamoClient(
        await make_transport(endpoint, credentials.DYNAMODB, region, keys, limits),
        table_prefix,
        measure=measure,
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
    keys: AwsKeys | None = None,
    limits: CallLimits = _LIMITS,
) -> AsyncIterator[StreamsClient]:
    streams = StreamsClient(
        await make_transport(endpoint, credentials.STREAMS, region, keys, limits), table_prefix
    )
    try:
        yield streams
    finally:
        streams.close()


async def make_transport(
    endpoint: str,
    service: str,
    region: str,
    keys: AwsKeys | None,
    limits: CallLimits,
    *,
    dialect: ServiceProfile = DYNAMODB,
) -> Transport:
    """Return the transport to an AWS service with a JSON protocol. `service` is botocore's name for it."""
    if endpoint != credentials.AWS:
        return Transport(
            credentials.parse_endpoint(endpoint),
            region,
            StaticCredentials(keys or LOCAL_KEYS),
            limits,
            dialect=dialect,
        )
    import botocore.session  # noqa: PLC0415 - takes half a second, needed for AWS only

    session = botocore.session.get_session()
    aws = await asyncio.to_thread(credentials.aws_endpoint, session, service, region)
    source = StaticCredentials(keys) if keys else await find_keys(session)
    return Transport(aws, region, source, limits, dialect=dialect)
