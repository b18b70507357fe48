"""Decide whether a mail is sent, what follows from the answer of the mail server, and sign references. Pure."""

import base64
import hmac
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from tidings.accounts.model import User
from tidings.inboxes.channels import rules as channel_rules
from tidings.inboxes.channels.model import SkipReason
from tidings.inboxes.mail.model import MailAnswer, MailReference, MailResult, MailStage, MailState
from tidings.inboxes.model import InboxId, InboxKey, NotificationContent, NotificationRow, UnreadCounts
from tidings.inboxes.preferences import Channel
from tidings.kernel.ids import TenantId, UserId

type Mac = Callable[[bytes], bytes]
"""The keyed hash function of a tenant."""

RETRY_AFTER_S = (60, 300, 1_800, 7_200, 21_600, 43_200, 86_400)
"""Times between the attempts of a mail, two days together. RFC 5321 section 4.5.4 recommends four to five days at most."""
_MAC_BYTES = 16
_HASH_BYTES = 6
_PERMANENT = 500
_SAME_AS_UNREACHABLE = "5.1."
"""Enhanced status codes of addresses that do not exist, RFC 3463 section 3.2."""


class MailFacts(NamedTuple):
    """What decides whether a user receives a mail. `content` is what their row shows."""

    content: NotificationContent | None
    row: NotificationRow | None
    counts: UnreadCounts
    user: User | None
    channels: dict[Channel, bool]


def skip_reason(facts: MailFacts, now_ms: int) -> SkipReason | None:
    """Return why a user receives no mail. None: send it."""
    of_notification = channel_rules.skip_reason(facts.content, facts.row, facts.counts, now_ms)
    return of_notification or _by_user(facts.user, facts.channels)


def _by_user(user: User | None, channels: dict[Channel, bool]) -> SkipReason | None:
    if not channels[Channel.EMAIL]:
        return SkipReason.CHANNEL_OFF
    if user is None or user.email is None:
        return SkipReason.NO_ADDRESS
    if user.email_refused is not None:
        return SkipReason.ADDRESS_REFUSED
    return None if user.suspended_at_ms is None else SkipReason.SUSPENDED


def after_answer(claimed: MailResult, answer: MailAnswer, now_ms: int, *, is_last: bool) -> MailResult:
    """Return the result after an attempt. A refusal of the server itself is temporary: an operator can correct it."""
    is_permanent = answer.code >= _PERMANENT and answer.stage is not MailStage.SERVER
    state = MailState.FAILED if is_permanent or is_last else MailState.DEFERRED
    if answer.is_accepted:
        state = MailState.SENT
    reason = "" if answer.is_accepted else f"{answer.code or ''} {answer.text}".strip()[:256]
    return msgspec.structs.replace(claimed, state=state, at_ms=now_ms, until_ms=0, reason=reason)


def is_unreachable(answer: MailAnswer) -> bool:
    """Tell whether the address does not exist, so that no further mail should be sent to it."""
    is_permanent = answer.code >= _PERMANENT and answer.stage is MailStage.RECIPIENT
    return is_permanent and answer.text.startswith(_SAME_AS_UNREACHABLE)


def address_hash(address: str, mac: Mac) -> str:
    return _encode(mac(b"mail address " + address.encode())[:_HASH_BYTES])


def sign_reference(reference: MailReference, purpose: str, mac: Mac) -> str:
    """Return a text that names its reference and cannot be forged. Equal references have equal texts."""
    tenant, user, inbox = reference.inbox_key
    parts = (tenant, inbox, user, reference.detail, reference.address_hash)
    named = _encode(msgspec.json.encode(parts))
    return f"{named}.{_signature(purpose, named, mac)}"


def named_tenant(text: str) -> TenantId | None:
    """Return the tenant that a reference names, before its signature is verified."""
    parts = _parts(text.partition(".")[0])
    return None if parts is None else TenantId(parts[0])


def verify_reference(text: str, purpose: str, mac: Mac) -> MailReference | None:
    """Return what a signed reference names. None: the signature is invalid."""
    named, _, signature = text.partition(".")
    parts = _parts(named)
    if parts is None or not hmac.compare_digest(_signature(purpose, named, mac), signature):
        return None
    tenant, inbox, user, detail, address = parts
    return MailReference(InboxKey(TenantId(tenant), UserId(user), InboxId(inbox)), detail, address)


def _signature(purpose: str, named: str, mac: Mac) -> str:
    return _encode(mac(f"mail {purpose} {named}".encode())[:_MAC_BYTES])


def _parts(named: str) -> tuple[str, str, str, str, str] | None:
    try:
        text = base64.urlsafe_b64decode(named + "=" * (-len(named) % 4))
        return msgspec.json.decode(text, type=tuple[str, str, str, str, str])
    except (ValueError, msgspec.DecodeError):
        return None


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
