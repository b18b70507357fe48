"""Event ids and types, signatures, and the times of attempts."""

import base64
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from msgspec.structs import replace

from tidings.kernel.ids import ChatKey, TenantId
from tidings.messages.model import EntryKind
from tidings.webhooks.model import Attempt, Endpoint, EventType, QueuedItem, SigningSecret

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the start of every secret
SECRET_BYTES: Final = 32
_MINUTE_S, _HOUR_S = 60, 3600

RETRY_AFTER_S: Final = (
    5,
    30,
    5 * _MINUTE_S,
    30 * _MINUTE_S,
    2 * _HOUR_S,
    5 * _HOUR_S,
    10 * _HOUR_S,
    10 * _HOUR_S,
    20 * _HOUR_S,
    24 * _HOUR_S,
)
"""Times between the attempts of one event, three days together. A random part of up to a quarter is added."""
MAX_ATTEMPTS: Final = len(RETRY_AFTER_S) + 1
MAX_RETRY_AFTER_MS: Final = _HOUR_S * 1000
"""Longest wait that an endpoint can request with `Retry-After`."""

_TYPES: Final = {
    EntryKind.CREATE: EventType.CHAT_CREATED,
    EntryKind.MESSAGE: EventType.MESSAGE_CREATED,
    EntryKind.EDIT: EventType.MESSAGE_EDITED,
    EntryKind.REDACTION: EventType.MESSAGE_REDACTED,
    EntryKind.REACTION: EventType.REACTION_CHANGED,
    EntryKind.JOIN: EventType.MEMBER_JOINED,
    EntryKind.LEAVE: EventType.MEMBER_LEFT,
    EntryKind.ROLE: EventType.MEMBER_ROLE_CHANGED,
    EntryKind.RENAME: EventType.CHAT_RENAMED,
    EntryKind.BLOCK: EventType.MEMBER_BLOCKED,
    EntryKind.MUTE: EventType.MEMBER_MUTED,
    EntryKind.BAN: EventType.MEMBER_BANNED,
    EntryKind.RULES: EventType.CHAT_RULES_CHANGED,
    EntryKind.LOST: EventType.ENTRY_LOST,
}


def event_type(kind: EntryKind) -> EventType:
    return _TYPES[kind]


def event_id(chat: ChatKey, sequence: int) -> str:
    """Return the id of an entry's event. It must never change: receivers recognize repeated events by it.

    It has no `.`, which separates the parts that a signature covers.
    """
    return _hashed(f"{chat.tenant}#{chat.chat}#{sequence}")


def stable_id(tenant: TenantId, what: str, *parts: str | int) -> str:
    """Return the id of an event that is not an entry of a log, or the key under which it waits: the same for the same parts."""
    return _hashed("\0".join([tenant, what, *map(str, parts)]))


def _hashed(name: str) -> str:
    return "evt_" + blake2b(name.encode(), digest_size=16).hexdigest()


def new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, event: str, at_s: int, body: bytes) -> str:
    """Return one signature, as Standard Webhooks defines it. `secret` is `whsec_` and base64."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.digest(key, f"{event}.{at_s}.".encode() + body, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def signed_headers(valid: Sequence[SigningSecret], event: str, now_ms: int, body: bytes) -> Mapping[str, str]:
    """Return the headers of a request. During a rotation it has a signature of each valid secret."""
    at_s = now_ms // 1000
    signatures = (sign(each.value.reveal(), event, at_s, body) for each in valid)
    return {
        "webhook-id": event,
        "webhook-timestamp": str(at_s),
        "webhook-signature": " ".join(signatures),
    }


def valid_secrets(endpoint: Endpoint, now_ms: int) -> list[SigningSecret]:
    return [each for each in endpoint.secrets if each.expires_at_ms is None or each.expires_at_ms > now_ms]


def retry_delay_ms(attempts: int, retry_after_ms: int, random: Callable[[], float]) -> int | None:
    """Return the time until the next attempt after `attempts` failed ones. None: there is no next attempt."""
    if attempts >= MAX_ATTEMPTS:
        return None
    delay_ms = RETRY_AFTER_S[attempts - 1] * (1 + random() / 4) * 1000
    return int(max(delay_ms, min(retry_after_ms, MAX_RETRY_AFTER_MS)))


def after_failure(
    item: QueuedItem, first: int, attempt: Attempt, now_ms: int, next_ms: int | None
) -> QueuedItem | None:
    """Return the queued item after the attempt for its entry at `first` failed. None: nothing is left of it.

    `next_ms` is the time of the next attempt. Without one the entry is given up, and the entries after it follow.
    """
    if next_ms is not None:
        return replace(
            item,
            first=first,
            attempts=item.attempts + 1,
            due_ms=next_ms,
            tried_ms=now_ms,
            status=attempt.status,
            reason=attempt.reason,
        )
    return rest_of(item, first + 1, now_ms)


def rest_of(item: QueuedItem, first: int, now_ms: int) -> QueuedItem | None:
    """Return the queued item without the entries before `first`, due now. None: nothing is left of it."""
    if first > item.last:
        return None
    return replace(item, first=first, attempts=0, due_ms=now_ms, tried_ms=0, status=None, reason="")
