"""A client of Tidings on plain `websockets`: plain_client.py URL TOKEN CHAT TEXT sends one message, once."""

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


async def ask(socket: ClientConnection, kind: str, **body: Any) -> dict[str, Any]:
    """One request and its answer. What comes in between are pushes; heartbeats are answered."""
    frame: dict[str, Any] = {}
    request_id = next(ids)
    await socket.send(json.dumps({"id": request_id, kind: body}))
    while frame.get("id") != request_id:
        async with asyncio.timeout(40):  # longer silence than a heartbeat and its grace is nobody
            frame = json.loads(await socket.recv())
        if "ping" in frame:
            await socket.send('{"pong":{}}')
    if "ok" in frame:
        return dict(frame["ok"])
    if kind == "connect":
        await socket.recv()  # raises: the close that follows says whether to come back
    if not frame["error"].get("retryable"):
        raise SystemExit(f"refused for good: {frame['error']['code']}")
    raise TimeoutError(frame["error"]["code"])


async def one_try(url: str, token: str, message: dict[str, Any]) -> int:
    async with connect(url, open_timeout=10) as socket:
        await ask(socket, "connect", credential=token, protocol=1)
        if "after" not in message:  # once, before the first try; a real client stores it now, with the key
            message["after"] = (await ask(socket, "history", chat=message["chat"], limit=1))["up_to"]
        return int((await ask(socket, "send", **message))["sequence"])


async def send(url: str, token: str, chat: str, text: str) -> int:
    """The same key and the same `after` in every try: whatever gets lost, it is one message."""
    message = {"chat": chat, "client_message_id": uuid.uuid4().hex, "text": text}
    for bound_s in itertools.chain((1, 2, 4, 8, 16), itertools.repeat(30)):
        wait_s = random.uniform(0, bound_s)
        try:
            return await one_try(url, token, message)
        except ConnectionClosed as closed:
            code, reason = (closed.rcvd.code, closed.rcvd.reason) if closed.rcvd else (1006, "")
            if code in range(4500, 5000):
                raise SystemExit(f"closed for good: {code} {reason}") from None
            if told := re.search(r"retry_after_ms=(\d+)", reason):
                wait_s = int(told[1]) / 1000
        except OSError as error:  # a TimeoutError is one
            print(f"again in {wait_s:.1f} s: {error!r}", file=sys.stderr)
        await asyncio.sleep(wait_s)
    raise AssertionError("never: the waits do not end")


if __name__ == "__main__":
    print(asyncio.run(send(*sys.argv[1:5])))
