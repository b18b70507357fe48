"""The devices of the load generator. Each is a WebSocket on picows that records which messages arrive, and when."""

import asyncio
import itertools
import time
from collections.abc import Mapping
from typing import Any, Self, override

import msgspec
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

_ids = itertools.count(2)
_ACK_EVERY_S = 1.0


class Tally:
    """Count the messages of a phase that were sent and delivered, and record their latency."""

    def __init__(self) -> None:
        self.sent = self.delivered = self.doubled = 0
        self._late_s: list[float] = []
        self._waiting: dict[str, tuple[float, asyncio.Future[None]]] = {}
        self._done: set[str] = set()

    def begin(self, key: str, due: float) -> asyncio.Future[None]:
        self.sent += 1
        came = asyncio.get_running_loop().create_future()
        self._waiting[key] = (due, came)
        return came

    def came(self, key: str, at: float) -> None:
        if key in self._done:
            self.doubled += 1
        elif key in self._waiting:
            due, future = self._waiting.pop(key)
            self._done.add(key)
            self.delivered += 1
            self._late_s.append(at - due)
            future.set_result(None)

    async def settled(self, within_s: float) -> None:
        await asyncio.wait([future for _, future in self._waiting.values()] or [_now()], timeout=within_s)

    @property
    def late_s(self) -> tuple[float, ...]:
        return tuple(self._late_s)

    def percentile_ms(self, share: float) -> float:
        ordered = sorted(self._late_s)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else 0.0


def _now() -> asyncio.Future[None]:
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


class Line(WSListener):
    """One device. It acknowledges received messages once a second, as the SDK does.

    `has_chat_open`: it also sends `read` for each message at once, as a client does that shows the chat.
    """

    _transport: WSTransport

    def __init__(self, user: str) -> None:
        self.user = user
        self.tally: Tally | None = None
        self.has_chat_open = False
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._live: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._entries: dict[str, list[int]] = {}
        self._unacked: dict[str, int] = {}
        self._is_closed = False
        self._acking: asyncio.TimerHandle | None = None

    @classmethod
    async def open(cls, port: int, token: str, user: str, positions: Mapping[str, int] | None = None) -> Self:
        line = cls(user)
        await ws_connect(lambda: line, f"ws://127.0.0.1:{port}/v1/socket")
        body = {"credential": token, "protocol": 1, "device": "bench", "positions": positions or {}}
        answer = await line.ask("connect", body)
        if "user" not in answer:
            raise ConnectionError(str(answer))
        await asyncio.wait_for(line._live, 30)
        return line

    @override
    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport

    @override
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.TEXT:
            self._heard(msgspec.json.decode(frame.get_payload_as_bytes()))

    def ask(self, kind: str, body: Mapping[str, object]) -> asyncio.Future[dict[str, Any]]:
        number = next(_ids)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._say({"id": number, kind: body})
        return answer

    def sequences(self, chat: str) -> list[int]:
        return self._entries.get(chat, [])

    def close(self) -> None:
        self._is_closed = True
        self._transport.disconnect()

    def _say(self, frame: object) -> None:
        self._transport.send(WSMsgType.TEXT, msgspec.json.encode(frame))

    def _heard(self, frame: dict[str, Any]) -> None:
        if "id" in frame:
            answer = self._answers.pop(frame["id"])
            if not answer.done():
                answer.set_result(frame["error"] if "error" in frame else frame["ok"])
        elif "entry" in frame:
            self._got(frame["entry"]["chat"], [frame["entry"]])
        elif "entries" in frame:
            self._got(frame["entries"]["chat"], frame["entries"]["entries"])
        elif "resumed" in frame and not self._live.done():
            self._live.set_result(None)
        elif "ping" in frame:
            self._say({"pong": {}})

    def _got(self, chat: str, entries: list[dict[str, Any]]) -> None:
        now = time.perf_counter()
        for entry in entries:
            self._entries.setdefault(chat, []).append(entry["sequence"])
            if self.tally is not None and "text" in entry:
                self.tally.came(entry["text"].rstrip("."), now)
        if self.has_chat_open and entries:
            _ = self.ask("read", {"chat": chat, "sequence": entries[-1]["sequence"]})
        self._unacked[chat] = entries[-1]["sequence"] if entries else self._unacked.get(chat, 1)
        if self._acking is None:
            self._acking = asyncio.get_running_loop().call_later(_ACK_EVERY_S, self._ack)

    def _ack(self) -> None:
        self._acking = None
        unacked, self._unacked = self._unacked, {}
        if unacked and not self._is_closed:
            self._say({"ack": {"delivered": unacked}})


class Pair:
    """A sender and a receiver on different gateways."""

    def __init__(self, chat: str, sender: Line, receiver: Line) -> None:
        self.chat, self.sender, self.receiver = chat, sender, receiver
        self.head = 1

    def begin(self, tally: Tally, due: float) -> None:
        """Send without waiting for the delivery, which the tally records."""
        _ = self.send(tally, due)

    def send(self, tally: Tally, due: float) -> asyncio.Future[None]:
        """Send a message. The result is done when the receiver has it."""
        self.receiver.tally = tally
        key = f"{self.chat}-{next(_ids)}"
        came = tally.begin(key, due)
        self.sender.ask("send", self._message(key)).add_done_callback(self._note)
        return came

    async def acked(self) -> None:
        """Send a message and wait until it is committed. The receiver need not be connected."""
        answer = self.sender.ask("send", self._message(f"{self.chat}-{next(_ids)}"))
        await answer
        self._note(answer)

    def _message(self, key: str) -> dict[str, object]:
        """Return a message with 100 bytes of text, as in all benchmarks."""
        return {"chat": self.chat, "client_message_id": key, "after": self.head, "text": key.ljust(100, ".")}

    def _note(self, answer: asyncio.Future[dict[str, Any]]) -> None:
        if not answer.cancelled():
            said = answer.result()
            if "sequence" not in said:
                raise ConnectionError(f"The gateway rejected a send: {said}")
            self.head = max(self.head, said["sequence"])
