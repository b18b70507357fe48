"""A light device: the SDK's connection and frames over picows, with its positions. Many fit into one process.

It records every received entry, including duplicates. `sdk_device` uses the SDK's client, which removes duplicates.
"""

import asyncio
import os
import random
import socket
from collections.abc import Mapping
from importlib.metadata import version
from typing import Final, final, override

from picows import WSError, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from tidings_harness.workload.run_state import RunState, SeenEntry
from tidings_harness.workload.target import TargetInstallation
from tidings_sdk.codec import decode_frame, encode_request
from tidings_sdk.errors import RequestTimeout
from tidings_sdk.protocol import (
    Abandon,
    Authenticated,
    BecameLive,
    ConnectionProtocol,
    ConnectRefused,
    Effect,
    PushReceived,
    ReconnectRequested,
    ResponseReceived,
    Write,
)
from tidings_wire.frames.ephemeral import Ack
from tidings_wire.frames.history import ChatRow, ChatRows, Entries, Entry, EntryPush, GetHistory, HistoryPage
from tidings_wire.frames.structs import Body

_SDK: Final = f"tidings-harness/{version('tidings-harness')}"
_ACK_EVERY_S: Final = 1.0
_PAUSED_BYTES: Final = 8 * 1024
_MAX_WAIT_S: Final = 1.0
_ENTRY: Final = b'{"entry":'
_CACHED: Final = 512


@final
class FrameCache:
    """Decode each push once: most pushes reach many devices with the same bytes."""

    def __init__(self, ledger: RunState) -> None:
        self._ledger = ledger
        self._recorder = ledger.recorder
        self._known: dict[bytes, tuple[str, SeenEntry]] = {}

    def entry(self, data: bytes) -> tuple[str, SeenEntry]:
        if self._recorder is not self._ledger.recorder:
            self._recorder = self._ledger.recorder
            self._known.clear()
        found = self._known.get(data)
        if found is None:
            push = decode_frame(data)
            assert isinstance(push, EntryPush)  # noqa: S101 - implied by its prefix
            if len(self._known) >= _CACHED:
                self._known.clear()
            found = self._known[data] = (push.chat, self._ledger.entry(push.chat, push))
        return found


