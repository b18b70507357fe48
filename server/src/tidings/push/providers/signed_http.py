"""A tenant's own push service: requests with a signature of each secret, as Standard Webhooks define it."""

import base64
import hmac
from hashlib import sha256

import aiohttp

from tidings.kernel.clock import Clock
from tidings.kernel.network_policy import NetworkPolicy, check_url
from tidings.push.model import HttpTarget, PushRegistration
from tidings.push.notification import Notification, http_payload
from tidings.push.ports import SendResult, SendVerdict
from tidings.push.provider_config import HttpConfig, StoredProvider
from tidings.push.providers.answers import no_answer, short_text, verdict_of
from tidings.push.rules import parse_retry_after_s

SECRET_PREFIX = "whsec_"  # noqa: S105 - no password
_BODY_BYTES = 1_024


class SignedHttpSender:
    """`session` must guard addresses itself."""

    def __init__(self, session: aiohttp.ClientSession, network: NetworkPolicy, clock: Clock) -> None:
        self._session = session
        self._network = network
        self._clock = clock

    async def send(
        self, registration: PushRegistration, note: Notification, provider: StoredProvider, /
    ) -> SendResult:
        target, config = registration.target, provider.config
        assert isinstance(target, HttpTarget)  # noqa: S101 - the dispatcher chooses the sender by the target
        assert isinstance(config, HttpConfig)  # noqa: S101 - see above
        if fault := check_url(config.url, self._network):
            return SendResult(verdict=SendVerdict.REJECTED, status=0, answer=f"the URL is refused: {fault}")
        body, now_ms = http_payload(target.token, note), self._clock.now_ms()
        headers = sign(str(note.id), now_ms // 1000, body, config.secrets)
        try:
            async with self._session.post(
                config.url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                text = await answer.content.read(_BODY_BYTES)
                verdict = verdict_of(answer.status)
                return SendResult(
                    verdict=verdict,
                    status=answer.status,
                    answer=short_text(text) if verdict is not SendVerdict.ACCEPTED else "",
                    retry_after_s=parse_retry_after_s(answer.headers.get("Retry-After"), now_ms),
                    is_outage=verdict is SendVerdict.RETRY,
                )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return no_answer(error)


def sign(message_id: str, at_s: int, body: bytes, secrets: tuple[str, ...]) -> dict[str, str]:
    """Return the headers of a signed request. A receiver that knows any of the secrets accepts it."""
    text = f"{message_id}.{at_s}.".encode() + body
    signatures = [
        "v1," + base64.b64encode(hmac.digest(secret_bytes(secret), text, sha256)).decode()
        for secret in secrets
    ]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(signatures),
        "content-type": "application/json",
    }


def secret_bytes(secret: str) -> bytes:
    """Return the bytes of a secret. Raise `ValueError` if it is not base64."""
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
