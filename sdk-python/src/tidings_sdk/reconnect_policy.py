"""After a connection has ended: come back or not, when, and with which credential. Pure."""

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
_LATER: Final = frozenset({408, 425, 429})
_LOGIN: Final = frozenset(
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
        """How long to wait; raises where coming back is of no use."""
        verdict = close_codes.decide_reconnect(code, reason)
        wait_s = self._backoff.wait_s(now, verdict.retry_after_ms)
        if verdict.wants_credential and self._credentials.can_renew():
            return self._with_another(code, reason, verdict, wait_s, now)
        if verdict.is_terminal or verdict.wants_credential:
            raise _stop(code, reason)
        return wait_s

    def after_http(
        self, status: int, headers: Mapping[str, str], body: bytes | bytearray, now: float
    ) -> float:
        """The socket was not opened. 4xx is a wrong address or origin, but for those that mean "later"."""
        if status in _CLIENT_ERRORS and status not in _LATER:
            raise ClientStopped(f"The address of the socket answered with HTTP {status}.")
        told_s = headers.get("Retry-After", "")
        told_ms = _requested_delay_ms(body) or (int(told_s) * 1000 if told_s.isdigit() else None)
        return self._backoff.wait_s(now, told_ms)

    def _with_another(
        self, code: int, reason: str, verdict: ReconnectDecision, wait_s: float, now: float
    ) -> float:
        """A credential that was good is over: the provider has another. A new one that is refused is no use.

        One that has expired as it comes from the provider may be a clock's fault: again, but not at the server's pace.
        """
        was_fresh = self._credentials.is_fresh
        self._credentials.renew()
        if was_fresh and verdict.is_terminal:
            raise _stop(code, reason)
        return max(wait_s, self._backoff.wait_s(now)) if was_fresh else wait_s


def _stop(code: int, reason: str) -> ClientStopped:
    said = f"The server closed with {code}: {reason}"
    if code in _LOGIN:
        return CredentialRefused(said, code)
    return (ProtocolUnsupported if code == CloseCode.PROTOCOL_UNSUPPORTED else ClientStopped)(said, code)


def _requested_delay_ms(body: bytes | bytearray) -> int | None:
    """The gateway refuses with a problem, as REST does; a proxy before it may say anything."""
    try:
        return msgspec.json.decode(body, type=_Problem).retry_after_ms
    except msgspec.DecodeError:
        return None
