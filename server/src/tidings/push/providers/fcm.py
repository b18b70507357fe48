"""Firebase Cloud Messaging, HTTP v1, with access tokens of a service account."""

from typing import NamedTuple

import aiohttp
import msgspec

from tidings.kernel.cache import Cache, CachePolicy
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.platform.http2.client import Http2Client, HttpAnswer, NoHttp2Error, RequestFailedError
from tidings.platform.http2.session import encode_headers
from tidings.push.model import FcmTarget, PushRegistration
from tidings.push.notification import Notification, fcm_message
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import FcmConfig, ServiceAccount, StoredProvider
from tidings.push.providers.answers import no_answer, short_text, verdict_of
from tidings.push.providers.signatures import signed_token
from tidings.push.rules import parse_retry_after_s

FCM_URL = "https://fcm.googleapis.com"
_SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION_S = 3_600
_KEPT_S = 45 * 60.0
"""Google's access tokens are valid for an hour."""
_BODY_BYTES = 4_096
_OK, _BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 400, 401, 403, 404


class _ErrorDetail(msgspec.Struct):
    errorCode: str = ""  # noqa: N815 - Google's name


class _Error(msgspec.Struct):
    status: str = ""
    message: str = ""
    details: tuple[_ErrorDetail, ...] = ()


class _Answer(msgspec.Struct):
    name: str = ""
    error: _Error | None = None


class _AccessToken(msgspec.Struct):
    access_token: str


_decode = msgspec.json.Decoder(_Answer).decode
_decode_token = msgspec.json.Decoder(_AccessToken).decode


class _RefusedError(Exception):
    """The token server gave no access token."""


class _Attempt(NamedTuple):
    result: SendResult
    code: str


class FcmSender:
    """`session` requests access tokens. It must guard addresses itself."""

    def __init__(
        self, http2: Http2Client, session: aiohttp.ClientSession, clock: Clock, url: str = FCM_URL
    ) -> None:
        self._http2 = http2
        self._session = session
        self._clock = clock
        self._url = url
        policy = CachePolicy(fresh_s=_KEPT_S, count=1_000)
        self._tokens: Cache[ServiceAccount, str] = Cache(self._request_token, clock, policy)

    async def send(
        self, registration: PushRegistration, note: Notification, provider: StoredProvider, /
    ) -> SendResult:
        """Send with the newest account. If Google refuses it, send with the next one."""
        target, config = registration.target, provider.config
        assert isinstance(target, FcmTarget)  # noqa: S101 - the dispatcher chooses the sender by the target
        assert isinstance(config, FcmConfig)  # noqa: S101 - see above
        body = fcm_message(target.token, note, self._clock.now_ms())
        result = SendResult(verdict=SendVerdict.RETRY, status=0)
        for account in config.accounts:
            result, code = await self._try(account, body)
            if result.status == _UNAUTHORIZED:
                self._tokens.evict(account)
            if result.status not in {_UNAUTHORIZED, _FORBIDDEN} or code == "SENDER_ID_MISMATCH":
                break
        return result

    async def _try(self, account: ServiceAccount, body: bytes) -> _Attempt:
        try:
            token = await self._tokens.get(account)
            headers = encode_headers(
                (("authorization", f"Bearer {token}"), ("content-type", "application/json"))
            )
            path = f"/v1/projects/{account.project_id}/messages:send"
            answer = await self._http2.post(self._url, path, headers, body)
        except _RefusedError as error:
            return _Attempt(
                SendResult(verdict=SendVerdict.RETRY, status=_UNAUTHORIZED, answer=str(error)), ""
            )
        except (RequestFailedError, NoHttp2Error, aiohttp.ClientError, TimeoutError, OSError) as error:
            return _Attempt(no_answer(error), "")
        return self._result(answer)

    async def _request_token(self, account: ServiceAccount) -> str:
        now_s = self._clock.now_ms() // 1000
        claims = {
            "iss": account.client_email,
            "scope": _SCOPE,
            "aud": account.token_uri,
            "iat": now_s,
            "exp": now_s + _ASSERTION_S,
        }
        try:
            assertion = signed_token(
                account.private_key, {"typ": "JWT", "kid": account.private_key_id}, claims
            )
        except TidingsError as error:
            raise _RefusedError(error.message) from None
        form = {"grant_type": _GRANT, "assertion": assertion}
        async with self._session.post(account.token_uri, data=form, allow_redirects=False) as answer:
            text = await answer.content.read(_BODY_BYTES)
            if answer.status != _OK:
                raise _RefusedError(f"no access token: {answer.status} {short_text(text)}")
            try:
                return _decode_token(text).access_token
            except msgspec.DecodeError:
                raise _RefusedError("no access token: the answer is not understood") from None

    def _result(self, answer: HttpAnswer) -> _Attempt:
        try:
            known = _decode(answer.body)
        except msgspec.DecodeError:
            known = _Answer()
        error = known.error or _Error()
        code = next((each.errorCode for each in error.details if each.errorCode), error.status)
        verdict = verdict_of(answer.status)
        if code in {"UNREGISTERED", "SENDER_ID_MISMATCH"}:
            verdict = SendVerdict.GONE
        elif answer.status == _NOT_FOUND:
            verdict = (
                SendVerdict.REJECTED
            )  # An unknown project. Google reports unknown devices as UNREGISTERED.
        text = f"{code} {error.message}".strip() if answer.status != _OK else ""
        result = SendResult(
            verdict=verdict,
            status=answer.status,
            answer=text[:200] or ("" if answer.status == _OK else short_text(answer.body)),
            provider_id=known.name[-100:],
            retry_after_s=parse_retry_after_s(answer.headers.get("retry-after"), self._clock.now_ms()),
            is_outage=verdict is SendVerdict.RETRY,
        )
        return _Attempt(result, code)
