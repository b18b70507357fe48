"""Process offline events and further attempts: decide about each message, and send what must be sent."""

from collections import defaultdict
from collections.abc import Sequence
from typing import final

from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.push import rules
from tidings.push.model import (
    PushAction,
    PushDecision,
    PushOutcome,
    PushPolicy,
    PushRead,
    PushResult,
    PushTask,
    SkipReason,
)
from tidings.push.outages import OutageTracker
from tidings.push.sending import DispatcherDeps, PushStats, RecipientSending
from tidings.push.state import RecipientState
from tidings.push.withdrawals import PushWithdrawals
from tidings.tenants.model import PushSettings

MAX_CONCURRENT = 100


@final
class PushDispatcher:
    def __init__(self, deps: DispatcherDeps, stats: PushStats) -> None:
        self._deps = deps
        self._stats = stats
        self._withdrawals = PushWithdrawals(deps, stats)
        self.outages = OutageTracker(deps.clock)

    async def handle(self, tasks: Sequence[PushTask]) -> None:
        """Process tasks: those of one recipient and chat together, others concurrently. Raises an error of a store."""
        groups: dict[tuple[TenantId, UserId, str], list[PushTask]] = defaultdict(list)
        for task in tasks:
            groups[task.event.tenant, task.event.recipient, task.event.chat].append(task)
        await gather_limited((self._handle_chat(group) for group in groups.values()), MAX_CONCURRENT)

    async def _handle_chat(self, tasks: Sequence[PushTask]) -> None:
        event = tasks[0].event
        chat, user = ChatKey(event.tenant, event.chat), event.recipient
        providers = await self._deps.providers.of(chat.tenant)
        if not providers:
            return  # The tenant consumes offline events itself, or does not want notifications.
        # A task for all devices replaces one for some of them.
        tasks = list({t.event.sequence: t for t in sorted(tasks, key=lambda t: not t.devices)}.values())
        settings = await self._deps.settings(chat.tenant)
        state = await self._deps.state.read(chat, user, [task.event for task in tasks])
        decisions = self._decide(tasks, state, settings)
        skipped = [
            await self._skip(task, decision)
            for task, decision in zip(tasks, decisions, strict=True)
            if decision.action is PushAction.NONE
        ]
        sends = [
            RecipientSending(
                self._deps, self._stats, self.outages, task, decision, state, settings, providers
            )
            for task, decision in zip(tasks, decisions, strict=True)
            if decision.action is not PushAction.NONE
        ]
        # At most one is sent, after `keep_newest`.
        shown = [each.event.sequence for each in sends if await each.run()]
        await self._withdraw_if_read(chat, user, state, shown)
        await gather_limited(self._deps.report([each]) for each in skipped)
        await self._deps.results.put(skipped)

    async def _withdraw_if_read(
        self, chat: ChatKey, user: UserId, state: RecipientState, shown: Sequence[int]
    ) -> None:
        """Withdraw the notification if its message is read. `shown`: the sequences of messages that were sent now.

        Race: the user reads the chat while its notification is sent. The worker that processes the read finds no shown
        alert and withdraws nothing. The read is stored before it is published, and the alert before this look-up, so
        one of the two workers sees both. A worker that is killed after it stored the alert leaves it to the next one,
        which receives the event again and finds the alert in `state`.
        """
        if shown:
            read_up_to = await self._deps.state.read_up_to(chat, user)
            is_read = read_up_to >= max(shown)
        else:
            read_up_to = max((message.read_up_to for message in state.messages), default=0)
            is_read = rules.is_withdrawn_by(state.alert, read_up_to)
        if is_read:
            read = PushRead(tenant=chat.tenant, user=user, chat=chat.chat, sequence=read_up_to)
            await self._withdrawals.handle([read])

    def _decide(
        self, tasks: Sequence[PushTask], state: RecipientState, settings: PushSettings
    ) -> list[PushDecision]:
        now_ms = self._deps.clock.now_ms()
        if not state.registrations:
            none = PushDecision(PushAction.NONE, SkipReason.NO_DEVICE, "No device is registered.")
            return [none for _ in tasks]
        policy = PushPolicy(max_age_s=settings.max_age_s, collapse_window_s=settings.collapse_window_s)
        decided = [
            rules.decide(message, state.preferences, state.alert, policy, now_ms)
            for message in state.messages
        ]
        sequences = [task.event.sequence for task in tasks]
        return rules.keep_newest(list(zip(sequences, decided, strict=True)), state.alert)

    async def _skip(self, task: PushTask, decision: PushDecision) -> PushResult:
        """Return the result of a message that is not notified. One that no provider accepted in time is a dead letter."""
        event, reason = task.event, f"{decision.reason}: {decision.detail}"
        is_late = task.tries > 0 and decision.reason is SkipReason.TOO_OLD
        outcome = PushOutcome.FAILED if is_late else PushOutcome.SKIPPED
        self._stats.count(outcome)
        if is_late:
            await self._deps.tasks.dead_letter(
                task, f"No provider accepted it in {task.tries} attempts. {reason}"
            )
        return PushResult(
            tenant=event.tenant,
            chat=event.chat,
            sequence=event.sequence,
            user=event.recipient,
            device=None,
            outcome=outcome,
            decided_ms=self._deps.clock.now_ms(),
            reason=reason,
        )
