"""Send one notification to the devices of one recipient, and record the results.

At least once: a process that is killed after a provider's answer and before the result is stored sends again, with the same
collapse id. An event whose result is stored sends nothing, so that a repeated event has no effect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from tidings.accounts.ports import UserStore
from tidings.delivery.model import OfflineMessage
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.failpoints import Failpoints
from tidings.kernel.ids import ChatKey, TenantId
from tidings.push import rules
from tidings.push.device_sending import DeviceSender, device_result, is_removed
from tidings.push.model import (
    PushAction,
    PushDecision,
    PushKind,
    PushOutcome,
    PushRegistration,
    PushResult,
    PushTask,
    ShownAlert,
)
from tidings.push.notification import Notification, about_message
from tidings.push.outages import OutageTracker
from tidings.push.ports import (
    AlertStore,
    OnPushFinished,
    PushSender,
    ReadBadge,
    RegistrationStore,
    ResultStore,
    SendResult,
    SendVerdict,
    TaskPublisher,
)
from tidings.push.provider_config import StoredProvider
from tidings.push.providers_cache import PushProviders
from tidings.push.state import PushStateReader, RecipientState
from tidings.push.texts import notification_text
from tidings.tenants.model import PushSettings, TenantLookup


@dataclass(slots=True)
class PushStats:
    """Notifications by outcome. `repeated`: notifications that an earlier attempt had sent. `withdrawn`: after a read."""

    sent: int = 0
    skipped: int = 0
    retried: int = 0
    gone: int = 0
    failed: int = 0
    repeated: int = 0
    withdrawn: int = 0

    def count(self, outcome: PushOutcome) -> None:
        match outcome:
            case PushOutcome.SENT:
                self.sent += 1
            case PushOutcome.SKIPPED:
                self.skipped += 1
            case PushOutcome.RETRYING:
                self.retried += 1
            case PushOutcome.GONE:
                self.gone += 1
            case PushOutcome.FAILED:
                self.failed += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherDeps:
    state: PushStateReader
    registrations: RegistrationStore
    alerts: AlertStore
    results: ResultStore
    providers: PushProviders
    senders: Mapping[PushKind, PushSender]
    users: UserStore
    tenants: TenantLookup
    tasks: TaskPublisher
    badge: ReadBadge
    clock: Clock
    failpoints: Failpoints
    delays: rules.RetryDelays = rules.DEFAULT_DELAYS
    on_finished: OnPushFinished | None = None

    async def settings(self, tenant: TenantId) -> PushSettings:
        found = await self.tenants.find(tenant)
        return PushSettings() if found is None else found.settings.push

    async def report(self, results: Sequence[PushResult]) -> None:
        """Report the results of a message for one recipient. Before they are stored: a stored result is not reported again."""
        if self.on_finished is not None:
            await self.on_finished(results)


@dataclass(frozen=True, slots=True)
class RecipientSending:
    """One notification to the devices of one recipient."""

    deps: DispatcherDeps
    stats: PushStats
    outages: OutageTracker
    task: PushTask
    decision: PushDecision
    state: RecipientState
    settings: PushSettings
    providers: Mapping[PushKind, StoredProvider]

    @property
    def event(self) -> OfflineMessage:
        return self.task.event

    @property
    def chat(self) -> ChatKey:
        return ChatKey(self.event.tenant, self.event.chat)

    async def run(self) -> bool:
        """Send, then record. The order matters: what is recorded as sent was sent. Return whether a device shows it now."""
        event, deps = self.event, self.deps
        former = {
            each.device: each
            for each in await deps.results.of_recipient(self.chat, event.sequence, event.recipient)
        }
        targets = [
            each
            for each in self.state.registrations
            if not self.task.devices or each.device in self.task.devices
        ]
        is_done = {device for device, each in former.items() if each.outcome is PushOutcome.SENT}
        self.stats.repeated += len([each for each in targets if each.device in is_done])
        targets = [each for each in targets if each.device not in is_done]
        if not targets:
            return False
        badge = await deps.badge(event.tenant, event.recipient)
        sender = await deps.users.read(event.tenant, event.sender)
        name = None if sender is None else sender.display_name or sender.user
        await deps.failpoints.hit("push.decided")
        devices = DeviceSender(deps.senders, self.providers, self.outages)
        sent = await gather_limited(devices.send(each, self._note(each, badge, name)) for each in targets)
        await deps.failpoints.hit("push.sent")
        is_shown = any(answer is not None and answer.verdict is SendVerdict.ACCEPTED for answer in sent)
        if is_shown:
            await deps.alerts.raise_alert(self.chat, event.recipient, self._alert())
        about, action = self._about(), self.decision.action
        results = [
            device_result(about, target, action, answer, former.get(target.device))
            for target, answer in zip(targets, sent, strict=True)
        ]
        await deps.failpoints.hit("push.alert_raised")
        await deps.report(results)
        await deps.results.put(results)
        await deps.failpoints.hit("push.recorded")
        await self._follow_up(targets, sent, results)
        await deps.failpoints.hit("push.followed_up")
        return is_shown

    def _note(self, target: PushRegistration, badge: int, sender_name: str | None) -> Notification:
        event, settings = self.event, self.settings
        title, body = notification_text(
            target,
            settings,
            sender_name=sender_name,
            preview=event.preview,
            is_mentioned=event.is_mentioned,
        )
        sent_ms = next(m.sent_ms for m in self.state.messages if m.sequence == event.sequence)
        return Notification(
            tenant=event.tenant,
            user=event.recipient,
            device=target.device,
            action=self.decision.action,
            subject=event.message_id,
            about=about_message(
                event.chat,
                event.sequence,
                None if settings.is_private else event.sender,
                is_mentioned=event.is_mentioned,
            ),
            thread=event.chat,
            badge=badge,
            sent_ms=sent_ms,
            expires_ms=sent_ms + settings.max_age_s * 1000,
            collapse_id=event.collapse_key,
            title=title,
            body=body,
        )

    def _alert(self) -> ShownAlert:
        """Return the alert that is shown now. Also an alert that is sent again begins a collapse window: it made a sound."""
        shown, sequence = self.state.alert, self.event.sequence
        if self.decision.action is PushAction.ALERT or shown is None:
            now_ms = self.deps.clock.now_ms()
            return ShownAlert(sequence=sequence, alerted_sequence=sequence, alerted_ms=now_ms)
        return replace(shown, sequence=sequence)

    def _about(self) -> PushResult:
        event = self.event
        return PushResult(
            tenant=event.tenant,
            chat=event.chat,
            sequence=event.sequence,
            user=event.recipient,
            device=None,
            outcome=PushOutcome.SENT,
            decided_ms=self.deps.clock.now_ms(),
            collapse_id=event.collapse_key,
        )

    async def _follow_up(
        self,
        targets: Sequence[PushRegistration],
        sent: Sequence[SendResult | None],
        results: Sequence[PushResult],
    ) -> None:
        """Remove invalid tokens, publish further attempts and dead letters. Repeated after a crash, as the event is."""
        retried, refused = list[tuple[PushRegistration, float]](), list[str]()
        for target, answer, result in zip(targets, sent, results, strict=True):
            if answer is None:
                continue
            self.stats.count(result.outcome)
            if is_removed(target, answer):
                await self.deps.registrations.remove(target)
            elif result.outcome is PushOutcome.RETRYING:
                wait_s = rules.retry_wait_s(self.task.tries + 1, answer.retry_after_s, self.deps.delays)
                retried.append((target, wait_s))
            elif result.outcome is PushOutcome.FAILED:
                refused.append(f"{result.provider}: {answer.status} {answer.answer}. {result.reason}")
        if refused:
            # One dead letter for all devices: a replay sends to each that has not accepted the notification.
            await self.deps.tasks.dead_letter(self.task, " ".join(refused))
        if retried:
            await self._retry(retried)

    async def _retry(self, retried: Sequence[tuple[PushRegistration, float]]) -> None:
        """Publish one task for all devices. It is due when the last of them is: devices of a user seldom differ."""
        now_ms, wait_s = self.deps.clock.now_ms(), max(wait_s for _, wait_s in retried)
        await self.deps.tasks.retry(
            PushTask(
                event=self.event,
                devices=tuple(target.device for target, _ in retried),
                tries=self.task.tries + 1,
                due_ms=now_ms + round(wait_s * 1000),
                at_ms=now_ms,
            )
        )
