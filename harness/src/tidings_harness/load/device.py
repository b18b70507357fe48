"""A device of the load kit: the SDK's connection and frames over picows. It measures, and keeps no history."""

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from typing import Final, final, override

from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from tidings_harness.workload.target import SetupFailed, TargetInstallation
from tidings_sdk.codec import encode_request
from tidings_sdk.protocol import (
    BecameLive,
    ConnectionProtocol,
    ConnectRefused,
    Effect,
    PushReceived,
    ResponseReceived,
    Write,
)
from tidings_wire.frames.ephemeral import Ack
from tidings_wire.frames.history import Entries, Entry, EntryPush
from tidings_wire.frames.structs import Body

_SDK: Final = f"tidings-harness/{version('tidings-harness')}"
_TIMER_S: Final = 1.0
_LIVE_S: Final = 30.0

type OnEntry = Callable[[Entry, float], None]
"""Called with each pushed entry and the time of its arrival."""


@final
class LoadDevice(WSListener):
    """One connection. It acknowledges entries once a second, as the SDK does, and does not reconnect."""

    def __init__(self, user: str, on_entry: OnEntry) -> None:
        self.user = user
        self.is_lost = False
        self._on_entry = on_entry
        self._loop = asyncio.get_running_loop()
        self._transport: WSTransport | None = None
        self._protocol = ConnectionProtocol(dict, self._loop.time())
        self._answers: dict[int, Callable[[Body, float], None]] = {}
        self._unacked: dict[str, int] = {}
        self._live: asyncio.Future[None] = self._loop.create_future()
        self._timer: asyncio.TimerHandle | None = None

    async def open(self, site: TargetInstallation) -> None:
        """Connect and wait until the device is live. Raises `SetupFailed` if the installation refuses it."""
        await ws_connect(lambda: self, site.next_socket(), websocket_handshake_timeout=10)
        self._do_all(self._protocol.opened(site.token(self.user), "load", _SDK, None))
        async with asyncio.timeout(_LIVE_S):
            await self._live
        self._timer = self._loop.call_later(_TIMER_S, self._on_timer)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.disconnect(graceful=False)

    def ask(self, body: Body, on_answer: Callable[[Body, float], None]) -> None:
        """Send a request. `on_answer` is called with the response and the time of its arrival."""
        number, write = self._protocol.ask(body)
        self._answers[number] = on_answer
        self._do(write)

    @override
    def on_ws_connected(self, transport: WSTransport) -> None:
        self._transport = transport

    @override
    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.is_lost = True
        self._settle(SetupFailed("A gateway closed a connection before it was live."))

    @override
    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type == WSMsgType.TEXT:
            self._do_all(self._protocol.received(frame.get_payload_as_bytes(), self._loop.time()))

    def _on_timer(self) -> None:
        unacked, self._unacked = self._unacked, {}
        if unacked and self._transport is not None:
            self._transport.send(WSMsgType.TEXT, encode_request(Ack(delivered=unacked)))
        self._do_all(self._protocol.on_timer(self._loop.time()))
        self._timer = self._loop.call_later(_TIMER_S, self._on_timer)

    def _do_all(self, effects: list[Effect]) -> None:
        for effect in effects:
            self._do(effect)

    def _do(self, effect: Effect) -> None:
        match effect:
            case Write(data) if self._transport is not None and not self.is_lost:
                self._transport.send(WSMsgType.TEXT, data)
            case ResponseReceived(number, body) if on_answer := self._answers.pop(number, None):
                on_answer(body, self._loop.time())
            case PushReceived(EntryPush() as entry):
                self._pushed(entry.chat, entry)
            case PushReceived(Entries(chat=chat, entries=entries)):
                for each in entries:
                    self._pushed(chat, each)
            case BecameLive():
                self._settle(None)
            case ConnectRefused(error):
                self._settle(SetupFailed(f"The gateway refused a device: {error.code}."))

    def _settle(self, error: SetupFailed | None) -> None:
        if self._live.done():
            return
        if error is None:
            self._live.set_result(None)
        else:
            self._live.set_exception(error)

    def _pushed(self, chat: str, entry: Entry) -> None:
        self._unacked[chat] = max(entry.sequence, self._unacked.get(chat, 0))
        self._on_entry(entry, self._loop.time())
