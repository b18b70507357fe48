"""Rules over several steps of a connection: ids, requests in flight, rates, heartbeats, typing, resuming."""

from math import inf

import msgspec
import pytest
from unit.gateway.protocol_env import CONNECT, LIMITS, RESUMED, WELCOME, connection, only_call, words

from tidings.gateway.error_frames import make_error_body
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import (
    CloseConnection,
    ConnectionLimits,
    ConnectionState,
    Effect,
    HandleRequest,
    TypingThrottle,
    WriteFrame,
)
from tidings.kernel.errors import Code
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.messages import CommitResult
from tidings_wire.frames.session import Resume, Resumed


def send(request_id: int) -> bytes:
    return b'{"id":%d,"send":{"chat":"d","client_message_id":"k","text":"hi"}}' % request_id


def typing(chat: str, is_typing: str = "true") -> bytes:
    return f'{{"typing":{{"chat":"{chat}","is_typing":{is_typing}}}}}'.encode()


def frame(effect: Effect) -> dict[str, dict[str, object]]:
    assert isinstance(effect, WriteFrame)
    decoded: dict[str, dict[str, object]] = msgspec.json.decode(effect.data)
    return decoded


def test_answers_match_their_requests_in_any_order() -> None:
    made = connection()
    first, second = (only_call(made.received(send(n), 0.1)) for n in (7, 8))
    assert made.answered(second.number, CommitResult(sequence=2), 0.2) == [
        WriteFrame(b'{"id":8,"ok":{"sequence":2}}')
    ]
    assert made.answered(first.number, CommitResult(sequence=3), 0.2) == [
        WriteFrame(b'{"id":7,"ok":{"sequence":3}}')
    ]


def test_an_answer_is_given_once() -> None:
    made = connection()
    call = only_call(made.received(send(7), 0.1))
    made.answered(call.number, CommitResult(sequence=2), 0.2)
    assert made.answered(call.number, CommitResult(sequence=2), 0.2) == []


def test_a_request_id_in_flight_is_rejected_and_the_first_request_is_still_answered() -> None:
    made = connection()
    call = only_call(made.received(send(7), 0.1))
    (effect,) = made.received(send(7), 0.1)
    assert "id" not in frame(effect)
    assert frame(effect)["error"]["request_id"] == 7
    assert words(made.answered(call.number, CommitResult(sequence=2), 0.2)) == "ok"
    assert words(made.received(send(7), 0.3)) == "call"


def test_an_error_about_a_frame_whose_id_is_in_flight_is_not_taken_for_its_answer() -> None:
    made = connection()
    made.received(send(7), 0.1)
    (effect,) = made.received(b'{"id":7,"send":{"chat":5}}', 0.1)
    assert "id" not in frame(effect)


def test_requests_in_flight_are_bounded() -> None:
    made = connection()
    assert all(words(made.received(send(n + 1), 0.1)) == "call" for n in range(LIMITS.in_flight))
    (effect,) = made.received(send(99), 0.1)
    assert frame(effect)["error"]["code"] == "rate_limited"
    assert made.in_flight == LIMITS.in_flight


def test_a_device_over_its_limit_gets_a_retry_time_and_is_closed_if_it_ignores_it() -> None:
    made = connection(limits=ConnectionLimits(frames_per_s=10, burst=20))
    pings = [made.received(b'{"id":9,"ping":{}}', 0.0) for _ in range(60)]
    texts = [words(effects) for effects in pings]
    assert texts[:19] == ["ok"] * 19, "one went for `connect`"
    assert texts[19:38] == ["rate_limited"] * 19
    assert texts[38] == "close:rate_limited"
    assert texts[39:] == ["-"] * 21
    assert frame(pings[19][0])["error"]["retry_after_ms"] == 200


def test_requests_succeed_after_the_retry_time() -> None:
    made = connection(limits=ConnectionLimits(frames_per_s=10, burst=20))
    for _ in range(20):
        made.received(b'{"id":9,"ping":{}}', 0.0)
    assert words(made.received(b'{"id":9,"ping":{}}', 0.1)) == "rate_limited"
    assert words(made.received(b'{"id":9,"ping":{}}', 0.5)) == "ok"


