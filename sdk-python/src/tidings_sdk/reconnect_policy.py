"""Decide after the end of a connection whether to reconnect, when, and with which credential. Without I/O."""

from collections.abc import Mapping
from typing import Final, final

import msgspec

from tidings_sdk import close_codes
from tidings_sdk.backoff import Backoff
from tidings_sdk.close_codes import ReconnectDecision
from tidings_sdk.credentials import Credentials
from tidings_sdk.errors import ClientStopped, CredentialRefused, ProtocolUnsupported
from tidings_wire.close_codes import CloseCode

_CLIENT_ERRORS: Final = range(400, 500)
_RETRYABLE_STATUSES: Final = frozenset({408, 425, 429})
_CREDENTIAL_CODES: Final = frozenset(
    {
        CloseCode.CREDENTIAL_EXPIRED,
        CloseCode.CREDENTIAL_INVALID,
        CloseCode.SESSION_REVOKED,
        CloseCode.FORBIDDEN,
    }
)


class _Problem(msgspec.Struct):
    retry_after_ms: int | None = None


@final
class ReconnectPolicy:
    def __init__(self, credentials: Credentials, backoff: Backoff) -> None:
        self._credentials = credentials
        self._backoff = backoff

    def after(self, code: int, reason: str, now: float) -> float:
        """Return how long to wait before reconnecting. Raises `ClientStopped` if reconnecting cannot help."""
        decision = close_codes.decide_reconnect(code, reason)
        wait_s = self._backoff.wait_s(now, decision.retry_after_ms)
        if decision.wants_credential and self._credentials.can_renew():
            return self._with_new_credential(code, reason, decision, wait_s, now)
        if decision.is_terminal or decision.wants_credential:
            raise _stop(code, reason)
        return wait_s

    def after_http(
        self, status: int, headers: Mapping[str, str], body: bytes | bytearray, now: float
    ) -> float:
        """Return how long to wait after an HTTP error instead of a WebSocket.

        A status 4xx means a wrong URL or origin and raises `ClientStopped`, except for 408, 425 and 429.
        """
        if status in _CLIENT_ERRORS and status not in _RETRYABLE_STATUSES:
            raise ClientStopped(
                f"The server answered the WebSocket handshake with HTTP {status}. Check the URL and the origin."
            )
        retry_after_s = headers.get("Retry-After", "")
        retry_after_ms = _requested_delay_ms(body) or (
            int(retry_after_s) * 1000 if retry_after_s.isdigit() else None
        )
        return self._backoff.wait_s(now, retry_after_ms)

    def _with_new_credential(
        self, code: int, reason: str, decision: ReconnectDecision, wait_s: float, now: float
    ) -> float:
        """Request another credential from the provider, and return how long to wait.

        If a new credential is refused, stop. If a new credential has already expired, a clock may be wrong: retry, with
        the client's own backoff if it is longer.
        """
        was_fresh = self._credentials.is_fresh
        self._credentials.renew()
        if was_fresh and decision.is_terminal:
            raise _stop(code, reason)
        return max(wait_s, self._backoff.wait_s(now)) if was_fresh else wait_s


def _stop(code: int, reason: str) -> ClientStopped:
    text = f"The server closed the connection with {code}: {reason}"
    if code in _CREDENTIAL_CODES:
        return CredentialRefused(text, code)
    return (ProtocolUnsupported if code == CloseCode.PROTOCOL_UNSUPPORTED else ClientStopped)(text, code)


def _requested_delay_ms(body: bytes | bytearray) -> int | None:
    """Read the delay from the problem in the body. A proxy in front of the gateway may send any other body."""
    try:
        return msgspec.json.decode(body, type=_Problem).retry_after_ms
    except msgspec.DecodeError:
        return None
