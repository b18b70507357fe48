"""Apple's push service over HTTP/2, with token authentication."""

import msgspec

from tidings.kernel.clock import Clock
from tidings.platform.http2.client import Http2Client, HttpAnswer, NoHttp2Error, RequestFailedError
from tidings.platform.http2.session import encode_headers
from tidings.push.model import ApnsEnvironment, ApnsTarget, PushAction, PushRegistration
from tidings.push.notification import Notification, apns_payload
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import ApnsConfig, ApnsKey, StoredProvider
from tidings.push.providers.answers import no_answer, short_text, verdict_of
from tidings.push.providers.signatures import signed_token
from tidings.push.rules import parse_retry_after_s

APNS_URLS: dict[ApnsEnvironment, str] = {
    "production": "https://api.push.apple.com",
    "sandbox": "https://api.sandbox.push.apple.com",
}
_TOKEN_S = 40 * 60
"""Apple refuses tokens that are older than 60 minutes, and keys whose tokens change more often than every 20 minutes."""
_OK, _BAD_REQUEST, _FORBIDDEN, _NOT_FOUND = 200, 400, 403, 404
_GONE_REASONS = frozenset({"BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"})


class _Reason(msgspec.Struct):
    reason: str = ""
    timestamp: int | None = None


_decode = msgspec.json.Decoder(_Reason).decode


class ProviderTokens:
    """One signed token for each key, replaced every 40 minutes. All processes have the same one.

    Apple counts the tokens of a key, not of a process: a second process, or one that was restarted, must not present
    another one. So the time of issue is a multiple of 40 minutes and the signature is deterministic (RFC 6979).
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens: dict[ApnsKey, tuple[int, str]] = {}

    def of(self, key: ApnsKey) -> str:
        """Return the token of a key as the value of the header `authorization`."""
        issued_s = self._clock.now_ms() // 1000 // _TOKEN_S * _TOKEN_S
        found = self._tokens.get(key)
        if found is None or found[0] != issued_s:
            token = signed_token(key.private_key, {"kid": key.key_id}, {"iss": key.team_id, "iat": issued_s})
            found = self._tokens[key] = (issued_s, f"bearer {token}")
        return found[1]


class ApnsSender:
    """`urls`: the servers by environment."""

    def __init__(
        self, http2: Http2Client, clock: Clock, urls: dict[ApnsEnvironment, str] | None = None
    ) -> None:
        self._http2 = http2
        self._clock = clock
        self._urls = urls or APNS_URLS
        self._tokens = ProviderTokens(clock)

    async def send(
        self, registration: PushRegistration, note: Notification, provider: StoredProvider, /
    ) -> SendResult:
        """Send with the newest key. If Apple refuses it, send with the next one: a key may be revoked during a rotation."""
        target, config = registration.target, provider.config
        assert isinstance(target, ApnsTarget)  # noqa: S101 - the dispatcher chooses the sender by the target
        assert isinstance(config, ApnsConfig)  # noqa: S101 - see above
        headers, payload = _headers(note, target), apns_payload(note)
        result = SendResult(verdict=SendVerdict.RETRY, status=0)
        for key in config.keys:
            result = await self._try(key, target, headers, payload)
            if result.status != _FORBIDDEN:
                break
        return result

    async def _try(self, key: ApnsKey, target: ApnsTarget, headers: bytes, payload: bytes) -> SendResult:
        signed = encode_headers((("authorization", self._tokens.of(key)),))
        try:
            answer = await self._http2.post(
                self._urls[target.environment], f"/3/device/{target.token}", signed + headers, payload
            )
        except (RequestFailedError, NoHttp2Error) as error:
            return no_answer(error)
        return self._result(answer)

    def _result(self, answer: HttpAnswer) -> SendResult:
        known = _reason_of(answer)
        verdict = verdict_of(answer.status)
        if answer.status == _BAD_REQUEST and known.reason in _GONE_REASONS:
            verdict = SendVerdict.GONE
        elif answer.status == _NOT_FOUND:
            verdict = SendVerdict.REJECTED  # `BadPath`: Apple reports unknown devices with 410.
        return SendResult(
            verdict=verdict,
            status=answer.status,
            answer=known.reason or short_text(answer.body),
            provider_id=answer.headers.get("apns-id", "")[:64],
            retry_after_s=parse_retry_after_s(answer.headers.get("retry-after"), self._clock.now_ms()),
            gone_ms=known.timestamp,
            # TooManyRequests is about one device token, not about the service.
            is_outage=verdict is SendVerdict.RETRY and known.reason != "TooManyRequests",
        )


def _reason_of(answer: HttpAnswer) -> _Reason:
    if answer.status == _OK:
        return _Reason()
    try:
        return _decode(answer.body)
    except msgspec.DecodeError:
        return _Reason()


def _headers(note: Notification, target: ApnsTarget) -> bytes:
    # A badge counts as an alert, also without a text.
    is_shown = bool(note.title) or note.action is PushAction.WITHDRAW
    return encode_headers(
        (
            ("apns-topic", target.topic),
            ("apns-push-type", "alert" if is_shown else "background"),
            # A background notification must have priority 5.
            ("apns-priority", "10" if is_shown and note.is_alert else "5"),
            ("apns-expiration", str(note.expires_ms // 1000)),
            ("apns-collapse-id", note.collapse_id),
            ("apns-id", str(note.id)),
        )
    )
