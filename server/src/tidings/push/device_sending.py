"""Send a notification to one device, and describe the result."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from tidings.push.model import (
    PushAction,
    PushAttempt,
    PushKind,
    PushOutcome,
    PushRegistration,
    PushResult,
    WebPushTarget,
    kind_of,
)
from tidings.push.notification import Notification
from tidings.push.outages import OutageTracker
from tidings.push.ports import PushSender, SendResult, SendVerdict
from tidings.push.provider_config import StoredProvider


@dataclass(frozen=True, slots=True)
class DeviceSender:
    """Sends through the providers of one tenant. While a provider does not answer, most requests are not made."""

    senders: Mapping[PushKind, PushSender]
    providers: Mapping[PushKind, StoredProvider]
    outages: OutageTracker

    async def send(self, target: PushRegistration, note: Notification) -> SendResult | None:
        """Send to one device. None: the tenant has no provider of this kind."""
        kind = kind_of(target.target)
        provider, sender = self.providers.get(kind), self.senders.get(kind)
        if provider is None or sender is None:
            return None
        name = _provider_name(target)
        postponed_s = self.outages.postponed_s(name)
        if postponed_s > 0:
            return SendResult(
                verdict=SendVerdict.RETRY,
                status=0,
                answer="not tried: the provider does not answer",
                retry_after_s=postponed_s,
            )
        answer = await sender.send(target, note, provider)
        if answer.is_outage:
            self.outages.failed(name)
        else:
            self.outages.succeeded(name)
        return answer


def _provider_name(target: PushRegistration) -> str:
    """Name what fails together: a push service of browsers, or the account of a tenant."""
    if isinstance(target.target, WebPushTarget):
        return f"web_push {target.target.service}"
    return f"{kind_of(target.target)} {target.tenant}"


def device_result(
    about: PushResult,
    target: PushRegistration,
    action: PushAction,
    answer: SendResult | None,
    former: PushResult | None,
) -> PushResult:
    """Return the result for a device: `about`, with the answer of its provider after those of `former` attempts."""
    outcome, reason = _outcome(target, answer)
    attempts = former.attempts if former is not None else ()
    if answer is not None:
        attempt = PushAttempt(
            at_ms=about.decided_ms,
            action=action,
            status=answer.status,
            answer=answer.answer,
            provider_id=answer.provider_id,
        )
        attempts = (*attempts, attempt)
    return replace(
        about,
        device=target.device,
        outcome=outcome,
        reason=reason,
        provider=kind_of(target.target),
        attempts=attempts,
    )


def _outcome(target: PushRegistration, answer: SendResult | None) -> tuple[PushOutcome, str]:
    if answer is None:
        return PushOutcome.SKIPPED, f"no_provider: The tenant has no provider {kind_of(target.target)}."
    match answer.verdict:
        case SendVerdict.ACCEPTED:
            return PushOutcome.SENT, ""
        case SendVerdict.GONE:
            return PushOutcome.GONE, "The provider reported the token as invalid."
        case SendVerdict.REJECTED:
            return PushOutcome.FAILED, "The provider refused the notification."
    return PushOutcome.RETRYING, ""


def is_removed(target: PushRegistration, answer: SendResult) -> bool:
    """Return whether the provider's answer ends the registration. One that is newer than the answer stays."""
    return answer.verdict is SendVerdict.GONE and (
        answer.gone_ms is None or target.registered_ms <= answer.gone_ms
    )
