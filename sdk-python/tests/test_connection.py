"""The state machine of a connection, without a socket and a clock."""

import json

import pytest

from tidings_sdk.backoff import Backoff
from tidings_sdk.protocol import (
    Abandon,
    Authenticated,
    BecameLive,
    ConnectionProtocol,
    ConnectRefused,
    PushReceived,
    ReconnectRequested,
    ResponseReceived,
    State,
    Write,
)
from tidings_sdk.token_bucket import TokenBucket
from tidings_wire.frames.ephemeral import TypingPush
from tidings_wire.frames.history import GetHistory, HistoryPage

WELCOME = (
    '{"id":1,"ok":{"protocol":1,"user":"anna","device":"d","epoch":3,"at":1,"heartbeat_s":25,'
    '"limits":{"frame_bytes":65536,"in_flight":32,"frames_per_s":50,"burst":100}}}'
)


def opened(positions: dict[str, int] | None = None) -> tuple[ConnectionProtocol, dict[str, object]]:
    connection = ConnectionProtocol(lambda: positions or {}, 0.0)
    (hello,) = connection.opened("secret", "d", "sdk", 3)
    assert isinstance(hello, Write)
    return connection, json.loads(hello.data)


def live() -> ConnectionProtocol:
    connection, _ = opened()
    connection.received(WELCOME, 1.0)
    connection.received('{"resumed":{"epoch":3}}', 1.0)
    assert connection.state is State.LIVE
    return connection


def test_a_connection_authenticates_and_becomes_live() -> None:
    connection, hello = opened({"g1": 4})
    assert hello == {
        "id": 1,
        "connect": {
            "credential": "secret",
            "protocol": 1,
            "device": "d",
            "sdk": "sdk",
            "epoch": 3,
            "positions": {"g1": 4},
        },
    }
    assert connection.state is State.AUTHENTICATING
    (let_in,) = connection.received(WELCOME, 1.0)
    assert isinstance(let_in, Authenticated)
    assert connection.is_let_in
    (went_live,) = connection.received('{"resumed":{"epoch":3}}', 1.0)
    assert isinstance(went_live, BecameLive)


def test_many_positions_are_sent_in_parts() -> None:
    connection, hello = opened({f"g{number}": 1 for number in range(2_500)})
    bodies = [hello["connect"]]
    connection.received(WELCOME, 1.0)
    (effect,) = connection.received('{"resumed":{"epoch":3,"has_more":true}}', 1.0)
    while isinstance(effect, Write):
        frame = json.loads(effect.data)
        bodies.append(frame["resume"])
        answer = {"id": frame["id"], "ok": {"epoch": 3}}
        (effect,) = connection.received(json.dumps(answer), 1.0)
    assert isinstance(effect, BecameLive)
    assert [(len(part["positions"]), part.get("has_more", False)) for part in bodies] == [  # type: ignore[index, attr-defined]  # JSON
        (1000, True),
        (1000, True),
        (500, False),
    ]


def test_answers_are_read_in_the_form_of_their_request_and_only_once() -> None:
    connection = live()
    request_id, _ = connection.ask(GetHistory(chat="g1"))
    answer = json.dumps({"id": request_id, "ok": {"after": 0, "up_to": 0, "entries": []}})
    assert connection.received(answer, 2.0) == [
        ResponseReceived(request_id, HistoryPage(after=0, up_to=0, entries=()))
    ]
    assert connection.received(answer, 2.0) == []


def test_the_answer_to_a_dropped_request_is_ignored() -> None:
    connection = live()
    request_id, _ = connection.ask(GetHistory(chat="g1"))
    connection.drop_request(request_id)
    assert connection.received(json.dumps({"id": request_id, "ok": {}}), 2.0) == []


def test_silence_beyond_heartbeat_and_grace_abandons_the_connection() -> None:
    connection = live()
    assert connection.on_timer(35.9) == []
    (pong,) = connection.received('{"ping":{}}', 30.0)
    assert pong == Write(b'{"pong":{}}')
    assert connection.on_timer(64.9) == []
    (gone,) = connection.on_timer(65.0)
    assert isinstance(gone, Abandon)
    assert connection.state is State.CLOSED


def test_a_connect_without_an_answer_in_time_is_abandoned() -> None:
    connection, _ = opened()
    (gone,) = connection.on_timer(10.0)
    assert isinstance(gone, Abandon)


@pytest.mark.parametrize("frame", ["", "[]", "{", '{"id":"x","ok":{}}', '{"entry":{"chat":1}}', '{"id":1}'])
def test_an_invalid_frame_ends_the_connection_without_raising(frame: str) -> None:
    connection, _ = opened()
    (gone,) = connection.received(frame, 1.0)
    assert isinstance(gone, Abandon)
    assert connection.received(WELCOME, 1.0) == []


def test_pushes_and_refusals_become_effects() -> None:
    connection = live()
    assert connection.received('{"typing":{"chat":"g1","user":"ben"}}', 2.0) == [
        PushReceived(TypingPush(chat="g1", user="ben"))
    ]
    assert connection.received('{"reconnect":{"retry_after_ms":1,"spread_ms":2,"reason":"x"}}', 2.0) == [
        ReconnectRequested(1, 2)
    ]
    assert connection.state is State.DRAINING
    fresh, _ = opened()
    (turned_away,) = fresh.received('{"id":1,"error":{"code":"forbidden","message":"no"}}', 1.0)
    assert isinstance(turned_away, ConnectRefused)


def test_a_pushed_resume_sends_the_current_positions() -> None:
    held = {"g1": 1}
    connection = ConnectionProtocol(lambda: held, 0.0)
    connection.opened("secret", "d", "sdk", 3)
    connection.received(WELCOME, 1.0)
    connection.received('{"resumed":{"epoch":3}}', 1.0)
    held["g1"] = 7
    (write,) = connection.received('{"resume":{}}', 2.0)
    assert isinstance(write, Write)
    assert json.loads(write.data) == {"id": 2, "resume": {"positions": {"g1": 7}, "epoch": 3}}


def test_the_backoff_doubles_up_to_its_bound_and_resets_after_a_live_minute() -> None:
    backoff = Backoff(lambda: 1.0)
    assert [backoff.wait_s(0.0) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    backoff.is_live(100.0)
    assert backoff.wait_s(159.0) == 30
    backoff.is_live(200.0)
    assert backoff.wait_s(260.0) == 1
    assert backoff.wait_s(261.0, retry_after_ms=1374) == 1.374
    assert backoff.wait_s(262.0, retry_after_ms=1000, spread_ms=500) == 1.5


def test_the_token_bucket_leaves_room_for_heartbeats() -> None:
    pace = TokenBucket(50, 100, 0.0)
    taken = sum(pace.take(0.0) == 0 for _ in range(200))
    assert taken == 80
    assert pace.take(0.0) == pytest.approx(1 / 40)
    assert pace.take(1.0) == 0
