"""A device that behaves like the SDK: it stores positions, entries and an outbox, and reconnects automatically.

Its data survives reconnects. It drops entries that it has, and reports a gap or an entry of another user immediately.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
from simulation.loop import Process
from simulation.record import Operation, Record
from simulation.server import Gateway
from simulation.wire import Wire

from tidings.kernel.ids import ChatId, UserId

type Body = dict[str, Any]

_RESUMED_WITHIN_S = 40.0
_ANSWERED_WITHIN_S = 20.0
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Device:
    def __init__(
        self,
        process: Process,
        user: UserId,
        *,
        find: Callable[[], Gateway | None],
        record: Record,
        chance: Random,
    ) -> None:
        self.process = process
        self.user = user
        self.positions: dict[ChatId, int] = {}
        self.began: dict[ChatId, int] = {}
        self.held: dict[ChatId, dict[int, Body]] = {}
        self.outbox: deque[Operation] = deque()
        self.is_wanted = True
        self.is_live = False
        self._find, self._record, self._chance = find, record, chance
        self._wire: Wire | None = None
        self._over: asyncio.Future[None] | None = None
        self._answers: dict[int, asyncio.Future[Body | None]] = {}
        self._last_id = 1
        self._pushed: asyncio.Event | None = None
        self._connect_wanted: asyncio.Event | None = None
        self._ack_due = False

    def start(self) -> None:
        self._pushed, self._connect_wanted = asyncio.Event(), asyncio.Event()
        self.process.begin(self._stay_connected())
        self.process.begin(self._empty_outbox())

    def post(self, operation: Operation) -> None:
        """Add an operation to the outbox. Its `after` is stored with it and is the same in every try."""
        self.outbox.append(operation)
        self._wake()

    def want(self, *, is_in: bool) -> None:
        self.is_wanted = is_in
        if is_in and self._connect_wanted is not None:
            self._connect_wanted.set()
        if not is_in and self._wire is not None:
            self._wire.hang_up()
            self.on_end(self._wire)
        self._wake()

    def lose_wire(self) -> None:
        if self._wire is not None:
            self._wire.cut()

    def _wake(self) -> None:
        if self._pushed is not None:
            self._pushed.set()

    async def _stay_connected(self) -> None:
        while True:
            gateway = self._find() if self.is_wanted else None
            if gateway is not None:
                await self._connection(gateway)
            await self._pause(0.05 + self._chance.random())

    async def _pause(self, seconds: float) -> None:
        """Wait before the next connection; end early if the scenario connects the device again."""
        assert self._connect_wanted is not None
        self._connect_wanted.clear()
        waiting = asyncio.ensure_future(self._connect_wanted.wait())
        await asyncio.wait([waiting], timeout=seconds)
        waiting.cancel()

    async def _connection(self, gateway: Gateway) -> None:
        over = self._over = self.process.create_future()
        wire = self._wire = gateway.open(self.process, self)
        self._last_id = 1
        connect = {
            "credential": self.user,
            "protocol": 1,
            "device": self.process.name,
            "positions": self.positions,
        }
        wire.say(_encode({"id": 1, "connect": connect}))
        await asyncio.wait([over], timeout=_RESUMED_WITHIN_S)
        if not self.is_live and not over.done():
            wire.hang_up()
            self.on_end(wire)
        await over

    def on_end(self, wire: Wire) -> None:
        """End the connection, unless `wire` is not the current one."""
        if wire is not self._wire:
            return
        self._wire, self.is_live = None, False
        if self._over is not None and not self._over.done():
            self._over.set_result(None)
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            if not answer.done():
                answer.set_result(None)

    def on_frame(self, wire: Wire, data: bytes) -> None:
        if wire is not self._wire:
            return
        frame: Body = _decode(data)
        if "id" in frame:
            answer = self._answers.pop(frame["id"], None)
            if answer is not None and not answer.done():
                answer.set_result(frame)
        elif "entry" in frame:
            self._take_entry(frame["entry"])
        elif "entries" in frame:
            self._take_range(frame["entries"])
        elif "resumed" in frame:
            self.is_live = True
            self._wake()
        elif "chats" in frame:
            for row in frame["chats"]["rows"]:
                self._know(ChatId(row["chat"]), row["head"])
        elif "ping" in frame:
            wire.say(_encode({"pong": {}}))

    def _know(self, chat: ChatId, position: int) -> None:
        """Start an unknown chat at this position, unless a later range starts it earlier."""
        if chat not in self.positions:
            self.positions[chat] = self.began[chat] = position

    def _take_entry(self, entry: Body) -> None:
        chat, sequence = ChatId(entry["chat"]), entry["sequence"]
        self._know(chat, sequence - 1)
        if sequence == self.positions[chat] + 1:
            self._hold(chat, entry)
            self.positions[chat] = sequence
        elif sequence > self.positions[chat]:
            self._record.broken(
                f"{self.process.name}: a hole in {chat} before {sequence}, held {self.positions[chat]}"
            )
        self._ack(chat)

    def _take_range(self, found: Body) -> None:
        chat, after, up_to = ChatId(found["chat"]), found["after"], found["up_to"]
        self._know(chat, after)
        if not self.held.get(chat) and after < self.began[chat]:
            self.positions[chat] = self.began[chat] = after
        if after > self.positions[chat]:
            self._record.broken(
                f"{self.process.name}: a hole in {chat}: {after} after {self.positions[chat]}"
            )
        for entry in found["entries"]:
            if entry["sequence"] > self.positions[chat]:
                self._hold(chat, entry)
        self.positions[chat] = max(self.positions[chat], up_to)
        self._ack(chat)

    def _hold(self, chat: ChatId, entry: Body) -> None:
        mine = self.held.setdefault(chat, {})
        if entry["sequence"] in mine:
            self._record.broken(f"{self.process.name}: {entry['sequence']} of {chat} twice")
        mine[entry["sequence"]] = entry

    def _ack(self, chat: ChatId) -> None:
        if self._wire is not None and self._chance.random() < 0.5 and self.positions[chat]:
            self._wire.say(_encode({"ack": {"delivered": {chat: self.positions[chat]}}}))

    async def _empty_outbox(self) -> None:
        assert self._pushed is not None
        while True:
            while not self.outbox or not self.is_live:
                self._pushed.clear()
                await self._pushed.wait()
            if await self._tried(self.outbox[0]):
                self.outbox.popleft()
            else:
                await asyncio.sleep(0.1 + self._chance.random())

    async def _tried(self, operation: Operation) -> bool:
        """Try an operation. Return whether it received a definite answer."""
        if self._wire is None:
            return False
        self._last_id += 1
        answer = self._answers[self._last_id] = self.process.create_future()
        self._wire.say(_encode({"id": self._last_id, operation.kind: operation.body}))
        await asyncio.wait([answer], timeout=_ANSWERED_WITHIN_S)
        frame = answer.result() if answer.done() else None
        if frame is None:
            return False
        if "ok" in frame:
            self._record.acked(operation, frame["ok"])
        elif not frame["error"].get("retryable"):
            self._record.refused(operation, frame["error"]["code"])
        return "ok" in frame or not frame["error"].get("retryable")
