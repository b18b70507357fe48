"""A server with the real guarantees for the log, and a network that fails by a script.

It appends like the real one: if the key is in `(after, head]`, it returns that entry; otherwise it appends at head + 1.
So a client that changes a key or its `after` between tries creates a second message, as with the real server.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Self

import msgspec
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

type Frame = dict[str, Any]

PLAIN = "answer"
FAULTS = (
    PLAIN,
    "cut before",  # the frame is lost with the connection
    "cut after",  # the request takes effect, the answer is lost
    "done late",  # the connection is lost, and the frame takes effect after the client's next one
    "close before",
    "close after",
    "twice",  # two answers under one id
    "held",  # the answer follows the next answer
    "unknown, done",
    "unknown, not done",
    "too fast",
    "catch up",
    "leave",  # asks to reconnect, and answers
)
WRITES = frozenset({"send", "edit", "redact", "react"})
INBOX = frozenset({"counts", "notifications", "mark"})


def error(code: str, *, retryable: bool = False, **more: object) -> Frame:
    return {"error": {"code": code, "message": code, "retryable": retryable, **more}}


@dataclass
class Seen:
    """A received request."""

    connection: int
    kind: str
    body: Frame


@dataclass
class ScriptedServer:
    script: Iterable[str] = ()
    port: int = 0
    window: int = 10_000
    is_pushing: bool = False
    epoch: int = 0
    user: str = "anna"
    heartbeat_s: int = 25
    now_ms: int = 1
    refusals: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Callable[[Frame], Frame]] = field(default_factory=dict)
    logs: dict[str, list[Frame]] = field(default_factory=lambda: defaultdict(list))
    seen: list[Seen] = field(default_factory=list)
    hellos: list[Frame] = field(default_factory=list)
    sockets: list[ServerConnection] = field(default_factory=list)
    connections: int = 0
    watch: Callable[[str, Frame], None] = lambda _kind, _body: None
    complaints: list[Exception] = field(default_factory=list)
    shut: tuple[int, bytes] | None = None
    before_resumed: list[Frame] = field(default_factory=list)
    refuse_connect: list[tuple[Frame | None, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._faults: Iterator[str] = iter(self.script)
        self._late: list[tuple[str, Frame]] = []
        self._held: list[tuple[ServerConnection, bytes]] = []

    async def __aenter__(self) -> Self:
        self._server: Server = await serve(
            self._serve,
            "127.0.0.1",
            self.port,
            process_request=self._door,
            close_timeout=1,
            ping_interval=None,
        )
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()
        assert not self.complaints, self.complaints

    def keys(self, chat: str) -> list[str]:
        return [entry["client_message_id"] for entry in self.logs[chat]]

    def tries(self, kind: str = "send") -> list[Frame]:
        return [one.body for one in self.seen if one.kind == kind]

    def add(self, chat: str, by: str = "ben", **entry: object) -> Frame:
        """Add an entry of another user."""
        log = self.logs[chat]
        made = {
            "sequence": len(log) + 1,
            "by": by,
            "at": self.now_ms,
            "client_message_id": f"{by}-{len(log)}",
        } | entry
        log.append(made)
        return made

    async def push(self, **frame: object) -> None:
        for socket in list(self.sockets):
            with suppress(ConnectionClosed):
                await socket.send(msgspec.json.encode(frame).decode())

    async def push_entry(self, chat: str, sequence: int) -> None:
        await self.push(entry=self.readable(self.logs[chat][sequence - 1]) | {"chat": chat})

    def readable(self, entry: Frame) -> Frame:
        is_own = entry["by"] == self.user
        return {name: value for name, value in entry.items() if is_own or name != "client_message_id"}

    async def cut(self) -> None:
        for socket in list(self.sockets):
            socket.transport.abort()

    async def close_all(self, code: int, reason: str = "") -> None:
        for socket in list(self.sockets):
            await socket.close(code, reason)

    def _door(self, socket: ServerConnection, _: Request) -> Response | None:
        if self.shut is None:
            return None
        status, body = self.shut
        response = socket.respond(HTTPStatus(status), body.decode())
        response.headers["Retry-After"] = "1" if status != HTTPStatus.BAD_GATEWAY else "soon"
        return response

    async def _serve(self, socket: ServerConnection) -> None:
        self.connections += 1
        number = self.connections
        with suppress(ConnectionClosed):
            if await self._let_in(socket):
                self.sockets.append(socket)
                async for data in socket:
                    await self._received(socket, number, msgspec.json.decode(data))
        if socket in self.sockets:
            self.sockets.remove(socket)

    async def _let_in(self, socket: ServerConnection) -> bool:
        frame = msgspec.json.decode(await socket.recv())
        self.hellos.append(frame["connect"])
        if self.refuse_connect:
            refusal, code, reason = self.refuse_connect.pop(0)
            if refusal is not None:
                await socket.send(msgspec.json.encode({"id": frame["id"], **refusal}).decode())
            await socket.close(code, reason)
            return False
        limits = {"frame_bytes": 65536, "in_flight": 32, "frames_per_s": 10_000, "burst": 10_000}
        welcome = {
            "protocol": 1,
            "user": self.user,
            "device": frame["connect"].get("device", "d-1"),
            "epoch": self.epoch,
            "at": 1,
            "heartbeat_s": self.heartbeat_s,
            "limits": limits,
        }
        await socket.send(msgspec.json.encode({"id": frame["id"], "ok": welcome}).decode())
        for frame in [*self.before_resumed, {"resumed": {"epoch": self.epoch}}]:
            await socket.send(msgspec.json.encode(frame).decode())
        return True

    async def _received(self, socket: ServerConnection, number: int, frame: Frame) -> None:
        ((kind, body),) = ((name, body) for name, body in frame.items() if name != "id")
        self.seen.append(Seen(number, kind, body))
        try:
            self.watch(kind, body)
        except (AssertionError, KeyError) as complaint:
            self.complaints.append(complaint)
        if "id" not in frame:
            return
        fault = next(self._faults, PLAIN)
        answer = await self._under(fault, socket, kind, body)
        for kind_late, late in self._drain_late():
            self._done(kind_late, late)
        if fault == "done late":
            self._late.append((kind, body))
        if answer is not None:
            await self._answer(fault, socket, {"id": frame["id"], **answer})

    def _drain_late(self) -> list[tuple[str, Frame]]:
        late, self._late = self._late, []
        return late

    async def _under(self, fault: str, socket: ServerConnection, kind: str, body: Frame) -> Frame | None:
        """Return the answer, or None if the script withholds it."""
        match fault:
            case "cut before" | "done late":
                socket.transport.abort()
                return None
            case "close before":
                await socket.close(4005, "try_again_later retry_after_ms=1")
                return None
            case "unknown, not done":
                return error("outcome_unknown", retryable=True)
            case "too fast":
                return error("rate_limited", retryable=True, retry_after_ms=1)
            case "catch up" if kind in WRITES:
                return error("position_too_old")
        answer = self._done(kind, body)
        if self.is_pushing and "ok" in answer and kind in WRITES and not answer["ok"].get("is_repeat"):
            await self.push_entry(body["chat"], answer["ok"]["sequence"])
        return await self._then(fault, socket, answer)

    async def _then(self, fault: str, socket: ServerConnection, answer: Frame) -> Frame | None:
        match fault:
            case "cut after":
                socket.transport.abort()
                return None
            case "close after":
                await socket.close(4002, "slow_consumer retry_after_ms=1")
                return None
            case "unknown, done":
                return error("outcome_unknown", retryable=True)
            case "leave":
                leave = {"reconnect": {"retry_after_ms": 1, "spread_ms": 1, "reason": "draining"}}
                await socket.send(msgspec.json.encode(leave).decode())
        return answer

    async def _answer(self, fault: str, socket: ServerConnection, frame: Frame) -> None:
        data = msgspec.json.encode(frame)
        if fault == "held":
            self._held.append((socket, data))
            asyncio.get_running_loop().call_later(0.02, self._release)
            return
        with suppress(ConnectionClosed):
            for _ in range(2 if fault == "twice" else 1):
                await socket.send(data.decode())
        await self._send_held()

    def _release(self) -> None:
        task = asyncio.ensure_future(self._send_held())
        task.add_done_callback(lambda done: done.exception())

    async def _send_held(self) -> None:
        held, self._held = self._held, []
        for socket, data in held:
            with suppress(ConnectionClosed):
                await socket.send(data.decode())

    def _done(self, kind: str, body: Frame) -> Frame:
        if kind in self.answers:
            return self.answers[kind](body)
        if kind in WRITES:
            return self._append(kind, body)
        if kind in INBOX:
            return error("inbox_not_found")
        return self._page(body) if kind == "history" else {"ok": {}}

    def _append(self, kind: str, body: Frame) -> Frame:
        """Append an entry at head + 1, unless its key is in the log after `after`."""
        log, after = self.logs[body["chat"]], body["after"]
        if after > len(log):
            return error("position_ahead")
        if len(log) - after > self.window:
            return error("position_too_old")
        for entry in log[after:]:
            if entry["by"] == self.user and entry["client_message_id"] == body["client_message_id"]:
                return {"ok": {"sequence": entry["sequence"], "is_repeat": True}}
        if refusal := self.refusals.get(body.get("text", "")):
            return error(refusal)
        if kind == "send":
            sent: Frame = {name: body[name] for name in ("text", "reply_to") if name in body}
        else:
            sent = self.change(
                kind, body["chat"], body["sequence"], body.get("text", ""), body.get("emoji", "")
            )
        entry = self.add(body["chat"], self.user, client_message_id=body["client_message_id"], **sent)
        return {"ok": {"sequence": entry["sequence"]}}

    def change(self, kind: str, chat: str, sequence: int, text: str = "", emoji: str = "") -> Frame:
        """Apply an edit, redaction or reaction to its message. Return the fields of its entry."""
        changes: dict[str, Frame] = {
            "edit": {"text": text, "edited_at": 2},
            "redact": {"text": "", "state": "redacted"},
            "react": {"reactions": [{"emoji": emoji, "count": 1}]},
        }
        now = changes[kind]
        found = [entry for entry in self.logs[chat] if entry["sequence"] == sequence]
        for entry in found:
            entry.update(now)
            now = {name: entry[name] for name in ("text", "state", "edited_at", "reactions") if name in entry}
        kinds = {"redact": "redaction", "react": "reaction"}
        changed = {"changed": now} if found else {}
        return {"kind": kinds.get(kind, kind), "refers_to": sequence, **changed}

    def _page(self, body: Frame) -> Frame:
        log, limit = self.logs[body["chat"]], body.get("limit", 50)
        end = min(body.get("before", len(log) + 1) - 1, len(log))
        after = body.get("after", max(0, end - limit))
        entries = [self.readable(entry) for entry in log[after : min(end, after + limit)]]
        up_to = after + len(entries)
        page: Frame = {"after": after, "up_to": up_to, "entries": entries[::-1]}
        return {"ok": page | {"has_newer": up_to < len(log), "has_older": after > 0}}
