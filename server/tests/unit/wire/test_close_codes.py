"""Close codes: two ranges, stable names, reasons that fit into a close frame."""

from tidings.kernel.errors import Code
from tidings_wire.close_codes import RECONNECT, TERMINAL, TEXTS, CloseCode, close_code_for_error, close_reason

MAX_REASON_BYTES = 123


def test_every_code_lies_in_one_of_the_two_ranges_and_has_a_text() -> None:
    assert all((code in RECONNECT) != (code in TERMINAL) for code in CloseCode)
    assert list(TEXTS) == list(CloseCode)


def test_the_codes_are_those_of_the_first_publication() -> None:
    """A code is never reused: a new one gets a new line here."""
    assert {code.value: code.name for code in CloseCode} == {
        4000: "SERVER_SHUTDOWN",
        4001: "HEARTBEAT_TIMEOUT",
        4002: "SLOW_CONSUMER",
        4003: "CONNECT_TIMEOUT",
        4004: "RATE_LIMITED",
        4005: "TRY_AGAIN_LATER",
        4006: "CREDENTIAL_EXPIRED",
        4500: "CREDENTIAL_INVALID",
        4501: "FRAME_INVALID",
        4502: "FRAME_TOO_LARGE",
        4503: "CONNECT_EXPECTED",
        4504: "PROTOCOL_UNSUPPORTED",
        4505: "REPLACED",
        4506: "SESSION_REVOKED",
        4507: "FORBIDDEN",
        4508: "TOO_MANY_DEVICES",
    }


def test_a_reason_fits_into_a_close_frame() -> None:
    assert all(len(close_reason(code, 10**9).encode()) <= MAX_REASON_BYTES for code in CloseCode)
    assert close_reason(CloseCode.TRY_AGAIN_LATER, 1374) == "try_again_later retry_after_ms=1374"


def test_a_refused_connect_is_terminal_only_where_the_device_must_change_something() -> None:
    terminal = {code for code in Code if not close_code_for_error(code).is_reconnect}
    assert terminal == {Code.CREDENTIAL_INVALID, Code.FORBIDDEN, Code.REQUEST_INVALID}
