"""Serve pages of a log without Tidings around them: uvicorn, one query by the product's DynamoDB client, fixed bytes.

`bench.api` measures this server in the same way as the API. Credentials, memberships, decryption, rules, limits, telemetry
and JSON are missing, so no implementation with this server and this client can need less.
"""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
import uvloop
from contract.telemetry.running import Running
from fixtures.tables import REGION
from starlette.types import Receive, Scope, Send

from bench.api_world import MESSAGES, Place
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.messages.store import DynamoLogReader
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.open_client import open_client

_ROOT = Path(__file__).parents[1]
BODY_BYTES = 7_000
"""The size of a page of 20 messages of 100 characters."""
_HEADERS = [(b"content-type", b"application/json")]


class PageServer:
    """An ASGI application that reads a page, and answers with `BODY_BYTES`."""

    def __init__(self, client: DynamoClient, chat: ChatKey) -> None:
        self._log = DynamoLogReader(client)
        self._chat = chat
        self._headers = [*_HEADERS, (b"content-length", str(BODY_BYTES).encode())]
        self._body = bytes(BODY_BYTES)

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        await self._log.range(self._chat, 0, 1 + MESSAGES, MESSAGES, newest_first=True)
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body})


@contextmanager
def serving_floor(place: Place, chat: ChatKey, python: str | None = None) -> Iterator[Running]:
    """Run the server, with the interpreter `python` if it is given."""
    words = [python or sys.executable, "-m", "bench.api_floor", place.endpoint, place.prefix, *chat]
    process = Running(words, cwd=_ROOT)
    try:
        yield process
    finally:
        process.close()


async def _serve(endpoint: str, prefix: str, tenant: str, chat: str) -> None:
    async with open_client(endpoint, REGION, prefix) as client:
        app = PageServer(client, ChatKey(TenantId(tenant), ChatId(chat)))
        config = uvicorn.Config(
            app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False
        )
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            sys.stdout.write(json.dumps({"event": "listening", "port": port}) + "\n")
            sys.stdout.flush()
            await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    uvloop.run(_serve(*sys.argv[1:]))