@final
class LightDevice(WSListener):
    def __init__(
        self, site: TargetInstallation, ledger: RunState, frames: FrameCache, user: str, device: str
    ) -> None:
        self.user, self.name = user, device
        self.positions: dict[str, int] = {}
        self.is_live = False
        self.connections = 0
        self._site, self._ledger, self._frames = site, ledger, frames
        self._epoch: int | None = None
        self._enrol()
        self._retry_after_s = 0.0
        self._connection: ConnectionProtocol | None = None
        self._transport: WSTransport | None = None
        self._is_asked = False
        self._answers: dict[int, asyncio.Future[Body]] = {}
        self._unacked: dict[str, int] = {}
        self._gone = asyncio.Event()
        self._filling: set[asyncio.Task[None]] = set()
        self._running: asyncio.Task[None] | None = None

    def _enrol(self) -> None:
        self._recorder = self._ledger.recorder
        self._number = self._recorder.name(f"{self.user}/{self.name}")
        self._recorder.device(self._number, self._recorder.name(self.user))
        self._connection_number = self._recorder.new_connection()

    @property
    def number(self) -> int:
        """Return the device's number in the current history. The device itself may not have seen the new epoch yet."""
        return self._ledger.recorder.name(f"{self.user}/{self.name}")

    def start(self, positions: Mapping[str, int]) -> None:
        """Connect and stay connected. Position 0 requests every entry of a chat that the user may read."""
        self.positions.update(positions)
        self._running = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, *self._filling, return_exceptions=True)
        self.cut()

    def cut(self) -> None:
        if self._transport:
            self._transport.disconnect(graceful=False)

    def pause(self) -> None:
        """Stop reading, as a phone without reception does. The kernel's buffers fill and then stay full."""
        if self._transport:
            transport = self._transport.underlying_transport
            transport.pause_reading()
            with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as same:
                same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _PAUSED_BYTES)

    def unpause(self) -> None:
        if self._transport:
            self._transport.underlying_transport.resume_reading()

    async def ask(self, body: Body) -> Body:
        """Send a request. Raises `RequestTimeout` if the connection closes first."""
        if self._connection is None or not self._connection.is_let_in:
            raise RequestTimeout("not connected")
        number, write = self._connection.ask(body)
        answer: asyncio.Future[Body] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._do(write)
        async with asyncio.timeout(30):
            return await answer

    async def _run(self) -> None:
        task = asyncio.current_task()
        wait_s = 0.05
        while True:
            try:
                await self._visit()
                wait_s = 0.05
            except asyncio.CancelledError:
                # picows also raises this if the server dies during the handshake.
                if task is None or task.cancelling():
                    raise
            except (OSError, WSError, TimeoutError):
                wait_s = min(wait_s * 2, _MAX_WAIT_S)
            except Exception as error:  # noqa: BLE001 - a device that fails by an error of the harness would look like a loss
                self._recorder.step(f"{self.user}/{self.name}: {error!r}")
            retry_after_s, self._retry_after_s = self._retry_after_s, 0.0
            await asyncio.sleep(retry_after_s + wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load

    async def _visit(self) -> None:
        self._gone.clear()
        self._connection_number = self._recorder.new_connection()
        self.connections += 1
        self._is_asked = False
        connection = self._connection = ConnectionProtocol(lambda: self.positions, self._now())
        try:
            await ws_connect(lambda: self, self._site.next_socket(), websocket_handshake_timeout=10)
            if self._transport is None:
                # picows reports only this when the server closes the connection during the handshake.
                raise ConnectionResetError
            self._do_all(connection.opened(self._site.token(self.user), self.name, _SDK, self._epoch))
            await self._live(connection)
        finally:
            self.is_live = False
            connection.lost()
            self._fail_all()
            self.cut()
            self._transport = None

    async def _live(self, connection: ConnectionProtocol) -> None:
        while not self._gone.is_set():
            try:
                async with asyncio.timeout(_ACK_EVERY_S):
                    await self._gone.wait()
            except TimeoutError:
                self._ack()
                self._do_all(connection.on_timer(self._now()))

    @override
    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport

    @override
    def on_ws_disconnected(self, transport: WSTransport) -> None:
        if transport is self._transport:
            self._gone.set()

    @override
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if transport is not self._transport or frame.msg_type != WSMsgType.TEXT or self._connection is None:
            return
        data = frame.get_payload_as_bytes()
        if data.startswith(_ENTRY):
            chat, seen = self._frames.entry(data)
            self._took(chat, seen.sequence - 1, seen.sequence, (seen,))
        else:
            self._is_asked = self._is_asked or data.startswith(b'{"resume":')
            self._do_all(self._connection.received(data, self._now()))
        self._recorder.flush()

    def _do_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Write(data):
                if self._transport:
                    self._transport.send(WSMsgType.TEXT, data)
            case ResponseReceived(number, body):
                self._answered(number, body)
            case Authenticated(welcome):
                self._let_in(welcome.epoch)
            case PushReceived(body):
                self._pushed(body)
            case BecameLive():
                self.is_live, self._is_asked = True, False
            case ReconnectRequested(retry_after_ms, spread_ms):
                wait_ms = retry_after_ms + random.random() * spread_ms  # noqa: S311 - spreads load
                asyncio.get_running_loop().call_later(wait_ms / 1000, self.cut)
            case ConnectRefused(error):
                self._retry_after_s = (error.retry_after_ms or 0) / 1000
                self.cut()
            case Abandon():
                self.cut()

    def _let_in(self, epoch: int) -> None:
        """Reset all positions to 0 and reconnect after a restore, because sequences mean other entries now."""
        before, self._epoch = self._epoch, epoch
        self._ledger.welcomed(epoch)
        if before not in {None, epoch}:
            self.positions = dict.fromkeys(self.positions, 0)
            self._unacked.clear()
            self._enrol()
            self.cut()

    def _answered(self, number: int, body: Body) -> None:
        answer = self._answers.pop(number, None)
        if answer is not None and not answer.done():
            answer.set_result(body)

    def _pushed(self, body: Body) -> None:
        match body:
            case Entries():
                self._entries(body.chat, body.after, body.up_to, body.entries)
            case ChatRow():
                self._row(body)
            case ChatRows():
                for row in body.rows:
                    self._row(row)

    def _row(self, row: ChatRow) -> None:
        """Request all entries of a chat that is new to the device. The server may send only its row, at the head."""
        self._ledger.committed(row.chat, row.head)
        if row.chat not in self.positions:
            self.positions[row.chat] = 0
            self._fill(row.chat)

    def _entries(self, chat: str, after: int, up_to: int, entries: tuple[Entry, ...]) -> None:
        seen = tuple(sorted(self._ledger.entry(chat, entry) for entry in entries))
        self._took(chat, after, up_to, seen)

    def _took(self, chat: str, after: int, up_to: int, entries: tuple[SeenEntry, ...]) -> None:
        number = self._recorder.name(chat)
        for sequence, message, sort in entries:
            self._recorder.delivered(
                self._number,
                number,
                self._connection_number,
                sequence,
                message,
                sort=sort,
                is_asked=self._is_asked,
            )
        self._ledger.delivered += len(entries)
        position = self.positions.setdefault(chat, 0)
        if after > position:
            self._fill(chat)
        elif up_to > position:
            self.positions[chat] = self._unacked[chat] = up_to

    def _fill(self, chat: str) -> None:
        """Request the entries between the position and an entry ahead of it, as the protocol requires."""
        task = asyncio.create_task(self._filled(chat))
        self._filling.add(task)
        task.add_done_callback(self._filling.discard)

    async def _filled(self, chat: str) -> None:
        try:
            while True:
                answer = await self.ask(GetHistory(chat=chat, after=self.positions[chat], limit=200))
                if not isinstance(answer, HistoryPage) or answer.up_to <= self.positions[chat]:
                    return
                self._asked_for(chat, answer)
        except (RequestTimeout, TimeoutError):
            return  # The next connection sends the position.

    def _asked_for(self, chat: str, page: HistoryPage) -> None:
        before, self._is_asked = self._is_asked, True
        self._entries(chat, page.after, page.up_to, page.entries)
        self._is_asked = before
        self._recorder.flush()

    def _ack(self) -> None:
        unacked, self._unacked = self._unacked, {}
        if unacked and self._connection and self._connection.is_let_in and self._transport:
            self._transport.send(WSMsgType.TEXT, encode_request(Ack(delivered=unacked)))

    def _fail_all(self) -> None:
        answers, self._answers = self._answers, {}
        for answer in answers.values():
            if not answer.done():
                answer.set_exception(RequestTimeout("The connection was closed."))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