def test_a_row_of_faults_closes_and_a_fault_now_and_then_does_not() -> None:
    hasty, calm = connection(), connection()
    texts = [words(hasty.received(b"{", 0.1)) for _ in range(LIMITS.faults + 1)]
    assert texts == ["request_invalid"] * LIMITS.faults + ["request_invalid close:frame_invalid"]
    assert all(words(calm.received(b"{", 11.0 * n)) == "request_invalid" for n in range(50))


def test_unknown_requests_never_close() -> None:
    made = connection()
    assert all(words(made.received(b'{"id":1,"dance":{}}', n)) == "unknown_request" for n in range(100))


def test_heartbeats_follow_the_announced_interval_and_silence_closes_the_connection() -> None:
    made = connection()
    assert 20 <= made.due_at <= 25
    assert words(made.on_timer(made.due_at)) == "ping!"
    assert words(made.on_timer(made.due_at)) == "close:heartbeat_timeout"


@pytest.mark.parametrize("sign", [b'{"pong":{}}', b"garbage", typing("d")])
def test_any_frame_counts_as_activity(sign: bytes) -> None:
    made = connection()
    at = made.due_at
    assert words(made.on_timer(at)) == "ping!"
    made.received(sign, at + 9.9)
    assert words(made.on_timer(at + 10)) == "-"


def test_a_process_that_was_suspended_pings_before_it_closes_silent_connections() -> None:
    """After an hour of suspension the device's frames may still lie in the socket."""
    made = connection()
    assert words(made.on_timer(3600.0)) == "ping!"
    assert words(made.on_timer(3609.0)) == "-"
    assert words(made.on_timer(3610.0)) == "close:heartbeat_timeout"


def test_a_connection_is_authenticated_within_5_seconds_or_closed() -> None:
    waiting = connection(ConnectionState.AUTHENTICATING)
    assert waiting.due_at == 5.0
    assert words(waiting.on_timer(4.99)) == "-"
    assert words(waiting.on_timer(5.0)) == "close:try_again_later"
    assert waiting.answered(1, WELCOME, 5.1) == []


def test_the_expiry_of_a_credential_closes_the_connection() -> None:
    made = connection(welcome=msgspec.structs.replace(WELCOME, at=1_000_000, expires_at=1_010_000))
    assert words(made.on_timer(9.9)) == "-"
    assert words(made.on_timer(10.0)) == "close:credential_expired"


def test_typing_is_debounced_for_each_chat_and_its_end_is_sent_immediately() -> None:
    made = connection()
    texts = [
        words(made.received(typing("a"), 0.0)),
        words(made.received(typing("a"), 2.9)),
        words(made.received(typing("b"), 2.9)),
        words(made.received(typing("a"), 3.0)),
        words(made.received(typing("a", "false"), 3.1)),
    ]
    assert texts == ["call", "-", "call", "call", "call"]


def test_the_number_of_chats_with_typing_is_bounded() -> None:
    gate = TypingThrottle(every_s=3.0, chats=2)
    assert all(gate.passes(chat, 0.0, is_typing=True) for chat in ("a", "b", "c"))
    assert not gate.passes("c", 0.1, is_typing=True)
    assert gate.passes("a", 0.1, is_typing=True), "the oldest is forgotten"
    assert len(gate._passed) == 2


def test_typing_that_is_not_passed_on_is_still_answered() -> None:
    made = connection()
    made.received(typing("a"), 0.0)
    assert words(made.received(b'{"id":3,"typing":{"chat":"a"}}', 0.1)) == "ok"


def test_the_positions_of_connect_are_resumed_from() -> None:
    made = connection(ConnectionState.CONNECTING)
    data = b'{"id":1,"connect":{"credential":"c","protocol":1,"epoch":3,"positions":{"d":41}}}'
    call = only_call(made.received(data, 0.0))
    resume = only_call(made.answered(call.number, WELCOME, 0.1))
    assert resume.request == Resume(positions={"d": 41}, epoch=3)


