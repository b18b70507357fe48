"""Connections in every state, and a short notation of their effects for tables."""

import msgspec

from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import (
    CloseConnection,
    ConnectionLimits,
    ConnectionState,
    Effect,
    HandleRequest,
    WriteFrame,
)
from tidings_wire.frames.session import Limits as LimitsTold
from tidings_wire.frames.session import Resumed, Welcome

LIMITS = ConnectionLimits()
CONNECT = b'{"id":1,"connect":{"credential":"c","protocol":1}}'
WELCOME = Welcome(
    protocol=1,
    user="anna",
    device="phone-1",
    epoch=0,
    at=0,
    heartbeat_s=25,
    limits=LimitsTold(frame_bytes=1, in_flight=1, frames_per_s=1, burst=1),
)
RESUMED = Resumed(epoch=0)


def connection(
    state: ConnectionState = ConnectionState.LIVE,
    limits: ConnectionLimits = LIMITS,
    welcome: Welcome = WELCOME,
) -> ConnectionProtocol:
    """Return a connection in this state, reached by the frames of a device at time 0."""
    made = ConnectionProtocol(limits, 0.0, lambda: 0.5)
    if state is ConnectionState.CONNECTING:
        return made
    call = only_call(made.received(CONNECT, 0.0))
    if state is ConnectionState.AUTHENTICATING:
        return made
    resume = only_call(made.answered(call.number, welcome, 0.0))
    if state is ConnectionState.RESUMING:
        return made
    made.answered(resume.number, RESUMED, 0.0)
    if state is ConnectionState.DRAINING:
        made.drain(1000, 30_000, 0.0)
    if state is ConnectionState.CLOSED:
        made.lost()
    assert made.state is state
    return made


def only_call(effects: list[Effect]) -> HandleRequest:
    (call,) = (effect for effect in effects if isinstance(effect, HandleRequest))
    return call


def words(effects: list[Effect]) -> str:
    """`call`, `ok`, an error's code, a push's name with `!`, `close:` and its name; `-` for nothing."""
    return " ".join(map(_word, effects)) or "-"


def _word(effect: Effect) -> str:
    match effect:
        case HandleRequest():
            return "call"
        case CloseConnection(code, _):
            return f"close:{code.name.lower()}"
        case WriteFrame(data):
            return _frame_word(msgspec.json.decode(data))


def _frame_word(frame: dict[str, dict[str, object]]) -> str:
    if "ok" in frame:
        return "ok"
    if "error" in frame:
        return str(frame["error"]["code"])
    ((name, _),) = frame.items()
    return f"{name}!"
