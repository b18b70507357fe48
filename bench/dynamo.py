"""Compare the CPU per call of the DynamoDB client with aiobotocore and a plain socket, on a server with fixed answers.

The server is a separate process. Only the CPU time of the client counts, so other load has little effect.
"""

import argparse
import asyncio
import re
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast, override

import uvloop
from aiobotocore.session import get_session

from bench.report import Spread, print_figures, print_table
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.operations import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.requests import Put

BODY = b"{}"
ANSWER = (
    b"HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Sun, 15 Nov 2026 02:00:00 GMT\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n"
    b"x-amzn-RequestId: 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF\r\n"
    b"x-amz-crc32: %d\r\n\r\n%b" % (zlib.crc32(BODY), BODY)
)
REGION = "us-east-1"
PREFIX = "tidings-"
TABLE = "messages"
ABSENT = "attribute_not_exists(chat_id)"
IN_FLIGHT = 16
ITEMS = 4

PUT = AccessPattern("bench-put", (TABLE,), Operation.PUT_ITEM, Consistency.WRITE, "measure a put")
TRANSACT = AccessPattern(
    "bench-transact", (TABLE,), Operation.TRANSACT_WRITE_ITEMS, Consistency.WRITE, "measure a transaction"
)

# One call with the given number.
type Call = Callable[[int], Awaitable[object]]


def entry(n: int) -> dict[str, Any]:
    """Return a typical log entry with 200 bytes of content."""
    return {
        "chat_id": "acme#01J8ZQ4M2Y9T6W3K5N7P0R1S2V",
        "sequence": n,
        "ordinal": n,
        "kind": "message",
        "message_id": f"01J8ZQ4M2Y9T6W3K5N7P0R1S2V-{n}",
        "sender_id": "01J8ZQ4M2Y9T6W3K5N7P0R1S2X",
        "client_message_id": "c2f1f9d0-2d2b-4b52-b6d2-6d5c5f0e9a11",
        "content": bytes(200),
        "fingerprint": bytes(32),
        "created_at": 1_789_000_000_123 + n,
    }


def tagged(item: dict[str, Any]) -> dict[str, Any]:
    """Return the same item for aiobotocore, which requires explicit types."""
    letters = {str: "S", int: "N", bytes: "B"}
    return {
        name: {letters[type(value)]: str(value) if isinstance(value, int) else value}
        for name, value in item.items()
    }


# Built before the measurement, because the caller builds items, not the client.
ENTRIES = [entry(n) for n in range(64)]
TAGGED = [tagged(item) for item in ENTRIES]


def picked[T](items: Sequence[T], n: int) -> T:
    return items[n % len(items)]


