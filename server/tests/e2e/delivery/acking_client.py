"""A device in its own process, so that a test can freeze it: acknowledges entries at once and prints their sequences.

Arguments: port, credential.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect


async def main(port: str, credential: str) -> None:
    address = f"ws://127.0.0.1:{port}/v1/socket"
    async with connect(address, compression=None, proxy=None, ping_interval=None) as ws:
        await ws.send(
            json.dumps({"id": 1, "connect": {"credential": credential, "protocol": 1, "device": "phone"}})
        )
        async for text in ws:
            frame = json.loads(text)
            if "ping" in frame:
                await ws.send(json.dumps({"pong": {}}))
            elif "resumed" in frame:
                print("resumed", flush=True)
            elif "entry" in frame:
                chat, sequence = frame["entry"]["chat"], frame["entry"]["sequence"]
                await ws.send(json.dumps({"id": sequence, "ack": {"delivered": {chat: sequence}}}))
            elif "ok" in frame and frame["id"] > 1:
                print(frame["id"], flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
