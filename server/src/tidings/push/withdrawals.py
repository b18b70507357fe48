"""Remove notifications from a user's devices after the user has read the chat on one of them."""

from collections.abc import Mapping, Sequence
from typing import final

from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import ChatKey, message_id
from tidings.push import rules
from tidings.push.device_sending import is_removed
from tidings.push.model import (
    PushAction,
    PushKind,
    PushRead,
    PushRegistration,
    ShownAlert,
    WebPushTarget,
    kind_of,
)
from tidings.push.notification import Notification, about_message
from tidings.push.ports import SendVerdict
from tidings.push.provider_config import StoredProvider
from tidings.push.sending import DispatcherDeps, PushStats

_EXPIRES_MS = 3_600_000
_SHOWS_EVERY_PUSH = ("web.push.apple.com",)
"""Push services that end a subscription after messages that show no notification."""


@final
class PushWithdrawals:
    """Send withdrawals with the collapse id of the notification and the current badge.

    Best effort: a withdrawal that a provider does not accept is not repeated. The next notification of the chat replaces
    the shown one, and sets the badge.
    """

    def __init__(self, deps: DispatcherDeps, stats: PushStats) -> None:
        self._deps = deps
        self._stats = stats

    async def handle(self, reads: Sequence[PushRead]) -> None:
        """Process reads: of one chat and user, the furthest. Raises an error of a store."""
        furthest = {
            (read.tenant, read.user, read.chat): read
            for read in sorted(reads, key=lambda read: read.sequence)
        }
        await gather_limited(self._withdraw(read) for read in furthest.values())

    async def _withdraw(self, read: PushRead) -> None:
        chat = ChatKey(read.tenant, read.chat)
        alert, _ = await self._deps.alerts.read(chat, read.user)
        if alert is None or not rules.is_withdrawn_by(alert, read.sequence):
            return
        providers = await self._deps.providers.of(read.tenant)
        targets = [
            each
            for each in await self._deps.registrations.list(read.tenant, read.user)
            if kind_of(each.target) in providers and accepts_withdrawals(each)
        ]
        if targets:
            badge = await self._deps.badge(read.tenant, read.user)
            await gather_limited(self._send(each, read, alert, badge, providers) for each in targets)
            await self._deps.failpoints.hit("push.withdrawn")
        # After the requests: a process that is killed in between sends the same withdrawal again.
        await self._deps.alerts.withdraw(chat, read.user, alert.sequence)

    async def _send(
        self,
        target: PushRegistration,
        read: PushRead,
        alert: ShownAlert,
        badge: int,
        providers: Mapping[PushKind, StoredProvider],
    ) -> None:
        kind, now_ms = kind_of(target.target), self._deps.clock.now_ms()
        note = Notification(
            tenant=read.tenant,
            user=read.user,
            device=target.device,
            action=PushAction.WITHDRAW,
            subject=message_id(read.chat, alert.sequence),
            about=about_message(read.chat, alert.sequence),
            thread=read.chat,
            badge=badge,
            sent_ms=now_ms,
            expires_ms=now_ms + _EXPIRES_MS,
            collapse_id=read.chat,
        )
        answer = await self._deps.senders[kind].send(target, note, providers[kind])
        self._stats.withdrawn += answer.verdict is SendVerdict.ACCEPTED
        if is_removed(target, answer):
            await self._deps.registrations.remove(target)


def accepts_withdrawals(registration: PushRegistration) -> bool:
    """Return whether the service of a registration accepts a push that removes a notification."""
    target = registration.target
    return not isinstance(target, WebPushTarget) or target.service not in _SHOWS_EVERY_PUSH
