"""Verify webhooks: for a server that receives events of Tidings.

Signatures follow Standard Webhooks, so its libraries for other languages verify them too.
"""

import base64
import binascii
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

_PREFIX: Final = "whsec_"
_VERSION: Final = "v1"


class WebhookRejected(Exception):
    """The request is not from Tidings, was changed, or is too old. Answer 400 and do not use it."""


class WebhookVerifier:
    """Verifies requests with the secrets of an endpoint. Pass two secrets while you rotate them."""

    def __init__(
        self, *secrets: str, tolerance_s: float = 300.0, now: Callable[[], float] = time.time
    ) -> None:
        """Raise `ValueError` if there is no secret, or if one is not `whsec_` and base64."""
        self._keys = [_decode_secret(secret) for secret in secrets]
        if not self._keys:
            raise ValueError("Pass at least one secret, as `tidings webhook create` printed it.")
        self._tolerance_s = tolerance_s
        self._now = now

    def verify(self, headers: Mapping[str, str], body: bytes | str) -> dict[str, Any]:
        """Return the event. Raises `WebhookRejected`.

        `body` is the body as it was received: JSON that is parsed and encoded again has another signature. The names of
        headers may be in any case. An event can arrive more than once: its `id` is then the same.
        """
        raw = body.encode() if isinstance(body, str) else body
        found = {name.lower(): value for name, value in headers.items()}
        try:
            event, at, given = (found[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        except KeyError as missing:
            raise WebhookRejected(f"the header {missing} is missing") from None
        self._check_time(at)
        signed = f"{event}.{at}.".encode() + raw
        wanted = [hmac.digest(key, signed, "sha256") for key in self._keys]
        if not any(hmac.compare_digest(each, want) for each in _signatures(given) for want in wanted):
            raise WebhookRejected("no signature is valid for this secret")
        try:
            parsed = json.loads(raw)
        except ValueError:
            raise WebhookRejected("the body is not JSON") from None
        if not isinstance(parsed, dict):
            raise WebhookRejected("the body is not an event")
        return parsed

    def _check_time(self, text: str) -> None:
        if not text.isascii() or not text.isdecimal():
            raise WebhookRejected("the timestamp is not a number")
        age_s = self._now() - int(text)
        if abs(age_s) > self._tolerance_s:
            raise WebhookRejected(
                f"the timestamp differs from the clock of this machine by {abs(age_s):.0f} s"
            )


def _decode_secret(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(
            f"A secret is `{_PREFIX}` and base64, as `tidings webhook create` prints it."
        ) from None


def _signatures(header: str) -> list[bytes]:
    """Return the signatures of a known version. Others, and malformed ones, are ignored."""
    found: list[bytes] = []
    for part in header.split(" "):
        version, _, text = part.partition(",")
        if version == _VERSION:
            try:
                found.append(base64.b64decode(text, validate=True))
            except binascii.Error:
                continue
    return found
