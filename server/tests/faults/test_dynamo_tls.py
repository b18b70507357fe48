"""TLS works, and an invalid certificate ends the connection."""

import ssl

import pytest
import trustme

from faults.dynamo_calls import (
    GET,
    ITEM,
    KEY,
    LOOPS,
    PUT,
    QUICK,
    REGION,
    run,
)
from faults.hostile_server import (
    HostileServer,
    hostile_server,
    tell,
)
from tidings.platform.dynamo import credentials, errors
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.credentials import LOCAL_KEYS, StaticCredentials
from tidings.platform.dynamo.transport import Transport

each_loop = pytest.mark.parametrize("loop", LOOPS)


async def over_tls(server: HostileServer, authority: trustme.CA) -> DynamoClient:
    endpoint = credentials.parse_endpoint(server.url)
    assert endpoint.tls is not None
    authority.configure_trust(endpoint.tls)
    channel = Transport(endpoint, REGION, StaticCredentials(LOCAL_KEYS), QUICK)
    return DynamoClient(channel, "test-")


def server_side(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


@each_loop
def test_tls_passes_a_large_answer(loop: str) -> None:
    async def check() -> None:
        authority = trustme.CA()
        large = "x" * 300_000
        async with hostile_server(
            tell(Item={"pk": {"S": large}}), tls=server_side(authority, "127.0.0.1")
        ) as server:
            client = await over_tls(server, authority)
            assert await client.get(GET, KEY) == {"pk": large}
            await client.put(PUT, ITEM)
            assert [request.connection for request in server.requests] == [1, 1]
            client.close()

    run(loop, check())


@each_loop
@pytest.mark.parametrize("fault", ["another name", "another authority"])
def test_an_invalid_certificate_is_refused_before_any_request_is_sent(loop: str, fault: str) -> None:
    async def check() -> None:
        authority = trustme.CA()
        name = "elsewhere.example" if fault == "another name" else "127.0.0.1"
        trusted = trustme.CA() if fault == "another authority" else authority
        async with hostile_server(tls=server_side(authority, name)) as server:
            client = await over_tls(server, trusted)
            with pytest.raises(errors.NotSentError, match="certificate") as caught:
                await client.put(PUT, ITEM)
            assert not caught.value.transient
            assert not server.requests
            client.close()

    run(loop, check())
