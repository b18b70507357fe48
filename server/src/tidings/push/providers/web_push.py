"""Web Push: encrypt for a browser (RFC 8291), identify the server (RFC 8292), send (RFC 8030)."""

import os
from collections import OrderedDict
from urllib.parse import urlsplit

import aiohttp
from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tidings.kernel.clock import Clock
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.platform.http2.client import Http2Client, HttpAnswer, NoHttp2Error, RequestFailedError
from tidings.platform.http2.session import encode_headers
from tidings.push.model import PushRegistration, WebPushTarget
from tidings.push.notification import Notification, unb64url, web_push_payload
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import StoredProvider, VapidKey, WebPushConfig
from tidings.push.providers.answers import no_answer, short_text, verdict_of
from tidings.push.providers.signatures import signed_token
from tidings.push.rules import parse_retry_after_s, web_push_topic

_CURVE = ec.SECP256R1()
_RECORD_BYTES = 4_096
_TOKEN_S = 12 * 3_600
"""Push services accept at most 24 hours; Apple refuses more."""
_RENEW_S = _TOKEN_S // 2
_MAX_TOKENS = 10_000
_BODY_BYTES = 1_024


class WebPushSender:
    """`fallback` sends to servers without HTTP/2, and over http in development. It must guard addresses itself."""

    def __init__(
        self, http2: Http2Client, fallback: aiohttp.ClientSession, network: NetworkPolicy, clock: Clock
    ) -> None:
        self._http2 = http2
        self._fallback = fallback
        self._network = network
        self._clock = clock
        self._tokens: OrderedDict[tuple[str, str, str], tuple[float, str]] = OrderedDict()

    async def send(
        self, registration: PushRegistration, note: Notification, provider: StoredProvider, /
    ) -> SendResult:
        target, config = registration.target, provider.config
        assert isinstance(target, WebPushTarget)  # noqa: S101 - the dispatcher chooses the sender by the target
        assert isinstance(config, WebPushConfig)  # noqa: S101 - see above
        if fault := check_url(target.endpoint, self._network):
            return _refused(fault)
        key = _key_for(config, target)
        if key is None:
            # The browser subscribed with a key that was removed. It can never be reached again.
            return SendResult(
                verdict=SendVerdict.GONE, status=0, answer="subscribed with a key that was removed"
            )
        try:
            body = encrypt(web_push_payload(note), target)
        except (ValueError, InvalidKey):
            return SendResult(
                verdict=SendVerdict.GONE, status=0, answer="the keys of the subscription are invalid"
            )
        headers = {
            "authorization": self._authorization(target.endpoint, config.subject, key),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
            "ttl": str(max(0, note.expires_ms - self._clock.now_ms()) // 1000),
            "urgency": "high" if note.is_alert else "normal",
            "topic": web_push_topic(note.collapse_id),
        }
        try:
            answer = await self._post(target.endpoint, headers, body)
        except (RequestFailedError, aiohttp.ClientError, TimeoutError, OSError) as error:
            return no_answer(error)
        except ValueError as error:
            # The name of the host cannot be encoded or resolved. This cannot succeed later.
            return _refused(str(error))
        return self._result(answer)

    async def _post(self, endpoint: str, headers: dict[str, str], body: bytes) -> HttpAnswer:
        place = urlsplit(endpoint)
        if place.scheme == "https":
            path = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
            block = encode_headers((*headers.items(), ("content-length", str(len(body)))))
            try:
                return await self._http2.post(f"https://{place.netloc}", path, block, body)
            except NoHttp2Error:
                pass
        async with self._fallback.post(endpoint, data=body, headers=headers, allow_redirects=False) as answer:
            text = await answer.content.read(_BODY_BYTES)
            found = {name.lower(): value for name, value in answer.headers.items()}
            return HttpAnswer(answer.status, found, text)

    def _authorization(self, endpoint: str, subject: str, key: VapidKey) -> str:
        """Return the VAPID header. One token for each push service and key is reused for hours: signing costs 90 µs."""
        place = urlsplit(endpoint)
        origin = f"{place.scheme}://{place.netloc}"
        now_s = self._clock.now_ms() / 1000
        found = self._tokens.get((origin, subject, key.public_key))
        if found is None or not 0 <= now_s - found[0] < _RENEW_S:
            claims = {"aud": origin, "exp": int(now_s) + _TOKEN_S, "sub": subject}
            found = (now_s, signed_token(key.private_key, {"typ": "JWT"}, claims))
            self._tokens[origin, subject, key.public_key] = found
            while len(self._tokens) > _MAX_TOKENS:
                self._tokens.popitem(last=False)
        return f"vapid t={found[1]}, k={key.public_key}"

    def _result(self, answer: HttpAnswer) -> SendResult:
        verdict = verdict_of(answer.status)
        return SendResult(
            verdict=verdict,
            status=answer.status,
            answer=short_text(answer.body),
            provider_id=answer.headers.get("location", "")[:200],
            retry_after_s=parse_retry_after_s(answer.headers.get("retry-after"), self._clock.now_ms()),
            is_outage=verdict is SendVerdict.RETRY,
        )


def _refused(fault: str) -> SendResult:
    return SendResult(verdict=SendVerdict.REJECTED, status=0, answer=f"the endpoint is refused: {fault}")


def _key_for(config: WebPushConfig, target: WebPushTarget) -> VapidKey | None:
    if target.server_key is None:
        return config.keys[0]
    wanted = target.server_key.rstrip("=")
    return next((key for key in config.keys if key.public_key == wanted), None)


def encrypt(text: bytes, target: WebPushTarget) -> bytes:
    """Encrypt a message for one subscription with `aes128gcm`. Raise `ValueError` for invalid keys.

    Every message has a new key pair and salt.
    """
    public, auth = unb64url(target.p256dh), unb64url(target.auth)
    if len(auth) != 16:  # noqa: PLR2004 - RFC 8291, 3.2
        raise ValueError("the authentication secret must have 16 bytes")
    own = ec.generate_private_key(_CURVE)
    own_public = own.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, public))
    info = b"WebPush: info\x00" + public + own_public
    secret = _hmac(_hmac(auth, shared), info + b"\x01")
    salt = os.urandom(16)
    derived = _hmac(salt, secret)
    key = _hmac(derived, b"Content-Encoding: aes128gcm\x00\x01")[:16]
    nonce = _hmac(derived, b"Content-Encoding: nonce\x00\x01")[:12]
    sealed = AESGCM(key).encrypt(nonce, text + b"\x02", None)
    return salt + _RECORD_BYTES.to_bytes(4) + bytes((len(own_public),)) + own_public + sealed


def _hmac(key: bytes, data: bytes) -> bytes:
    mac = HMAC(key, SHA256())
    mac.update(data)
    return mac.finalize()
