"""What a sender does with a broadcast: show it to users, step by step; halt; redact. Each is one entry of the log."""

from tidings.broadcasts import rules
from tidings.broadcasts.append import Append
from tidings.broadcasts.model import Draft, LogId, Reached


class Announce:
    def __init__(self, append: Append) -> None:
        self._append = append

    async def step(self, log: LogId, draft: Draft, up_to: int, /) -> Reached:
        """To so many parts of its users; nothing where they have it already, or it is over. May be repeated at will."""
        return await self._done(log, draft.notice, rules.step(draft, up_to))

    async def halt(self, log: LogId, notice: str, /) -> Reached:
        """Who has it keeps it. Raises `nothing_to_change` if it is not live."""
        return await self._done(log, notice, rules.halt(notice))

    async def redact(self, log: LogId, notice: str, /) -> Reached:
        """Hidden from everybody, if it is shown to anybody. May be repeated at will."""
        return await self._done(log, notice, rules.redact(notice))

    async def reached(self, log: LogId, notice: str, /) -> Reached:
        return rules.reached(await self._append.view(log), notice)

    async def _done(self, log: LogId, notice: str, decide: rules.Decide) -> Reached:
        await self._append(log, decide)
        return await self.reached(log, notice)
