"""What a sender does with a broadcast: show it to users, step by step; halt; redact. Each is one entry of the log."""

from tidings.broadcasts import rules
from tidings.broadcasts.append import LogAppender
from tidings.broadcasts.model import BroadcastDraft, BroadcastLogId, RolloutStatus


class BroadcastRollout:
    def __init__(self, append: LogAppender) -> None:
        self._append = append

    async def step(self, log: BroadcastLogId, draft: BroadcastDraft, up_to: int, /) -> RolloutStatus:
        """To so many parts of its users; nothing where they have it already, or it is over. May be repeated at will."""
        return await self._done(log, draft.notification, rules.decide_step(draft, up_to))

    async def halt(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Who has it keeps it. Raises `nothing_to_change` if it is not live."""
        return await self._done(log, notification, rules.decide_halt(notification))

    async def redact(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        """Hidden from everybody, if it is shown to anybody. May be repeated at will."""
        return await self._done(log, notification, rules.decide_redact(notification))

    async def status(self, log: BroadcastLogId, notification: str, /) -> RolloutStatus:
        return rules.rollout_status(await self._append.view(log), notification)

    async def _done(self, log: BroadcastLogId, notification: str, decide: rules.AppendRule) -> RolloutStatus:
        await self._append(log, decide)
        return await self.status(log, notification)