class CannedServer(asyncio.Protocol):
    """Answer every request with success."""

    LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)

    def __init__(self) -> None:
        self._pending = b""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        self._pending += data
        head, end, body = self._pending.partition(b"\r\n\r\n")
        length = self.LENGTH.search(head)
        if end and length and len(body) >= int(length[1]):
            self._pending = b""
            self._transport.write(ANSWER)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(CannedServer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


@contextmanager
def canned_server() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-m", "bench.dynamo", "--serve"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - the process has a pipe
            yield int(process.stdout.readline())
        finally:
            process.terminate()


async def cpu_us(call: Call, calls: int) -> float:
    """Return the CPU time per call with several calls in flight, after some calls to warm up."""

    async def worker(first: int, count: int) -> None:
        for n in range(first, first + count):
            await call(n)

    await asyncio.gather(*(worker(n, 3) for n in range(IN_FLIGHT)))
    each = calls // IN_FLIGHT
    before = time.process_time()
    await asyncio.gather(*(worker(n * each, each) for n in range(IN_FLIGHT)))
    return (time.process_time() - before) / (each * IN_FLIGHT) * 1e6


async def ours(port: int, calls: int, make: Callable[[DynamoClient], Call]) -> float:
    async with open_client(f"http://127.0.0.1:{port}", REGION, PREFIX) as client:
        return await cpu_us(make(client), calls)


def our_put(client: DynamoClient) -> Call:
    return lambda n: client.put(PUT, picked(ENTRIES, n), condition=ABSENT, repeatable=True)


def our_transact(client: DynamoClient) -> Call:
    def call(n: int) -> Awaitable[object]:
        puts = [Put(table=TABLE, item=picked(ENTRIES, n + k), condition=ABSENT) for k in range(ITEMS)]
        return client.transact_write(TRANSACT, puts, token=f"token-{n}")

    return call


async def theirs(port: int, calls: int, make: Callable[[Any], Call]) -> float:
    session = get_session()
    async with session.create_client(
        "dynamodb",
        region_name=REGION,
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the server does not verify credentials
    ) as client:
        return await cpu_us(make(client), calls)


def their_put(client: Any) -> Call:  # noqa: ANN401 - aiobotocore creates its classes at run time
    return lambda n: client.put_item(
        TableName=PREFIX + TABLE,
        Item=picked(TAGGED, n),
        ConditionExpression=ABSENT,
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )


def their_transact(client: Any) -> Call:  # noqa: ANN401 - as above
    def call(n: int) -> Awaitable[object]:
        puts = [
            {
                "Put": {
                    "TableName": PREFIX + TABLE,
                    "Item": picked(TAGGED, n + k),
                    "ConditionExpression": ABSENT,
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }
            }
            for k in range(ITEMS)
        ]
        answer: Awaitable[object] = client.transact_write_items(
            TransactItems=puts, ClientRequestToken=f"token-{n}"
        )
        return answer

    return call


def bare(port: int, calls: int) -> float:
    """Write the bytes of a put and read those of an answer on a blocking socket: the cost of the kernel alone."""
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1300\r\n\r\n" + bytes(1300)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = time.process_time()
        for _ in range(calls):
            connection.sendall(request)
            connection.recv(65536)
        return (time.process_time() - before) / calls * 1e6


def measure(port: int, rounds: int, calls: int) -> dict[str, Spread]:
    """Measure all contenders in turn in each round, so that a disturbance affects all of them."""
    few = max(IN_FLIGHT, calls // 20)
    contenders: dict[str, Callable[[], float]] = {
        "put, Tidings": lambda: asyncio.run(ours(port, calls, our_put)),
        "put, Tidings, uvloop": lambda: uvloop.run(ours(port, calls, our_put)),
        "put, aiobotocore": lambda: asyncio.run(theirs(port, few, their_put)),
        "put, aiobotocore, uvloop": lambda: uvloop.run(theirs(port, few, their_put)),
        "transact of 4, Tidings": lambda: asyncio.run(ours(port, calls, our_transact)),
        "transact of 4, Tidings, uvloop": lambda: uvloop.run(ours(port, calls, our_transact)),
        "transact of 4, aiobotocore": lambda: asyncio.run(theirs(port, few, their_transact)),
        "bare socket": lambda: bare(port, calls),
    }
    runs = [{name: run() for name, run in contenders.items()} for _ in range(rounds)]
    return {name: Spread(tuple(run[name] for run in runs)) for name in contenders}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--serve", action="store_true", help="run the server with fixed answers")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument(
        "--calls",
        type=int,
        default=8000,
        help="calls of the Tidings client per round; aiobotocore makes a twentieth",
    )
    given = options.parse_args()
    if given.serve:
        uvloop.run(serve())
        return
    with canned_server() as port:
        spreads = measure(port, given.rounds, given.calls)
    print_table(
        ["CPU µs per call", "median (min to max)", f"of {given.rounds} rounds, {IN_FLIGHT} in flight"],
        [(name, spread, "") for name, spread in spreads.items()],
    )
    put = spreads["put, Tidings"].median
    print_figures(
        {
            "put_cpu_us": put,
            "transact_cpu_us": spreads["transact of 4, Tidings"].median,
            "aiobotocore_ratio": spreads["put, aiobotocore"].median / put,
            "bare_ratio": put / spreads["bare socket"].median,
        }
    )


if __name__ == "__main__":
    main()
