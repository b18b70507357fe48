"""Every state with every frame and event. The expected effects are written by hand."""

from collections.abc import Callable

import pytest
from msgspec import Struct
from unit.gateway.protocol_env import LIMITS, RESUMED, WELCOME, connection, words

from tidings.gateway.error_frames import make_error_body
from tidings.gateway.protocol import ConnectionProtocol
from tidings.gateway.protocol_state import ConnectionState, Effect
from tidings.kernel.errors import Code
from tidings_wire.close_codes import CloseCode
from tidings_wire.frames.registry import REQUESTS
from tidings_wire.frames.structs import Ok
from tools.protocol.samples.requests import REQUESTS as SAMPLES

FRAMES = {
    **{kind.name: next(one.data for one in SAMPLES if one.name == kind.name) for kind in REQUESTS},
    "unknown kind": b'{"id":7,"dance":{}}',
    "not valid": b'{"id":7,"send":{"chat":5}}',
    "without its id": b'{"history":{"chat":"d"}}',
    "not JSON": b"hello",
    "not an object": b"[]",
    "empty": b"",
    "too deep": b'{"id":7,"send":' + b"[" * 50,
    "too large": b'{"id":7,"ping":{}}'.ljust(LIMITS.max_frame_bytes + 1),
}

BY_FRAME = """
                | connecting                              | authenticating  | resuming        | live            | draining        | closed
connect         | call                                    | request_invalid | request_invalid | request_invalid | request_invalid | -
resume          | request_invalid close:connect_expected  | request_invalid | request_invalid | call            | overloaded      | -
send            | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
edit            | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
redact          | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
react           | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
history         | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
ack             | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
read            | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
counts          | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
notifications         | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
mark            | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
preferences     | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
register_push   | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
unregister_push | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
push_preferences| request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
set_push_preferences| request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
web_push_key    | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
badge           | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
typing          | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
presence        | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
subscribe       | request_invalid close:connect_expected  | request_invalid | call            | call            | overloaded      | -
unsubscribe     | request_invalid close:connect_expected  | request_invalid | call            | call            | call            | -
ping            | request_invalid close:connect_expected  | ok              | ok              | ok              | ok              | -
pong            | request_invalid close:connect_expected  | -               | -               | -               | -               | -
unknown kind    | unknown_request close:connect_expected  | unknown_request | unknown_request | unknown_request | unknown_request | -
not valid       | request_invalid close:frame_invalid     | request_invalid | request_invalid | request_invalid | request_invalid | -
without its id  | request_invalid close:frame_invalid     | request_invalid | request_invalid | request_invalid | request_invalid | -
not JSON        | request_invalid close:frame_invalid     | request_invalid | request_invalid | request_invalid | request_invalid | -
not an object   | request_invalid close:frame_invalid     | request_invalid | request_invalid | request_invalid | request_invalid | -
empty           | request_invalid close:frame_invalid     | request_invalid | request_invalid | request_invalid | request_invalid | -
too deep        | request_invalid close:frame_invalid     | request_invalid | request_invalid | request_invalid | request_invalid | -
too large       | close:frame_too_large                   | close:frame_too_large | close:frame_too_large | close:frame_too_large | close:frame_too_large | -
"""

BY_EVENT = """
                   | connecting            | authenticating               | resuming               | live     | draining      | closed
nothing for 0.1 s  | -                     | -                            | -                      | -        | -             | -
nothing for 5 s    | close:connect_timeout | close:try_again_later              | -                      | -        | -             | -
nothing for 24 s   | close:connect_timeout | close:try_again_later              | ping!                  | ping!    | ping!         | -
nothing for 30 s   | close:connect_timeout | close:try_again_later              | close:try_again_later        | ping!    | ping!         | -
nothing for 36 s   | close:connect_timeout | close:try_again_later              | close:try_again_later        | ping!    | close:server_shutdown | -
the answer         | -                     | ok call                      | resumed!               | -        | -             | -
an error           | -                     | overloaded close:try_again_later   | close:try_again_later        | -        | -             | -
no such person     | -                     | credential_invalid close:credential_invalid | close:try_again_later | - | -           | -
an old credential  | -                     | credential_expired close:credential_expired | close:try_again_later | - | -           | -
something else     | -                     | internal close:try_again_later     | close:try_again_later        | -        | -             | -
a push             | -                     | -                            | entry!                 | entry!   | entry!        | -
drain              | close:server_shutdown         | close:server_shutdown                | reconnect!             | reconnect! | -           | -
slow consumer      | close:slow_consumer   | close:slow_consumer          | close:slow_consumer    | close:slow_consumer | close:slow_consumer | -
"""

ERRORS = {
    "an error": Code.OVERLOADED,
    "no such person": Code.CREDENTIAL_INVALID,
    "an old credential": Code.CREDENTIAL_EXPIRED,
}


def rows(table: str) -> list[tuple[str, ConnectionState, str]]:
    head, *lines = table.strip("\n").splitlines()
    states = [ConnectionState(name.strip()) for name in head.split("|")[1:]]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [(what, state, cell) for what, *row in cells for state, cell in zip(states, row, strict=True)]


def test_the_tables_are_complete() -> None:
    assert {(what, state) for what, state, _ in rows(BY_FRAME)} == {
        (f, s) for f in FRAMES for s in ConnectionState
    }
    assert {state for _, state, _ in rows(BY_EVENT)} == set(ConnectionState)


@pytest.mark.parametrize(("what", "state", "expected"), rows(BY_FRAME))
def test_each_frame_in_each_state_has_the_effect_of_the_table(
    what: str, state: ConnectionState, expected: str
) -> None:
    made = connection(state)
    assert words(made.received(FRAMES[what], 0.1)) == expected
    if "close" in expected:
        assert made.state is ConnectionState.CLOSED


@pytest.mark.parametrize(("what", "state", "expected"), rows(BY_EVENT))
def test_each_event_in_each_state_has_the_effect_of_the_table(
    what: str, state: ConnectionState, expected: str
) -> None:
    made = connection(state)
    assert words(_happen(made, what, state)) == expected
    if "close" in expected:
        assert made.state is ConnectionState.CLOSED


def _happen(made: ConnectionProtocol, what: str, state: ConnectionState) -> list[Effect]:
    """The call that a connection in this state waits for has the number of its step."""
    waits_for = 2 if state is ConnectionState.RESUMING else 1
    if what.startswith("nothing for"):
        return made.on_timer(float(what.split()[2]))
    if what in EVENTS:
        return EVENTS[what](made)
    answer: Struct = make_error_body(ERRORS[what], "no") if what in ERRORS else Ok()
    if what == "the answer":
        answer = WELCOME if state is ConnectionState.AUTHENTICATING else RESUMED
    return made.answered(waits_for, answer, 0.1)


EVENTS: dict[str, Callable[[ConnectionProtocol], list[Effect]]] = {
    "a push": lambda made: made.pushed(b'{"entry":{}}'),
    "drain": lambda made: made.drain(1000, 30_000, 0.1),
    "slow consumer": lambda made: made.close(CloseCode.SLOW_CONSUMER),
}
