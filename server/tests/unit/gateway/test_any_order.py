"""Whatever happens in whatever order: a connection never raises, answers once, closes once, and stays small."""

import sys
from collections import Counter
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from unit.gateway.protocol_env import RESUMED, WELCOME

from tidings.gateway.error_frames import make_error_body
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import (
    CloseConnection,
    ConnectionLimits,
    ConnectionState,
    Effect,
    HandleRequest,
    WriteFrame,
)
from tidings.kernel.errors import Code
from tidings.wire.close_codes import CloseCode
from tidings.wire.frames.session import Connect, Resume
from tidings.wire.frames.structs import Ok
from tools.protocol.samples.refused import REFUSED
from tools.protocol.samples.requests import REQUESTS

LIMITS = ConnectionLimits(in_flight=4, burst=40, frames_per_s=20, typing_chats=2)
FRAMES = [one.data for one in (*REQUESTS, *REFUSED) if len(one.data) < 1000]


class AnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.connection = ConnectionProtocol(LIMITS, 0.0, lambda: 0.5)
        self.calls: list[HandleRequest] = []
        self.asked: Counter[int] = Counter()
        self.answered: Counter[int] = Counter()
        self.closes = 0
        self.is_lost = False

    def took(self, effects: list[Effect]) -> None:
        if self.closes or self.is_lost:
            assert effects == [], "nothing after the close"
        for effect in effects:
            assert self.closes == 0, "the close is the last effect"
            match effect:
                case CloseConnection(code, reason):
                    self.closes += 1
                    assert code in CloseCode
                    assert len(reason) <= 123
                case HandleRequest():
                    self.calls.append(effect)
                case WriteFrame(data):
                    self._wrote(msgspec.json.decode(data))

    def _wrote(self, frame: dict[str, Any]) -> None:
        if "id" in frame:
            self.answered[frame["id"]] += 1

    @rule(data=st.sampled_from(FRAMES))
    def a_frame(self, data: bytes) -> None:
        try:
            frame = msgspec.json.decode(data)
        except ValueError:
            frame = None
        if isinstance(frame, dict) and isinstance(frame.get("id"), int):
            self.asked[frame["id"]] += 1
        elif data.startswith(b'{"id":7,'):
            self.asked[7] += 1
        self.took(self.connection.received(data, self.now))

    @rule(data=st.binary(max_size=60))
    def any_bytes(self, data: bytes) -> None:
        self.took(self.connection.received(data, self.now))

    @rule(data=st.data(), is_good=st.booleans())
    def an_answer(self, data: st.DataObject, is_good: bool) -> None:  # noqa: FBT001 - hypothesis calls by name
        if not self.calls:
            return
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        body = _answer(call) if is_good else make_error_body(Code.OVERLOADED, "no")
        self.took(self.connection.answered(call.number, body, self.now))

    @rule(number=st.integers(0, 50))
    def an_answer_to_nothing(self, number: int) -> None:
        if all(call.number != number for call in self.calls):
            assert self.connection.answered(number, Ok(), self.now) == []

    @rule(passed_s=st.sampled_from([0.01, 0.5, 4.0, 26.0]))
    def time(self, passed_s: float) -> None:
        self.now += passed_s
        self.took(self.connection.on_timer(self.now))

    @rule()
    def time_until_due(self) -> None:
        self.now = max(self.now, min(self.connection.due_at, self.now + 100))
        self.took(self.connection.on_timer(self.now))

    @rule()
    def a_push(self) -> None:
        self.took(self.connection.pushed(b'{"entry":{}}'))

    @rule()
    def a_drain(self) -> None:
        self.took(self.connection.drain(100, 1000, self.now))

    @rule(is_tried=st.sampled_from([True] + [False] * 9))
    def an_end(self, is_tried: bool) -> None:  # noqa: FBT001 - hypothesis calls by name
        if is_tried:
            self.took(self.connection.close(CloseCode.REPLACED))

    @rule(is_tried=st.sampled_from([True] + [False] * 9))
    def a_loss(self, is_tried: bool) -> None:  # noqa: FBT001 - hypothesis calls by name
        if is_tried:
            self.connection.lost()
            self.is_lost = True

    @invariant()
    def at_most_one_answer_for_each_request(self) -> None:
        assert all(self.answered[n] <= self.asked[n] for n in self.answered)

    @invariant()
    def is_bounded(self) -> None:
        held = self.connection
        assert held.in_flight <= LIMITS.in_flight
        assert len(held._ids) <= held.in_flight
        assert held._typing is None or len(held._typing._passed) <= LIMITS.typing_chats
        assert sys.getsizeof(held) < 512

    @invariant()
    def closed_is_closed(self) -> None:
        assert (self.connection.state is ConnectionState.CLOSED) == bool(self.closes or self.is_lost)
        assert self.closes <= 1


def _answer(call: HandleRequest) -> msgspec.Struct:
    if isinstance(call.request, Connect):
        return WELCOME
    return RESUMED if isinstance(call.request, Resume) else Ok()


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
