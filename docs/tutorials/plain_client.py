"""A Tidings client on plain `websockets`: `plain_client.py URL TOKEN CHAT TEXT` sends one message exactly once."""

import asyncio
import itertools
import json
import random
import re
import sys
import uuid
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

ids = itertools.count(1)


async def request(socket: ClientConnection, kind: str, **body: Any) -> dict[str, Any]:
    """Send a request and return its answer. Ignore pushes in between, but answer heartbeats."""
    frame: dict[str, Any] = {}
    request_id = next(ids)
    await socket.send(json.dumps({"id": request_id, kind: body}))
    while frame.get("id") != request_id:
        async with asyncio.timeout(40):  # longer than a heartbeat and its grace: the connection is dead
            frame = json.loads(await socket.recv())
        if "ping" in frame:
            await socket.send('{"pong":{}}')
    if "ok" in frame:
        return dict(frame["ok"])
    if kind == "connect":
        await socket.recv()  # raises ConnectionClosed: its code says whether to reconnect
    if not frame["error"].get("retryable"):
        raise SystemExit(f"rejected: {frame['error']['code']}")
    raise TimeoutError(frame["error"]["code"])


async def attempt(url: str, token: str, message: dict[str, Any]) -> int:
    async with connect(url, open_timeout=10) as socket:
        await request(socket, "connect", credential=token, protocol=1)
        if "after" not in message:  # once, before the first send; an outbox would store it now, with the key
            message["after"] = (await request(socket, "history", chat=message["chat"], limit=1))["up_to"]
        return int((await request(socket, "send", **message))["sequence"])


async def send(url: str, token: str, chat: str, text: str) -> int:
    """Send until the message is committed or rejected. Every attempt has the same key and the same `after`."""
    message = {"chat": chat, "client_message_id": uuid.uuid4().hex, "text": text}
    for limit_s in itertools.chain((1, 2, 4, 8, 16), itertools.repeat(30)):
        wait_s = random.uniform(0, limit_s)
        try:
            return await attempt(url, token, message)
        except ConnectionClosed as closed:
            code, reason = (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
            if code in range(4500, 5000):
                raise SystemExit(f"closed permanently: {code} {reason}") from None
            if retry_after := re.search(r"retry_after_ms=(\d+)", reason):
                wait_s = int(retry_after[1]) / 1000
        except OSError as error:  # includes TimeoutError
            print(f"retry in {wait_s:.1f} s: {error!r}", file=sys.stderr)
        await asyncio.sleep(wait_s)
    raise AssertionError("unreachable: the loop does not end")


if __name__ == "__main__":
    print(asyncio.run(send(*sys.argv[1:5])))
