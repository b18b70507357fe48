"""Minimal clients that only authenticate, so that one process can run thousands of them."""

import asyncio
import json
import struct
from dataclasses import dataclass
from typing import Any

from contract.gateway.raw_client import CLOSE, RawClient, request

from tidings_wire.close_codes import CloseCode

_NO_MASK = b"\0\0\0\0"


def text(payload: bytes) -> bytes:
    """Return a masked text frame with an all-zero mask, which is valid and costs no computation."""
    size = len(payload)
    if size < 126:
        return struct.pack("!BB", 0x81, 0x80 | size) + _NO_MASK + payload
    if size < 65_536:
        return struct.pack("!BBH", 0x81, 0x80 | 126, size) + _NO_MASK + payload
    return struct.pack("!BBQ", 0x81, 0x80 | 127, size) + _NO_MASK + payload


def connect_frame(token: str, device: str) -> bytes:
    body = {"credential": token, "protocol": 1, "device": device}
    return text(json.dumps({"id": 1, "connect": body}).encode())


@dataclass
class ConnectedClient:
    """A connected client. `refusals` is the number of refused tries before."""

    client: RawClient
    refusals: int


async def connect_client(port: int, token: str, device: str) -> ConnectedClient:
    """Connect, and retry after the time that the gateway asks for, until the connection is accepted."""
    refusals = 0
    while True:
        client, wait_ms = await _try(port, token, device)
        if wait_ms is None:
            return ConnectedClient(client, refusals)
        client.reset()
        refusals += 1
        await asyncio.sleep(wait_ms / 1_000)


async def _try(port: int, token: str, device: str) -> tuple[RawClient, int | None]:
    """Return the client, and the time to wait before the next try, or None if the connection was accepted."""
    client = await RawClient.connect(port)
    try:
        answer = await client.ask(request())
        if answer.status != 101:
            assert answer.status == 503, answer
            return client, int(json.loads(answer.body)["retry_after_ms"])
        client.send(connect_frame(token, device))
        return client, await _wait_ms(client)
    except BaseException:
        client.reset()
        raise


async def _wait_ms(client: RawClient) -> int | None:
    """Return the wait that the gateway asks for, or None if it accepts the connection.

    The wait is in the error, or in the close after it: an engine that was too slow does not know how long to wait.
    """
    while True:
        got = await client.frame()
        if got.opcode == CLOSE:
            assert int.from_bytes(got.payload[:2]) == CloseCode.TRY_AGAIN_LATER, got
            return int(got.payload.decode(errors="replace").partition("retry_after_ms=")[2])
        frame: dict[str, Any] = json.loads(got.payload)
        if frame.get("id") != 1:
            continue
        if "ok" in frame:
            return None
        assert frame["error"]["retryable"], frame
        if "retry_after_ms" in frame["error"]:
            return int(frame["error"]["retry_after_ms"])