def test_positions_in_parts_are_resumed_part_by_part_and_only_then_it_is_live() -> None:
    made = connection(ConnectionState.CONNECTING)
    call = only_call(made.received(CONNECT[:-2] + b',"has_more":true}}', 0.0))
    part = only_call(made.answered(call.number, WELCOME, 0.1))
    assert words(made.answered(part.number, Resumed(epoch=0, has_more=True), 0.2)) == "resumed!"
    assert made.state.value == "resuming"
    part = only_call(made.received(b'{"id":2,"resume":{"positions":{"d":1}}}', 0.3))
    assert words(made.answered(part.number, RESUMED, 0.4)) == "ok"
    assert made.state.value == "live"
    assert made.due_at > 20


def test_a_live_connection_outlives_a_resume_that_failed() -> None:
    made = connection()
    call = only_call(made.received(b'{"id":2,"resume":{}}', 0.1))
    assert words(made.answered(call.number, make_error_body(Code.OVERLOADED, "no"), 0.2)) == "overloaded"
    assert made.state is ConnectionState.LIVE


def test_a_device_that_drains_during_its_resume_still_gets_resumed() -> None:
    made = connection(ConnectionState.RESUMING)
    made.drain(1000, 1000, 0.1)
    assert words(made.answered(2, RESUMED, 0.2)) == "resumed!"
    assert made.state is ConnectionState.DRAINING


def test_requests_in_flight_are_answered_while_draining() -> None:
    made = connection()
    call = only_call(made.received(send(7), 0.1))
    made.drain(1000, 30_000, 0.2)
    assert words(made.answered(call.number, CommitResult(sequence=2), 0.3)) == "ok"


def test_a_reconnect_close_has_a_jittered_delay_and_a_terminal_close_has_none() -> None:
    low, high = ConnectionProtocol(LIMITS, 0.0, lambda: 0.0), ConnectionProtocol(LIMITS, 0.0, lambda: 1.0)
    assert low.on_timer(5.0) == [
        CloseConnection(CloseCode.CONNECT_TIMEOUT, "connect_timeout retry_after_ms=1000")
    ]
    assert high.on_timer(5.0) == [
        CloseConnection(CloseCode.CONNECT_TIMEOUT, "connect_timeout retry_after_ms=2000")
    ]
    _, close = connection(ConnectionState.CONNECTING).received(b'{"id":1,"ping":{}}', 0.0)
    assert close == CloseConnection(CloseCode.CONNECT_EXPECTED, "connect_expected")


def test_a_rejected_connect_has_a_retry_time() -> None:
    made = connection(ConnectionState.AUTHENTICATING)
    error = make_error_body(Code.RATE_LIMITED, "full", retry_after_ms=777)
    effect, close = made.answered(1, error, 0.1)
    assert frame(effect)["error"]["retry_after_ms"] == 777
    assert close == CloseConnection(CloseCode.TRY_AGAIN_LATER, "try_again_later retry_after_ms=777")


def test_a_closed_connection_has_no_state_and_no_timer() -> None:
    made = connection()
    call = only_call(made.received(send(7), 0.1))
    made.received(typing("a"), 0.1)
    made.lost()
    assert made.in_flight == 0
    assert made.due_at == inf
    assert made.answered(call.number, CommitResult(sequence=2), 0.2) == []
    assert made.pushed(b"{}") == []


def test_a_call_without_an_id_is_made_and_not_answered() -> None:
    made = connection()
    (call,) = made.received(b'{"ack":{"delivered":{"d":1}}}', 0.1)
    assert isinstance(call, HandleRequest)
    assert made.answered(call.number, make_error_body(Code.INTERNAL, "no"), 0.2) == []


@pytest.mark.parametrize(
    "state",
    [
        ConnectionState.CONNECTING,
        ConnectionState.AUTHENTICATING,
        ConnectionState.RESUMING,
        ConnectionState.LIVE,
    ],
)
def test_pings_and_fragments_count_as_frames_in_every_state(state: ConnectionState) -> None:
    made = connection(state)
    closes = [effects for _ in range(2 * LIMITS.burst + 1) if (effects := made.received_part(0.0))]
    assert list(map(words, closes)) == ["close:rate_limited"]
    quiet = connection(state)
    assert not any(quiet.received_part(float(second)) for second in range(1, 5))
