"""A device that subscribes to chats with plain frames and records every ephemeral event that it receives."""

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tidings.kernel.ids import new_ulid

LONG_S = 150.0


class ChatListClient:
    def __init__(self, ws: ClientConnection, user: str) -> None:
        self.user = user
        self.frames: list[dict[str, Any]] = []
        self._ws = ws
        self._ids = count(2)
        self._reading = asyncio.create_task(self._read())

    async def say(self, **frame: object) -> None:
        await self._ws.send(json.dumps(frame))

    async def send(self, chat: str) -> None:
        await self.say(send={"chat": chat, "client_message_id": new_ulid(), "text": "hi"}, id=next(self._ids))

    async def looks(self, *chats: str) -> None:
        """Subscribe to chats and wait for the snapshot of each."""
        await self.say(subscribe={"chats": list(chats)})
        await until(lambda: all(self.states(chat) for chat in chats), LONG_S)

    def states(self, chat: str) -> int:
        return sum(bool(r.get("is_snapshot")) and r["chat"] == chat for r in self.pushed("receipts"))

    def pushed(self, kind: str) -> list[dict[str, Any]]:
        return [frame[kind] for frame in self.frames if kind in frame]

    def got(self, chat: str, user: str, part: str) -> int:
        """Return the highest watermarks of each member that this device received."""
        members = [got for r in self.pushed("receipts") if r["chat"] == chat for got in r["members"]]
        return max((got.get(part, 0) for got in members if got["user"] == user), default=0)

    async def knows(self, chat: str, user: str, part: str, sequence: int) -> None:
        await until(lambda: self.got(chat, user, part) >= sequence, LONG_S)

    async def holds(self, chat: str, sequence: int) -> None:
        await until(lambda: sequence in self._sequences(chat), LONG_S)

    async def answered(self, number: int) -> None:
        await until(lambda: any(frame.get("id") == number for frame in self.frames), LONG_S)

    def presence(self, user: str) -> list[str]:
        return [push["status"] for push in self.pushed("presence") if push["user"] == user]

    async def sees(self, user: str, status: str) -> None:
        """Wait until the newest presence of a user is this one."""
        await until(lambda: self.presence(user)[-1:] == [status], LONG_S)

    def typing(self, chat: str) -> list[tuple[str, bool]]:
        return [(t["user"], t.get("is_typing", True)) for t in self.pushed("typing") if t["chat"] == chat]

    def cut(self) -> None:
        """Drop the connection without a close frame, as a phone that loses its network."""
        self._ws.transport.abort()

    async def close(self) -> None:
        await self._ws.close()
        await self._reading

    def _sequences(self, chat: str) -> set[int]:
        found = {e["sequence"] for e in self.pushed("entry") if e["chat"] == chat}
        for some in self.pushed("entries"):
            found |= {e["sequence"] for e in some["entries"] if some["chat"] == chat}
        return found

    async def _read(self) -> None:
        try:
            while True:
                frame = json.loads(await self._ws.recv())
                self.frames.append(frame)
                if "ping" in frame:
                    await self.say(pong={})
        except ConnectionClosed:
            return


@asynccontextmanager
async def looking(
    installation: InstallationProcesses, port: int, user: str, device: str = "phone"
) -> AsyncIterator[ChatListClient]:
    """Open a device that is live."""
    address = f"ws://127.0.0.1:{port}/v1/socket"
    ws = await connect(address, compression=None, proxy=None, ping_interval=None, close_timeout=1)
    reader = ChatListClient(ws, user)
    try:
        await reader.say(
            id=1, connect={"credential": installation.token(user), "protocol": 1, "device": device}
        )
        await until(lambda: reader.pushed("resumed"), LONG_S)
        yield reader
    finally:
        await reader.close()


async def rest(
    installation: InstallationProcesses, port: int, user: str, asked: str, body: object = None
) -> Any:
    """Send a REST request. `asked`: method and path."""
    method, path = asked.split(" ")

    def ask() -> Any:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {"Authorization": f"Bearer {installation.token(user)}", "Content-Type": "application/json"}
        try:
            client.request(method, path, None if body is None else json.dumps(body), headers)
            answer = client.getresponse()
            payload = answer.read()
            assert answer.status < 300, (answer.status, payload)
            return json.loads(payload) if payload else None
        finally:
            client.close()

    return await asyncio.to_thread(ask)
