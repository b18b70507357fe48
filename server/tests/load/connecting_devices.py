"""Minimal clients that only authenticate, so that one process can run thousands of them."""

import asyncio
import json
import struct
from dataclasses import dataclass
from typing import Any

from contract.gateway.raw_client import CLOSE, RawClient, request

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
class ConnectedDevices:
    """A connected client. `refusals` is the number of refused tries before."""

    client: RawClient
    refusals: int


async def connect_all(port: int, token: str, device: str) -> ConnectedDevices:
    """Connect, and retry after the time that the gateway asks for, until the connection is accepted."""
    refusals = 0
    while True:
        client, wait_ms = await _try(port, token, device)
        if wait_ms is None:
            return ConnectedDevices(client, refusals)
        client.reset()
        refusals += 1
        await asyncio.sleep(wait_ms / 1_000)


async def _try(port: int, token: str, device: str) -> tuple[RawClient, int | None]:
    client = await RawClient.connect(port)
    answer = await client.ask(request())
    if answer.status != 101:
        assert answer.status == 503, answer
        return client, int(json.loads(answer.body)["retry_after_ms"])
    client.send(connect_frame(token, device))
    answer_frame = await _answer(client)
    return client, None if "ok" in answer_frame else int(answer_frame["error"]["retry_after_ms"])


async def _answer(client: RawClient) -> dict[str, Any]:
    while True:
        got = await client.frame()
        assert got.opcode != CLOSE, got
        frame: dict[str, Any] = json.loads(got.payload)
        if frame.get("id") == 1:
            return frame
