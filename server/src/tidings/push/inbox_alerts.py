"""Send notifications of inboxes to the devices of a user, and record the results.

At least once: a process that is killed after a provider's answer and before the result is stored sends again, with the same
collapse id. A device whose result is stored as sent receives nothing more.
"""

from collections.abc import Mapping, Sequence
from typing import Final, final

from msgspec.structs import replace

from tidings.inboxes.channels.model import AlertOutcome, InboxAlert, SkipReason
from tidings.kernel.concurrency import gather_limited
from tidings.push import model as push
from tidings.push import rules
from tidings.push.device_sending import DeviceSender, device_result, is_removed
from tidings.push.model import PushAction, PushOutcome, PushPolicy, PushRegistration, PushResult
from tidings.push.notification import Notification, about_notification
from tidings.push.outages import OutageTracker
from tidings.push.ports import SendResult
from tidings.push.sending import DispatcherDeps, PushStats
from tidings.push.state import UserDevices
from tidings.push.texts import inbox_text
from tidings.tenants.model import PushSettings

_DETAILS: Final[Mapping[SkipReason, str]] = {
    SkipReason.CHANNEL_OFF: "The recipient or the category has no push notifications.",
    SkipReason.READ: "The recipient read or archived the notification.",
    SkipReason.RECALLED: "The notification was recalled.",
    SkipReason.EXPIRED: "The notification expired.",
    SkipReason.THROTTLED: "The recipient received too many notifications of this category.",
    SkipReason.DIGESTED: "Another notification of the digest was sent.",
    SkipReason.NOT_DELIVERED: "The notification is not in the inbox of the recipient.",
}


@final
class InboxAlertSender:
    def __init__(self, deps: DispatcherDeps, stats: PushStats, outages: OutageTracker) -> None:
        self._deps = deps
        self._stats = stats
        self._outages = outages

    async def send(self, alert: InboxAlert, /) -> AlertOutcome:
        """Send to the user's devices that have not accepted it before. For a user without a device, write nothing."""
        tenant, user, _ = alert.inbox_key
        providers = await self._deps.providers.of(tenant)
        devices = await self._deps.state.devices(tenant, user) if providers else None
        if devices is None or not devices.registrations:
            return AlertOutcome.DONE
        settings = await self._deps.settings(tenant)
        stored = await self._deps.results.of_notification(alert.inbox_key, alert.notification)
        former = {each.device: each for each in stored}
        is_done = {device for device, each in former.items() if each.outcome is PushOutcome.SENT}
        targets = [each for each in devices.registrations if each.device not in is_done]
        self._stats.repeated += len(devices.registrations) - len(targets)
        if not targets:
            return AlertOutcome.DONE
        reason = self._skip_reason(alert, devices, settings)
        if reason is not None:
            return await self._skip(alert, reason)
        badge = await self._deps.badge(tenant, user)
        await self._deps.failpoints.hit("push.notification_decided")
        sender = DeviceSender(self._deps.senders, providers, self._outages)
        sent = await gather_limited(
            sender.send(each, self._note(alert, each, settings, badge)) for each in targets
        )
        await self._deps.failpoints.hit("push.notification_sent")
        about = self._about(alert)
        results = [
            device_result(about, target, PushAction.ALERT, answer, former.get(target.device))
            for target, answer in zip(targets, sent, strict=True)
        ]
        await self._record(results)
        await self._follow_up(targets, sent, results)
        return _outcome(results)

    def _skip_reason(self, alert: InboxAlert, devices: UserDevices, settings: PushSettings) -> str | None:
        if alert.skip is not None:
            return f"{alert.skip}: {_DETAILS.get(alert.skip, '')}"
        decision = rules.decide_notification(
            sent_ms=alert.sent_ms,
            is_critical=alert.is_critical,
            is_suspended=devices.is_suspended,
            preferences=devices.preferences,
            policy=PushPolicy(max_age_s=settings.max_age_s),
            now_ms=self._deps.clock.now_ms(),
        )
        return None if decision.action is not PushAction.NONE else f"{decision.reason}: {decision.detail}"

    async def _skip(self, alert: InboxAlert, reason: str) -> AlertOutcome:
        """Record why nothing is sent. A notification that no provider accepted in time has failed."""
        is_late = alert.tries > 0 and reason.startswith(push.SkipReason.TOO_OLD)
        outcome = PushOutcome.FAILED if is_late else PushOutcome.SKIPPED
        self._stats.count(outcome)
        await self._record([replace(self._about(alert), outcome=outcome, reason=reason)])
        return AlertOutcome.FAILED if is_late else AlertOutcome.DONE

    async def _record(self, results: Sequence[PushResult]) -> None:
        await self._deps.report(results)
        await self._deps.results.put(results)

    def _about(self, alert: InboxAlert) -> PushResult:
        tenant, user, inbox = alert.inbox_key
        return PushResult(
            tenant=tenant,
            inbox=inbox,
            notification=alert.notification,
            user=user,
            device=None,
            outcome=PushOutcome.SENT,
            decided_ms=self._deps.clock.now_ms(),
            collapse_id=alert.notification,
        )

    def _note(
        self, alert: InboxAlert, target: PushRegistration, settings: PushSettings, badge: int
    ) -> Notification:
        tenant, user, inbox = alert.inbox_key
        title, body = inbox_text(target, settings, alert.title, alert.body)
        ends_ms = alert.sent_ms + settings.max_age_s * 1000
        return Notification(
            tenant=tenant,
            user=user,
            device=target.device,
            action=PushAction.ALERT,
            subject=alert.notification,
            about=about_notification(inbox, alert.notification),
            thread=inbox,
            badge=badge,
            sent_ms=alert.sent_ms,
            expires_ms=ends_ms if alert.expires_ms is None else min(ends_ms, alert.expires_ms),
            collapse_id=alert.notification,
            title=title,
            body=body,
        )

    async def _follow_up(
        self,
        targets: Sequence[PushRegistration],
        sent: Sequence[SendResult | None],
        results: Sequence[PushResult],
    ) -> None:
        """Count the results, and remove invalid tokens."""
        for target, answer, result in zip(targets, sent, results, strict=True):
            self._stats.count(result.outcome)
            if answer is not None and is_removed(target, answer):
                await self._deps.registrations.remove(target)


def _outcome(results: Sequence[PushResult]) -> AlertOutcome:
    """Return `FAILED` only if no device was reached and none can be: a user with one device that works is notified."""
    outcomes = {each.outcome for each in results}
    if PushOutcome.RETRYING in outcomes:
        return AlertOutcome.LATER
    is_failed = PushOutcome.FAILED in outcomes and PushOutcome.SENT not in outcomes
    return AlertOutcome.FAILED if is_failed else AlertOutcome.DONE
