"""Run the app on a screen of a given size, with the real SDK and the scripted server."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from clients import client_of
from fixtures.loops import until
from scripted_server import Frame, ScriptedServer
from textual.pilot import Pilot

from tidings_terminal.app import ChatApp

WITHIN_S = 30.0
NOW_MS = int(time.time() * 1000)
MEMBERS = {"d1": ["anna", "ben"], "g1": ["anna", "ben", "cleo"]}


def at(minutes_ago: float) -> int:
    return NOW_MS - int(minutes_ago * 60_000)


@dataclass
class TerminalEnv:
    server: ScriptedServer
    app: ChatApp
    pilot: Pilot[str]
    heads: dict[str, int] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text on the screen."""
        width, height = self.app.size
        lines = self.app.screen._compositor.render_strips()
        assert len(lines) == height
        return "\n".join("".join(segment.text for segment in strip)[:width].rstrip() for strip in lines)

    @property
    def underlined(self) -> str:
        """The text under the cursor."""
        lines = self.app.screen._compositor.render_strips()
        return "".join(
            segment.text for strip in lines for segment in strip if segment.style and segment.style.underline
        )

    async def sees(self, *words: str) -> str:
        await self.until(lambda: all(word in self.text for word in words), f"{words} in")
        return self.text

    async def sees_no(self, *words: str) -> None:
        await self.until(lambda: not any(word in self.text for word in words), f"no {words} in")

    async def until(self, holds: Callable[[], object], expected: str = "") -> None:
        try:
            await until(holds, WITHIN_S)
        except AssertionError:
            raise AssertionError(f"{expected}:\n{self.text}") from None

    async def types(self, text: str, *keys: str) -> None:
        await self.pilot.press(*(" " if c == " " else c for c in _keys(text)), *keys)

    async def says(self, chat: str, by: str, text: str = "", **more: object) -> Frame:
        """Push a message of another user."""
        entry = self.server.add(chat, by, text=text, **more)
        await self.server.push_entry(chat, entry["sequence"])
        return entry

    async def got(self, chat: str, **members: Frame) -> None:
        watermarks = [{"user": user, **marks} for user, marks in members.items()]
        await self.server.push(receipts={"chat": chat, "members": watermarks})

    async def chats(self) -> None:
        """Push the chat rows of a device without positions, then `resumed`."""
        rows = [
            {
                "chat": chat,
                "head": len(log),
                "unread": 1,
                "name": {"g1": "Lunch"}.get(chat),
                "members": [user for user in MEMBERS[chat] if user != self.server.user],
                "at": log[-1]["at"],
                "by": log[-1]["by"],
                "preview": log[-1].get("text") or None,
                "last": len(log),
                "state": log[-1].get("state", "active"),
            }
            for chat, log in self.server.logs.items()
        ]
        await self.server.push(chats={"rows": sorted(rows, key=lambda row: -row["at"])})
        await self.server.push(resumed={"epoch": 0})


def _keys(text: str) -> list[str]:
    return ["space" if c == " " else c for c in text]


def demo_server() -> ScriptedServer:
    server = ScriptedServer(is_pushing=True, now_ms=NOW_MS)
    server.add("d1", "anna", kind="create", users=["anna", "ben"], at=at(60))
    server.add("d1", "anna", text="Hello Ben!", at=at(50))
    server.add("d1", "ben", text="Hi Anna. Lunch?", at=at(49))
    server.add("g1", "anna", kind="create", name="Lunch", users=["anna", "ben", "cleo"], at=at(90))
    server.add("g1", "anna", text="Lunch at noon?", at=at(80))
    server.add("g1", "cleo", text="I bring cake.", at=at(70))
    return server


@asynccontextmanager
async def open_terminal(
    size: tuple[int, int] = (80, 24), server: ScriptedServer | None = None, api: str | None = None
) -> AsyncIterator[TerminalEnv]:
    async with server or demo_server() as found:
        app = ChatApp(lambda: client_of(found, token=found.user, api=api))
        async with app.run_test(size=size) as pilot:
            env = TerminalEnv(found, app, pilot)
            await until(lambda: found.sockets, WITHIN_S)
            await env.chats()
            yield env
            await pilot.press("ctrl+q")


async def watched(env: TerminalEnv, chat: str) -> None:
    """Wait for the subscription to a chat, and push its snapshot of receipts."""
    await env.until(lambda: any(chat in body.get("chats", []) for body in env.server.tries("subscribe")))
    members = [{"user": user, "since": 1} for user in MEMBERS[chat]]
    await env.server.push(receipts={"chat": chat, "members": members, "is_snapshot": True})
