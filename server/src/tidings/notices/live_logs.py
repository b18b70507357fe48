"""Tells gateways that a log of broadcasts has moved, or that what one of them says was changed: a word per log.

Off the path of whoever appended. A gateway reads the log when it hears the word, so that a word that comes late, twice or
never tells nothing wrong; never means that its devices learn of it when they next ask.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from tidings.broadcasts.model import BroadcastLogId
from tidings.broadcasts.ports import BroadcastBus
from tidings.routing.model import BroadcastLogAdvanced, RegistryUnavailableError, encode_messages

MAX_PENDING_LOGS = 1_000
"""Logs that may wait while Redis is away."""
_RETRY_S = 1.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _PendingAdvance:
    sequence: int = 0
    amended: dict[str, None] = field(default_factory=dict)


class BroadcastLogPublisher:
    """Belongs to the loop that it is used in. `lost` counts words that nobody was told."""

    def __init__(self, bus: BroadcastBus) -> None:
        self._bus = bus
        self._waiting: dict[BroadcastLogId, _PendingAdvance] = {}
        self._task: asyncio.Task[None] | None = None
        self.lost = 0

    def moved(self, log: BroadcastLogId, sequence: int, /) -> None:
        if (word := self._message(log)) is not None:
            word.sequence = max(word.sequence, sequence)

    def amended(self, log: BroadcastLogId, notification: str, /) -> None:
        if (word := self._message(log)) is not None:
            word.amended[notification] = None

    async def wait_idle(self, within_s: float) -> None:
        """What was told of is said, or it took too long."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=within_s)
            self._task.cancel()

    def _message(self, log: BroadcastLogId) -> _PendingAdvance | None:
        if log not in self._waiting and len(self._waiting) >= MAX_PENDING_LOGS:
            self.lost += 1
            return None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return self._waiting.setdefault(log, _PendingAdvance())

    async def _run(self) -> None:
        while self._waiting:
            log = next(iter(self._waiting))
            word = self._waiting.pop(log)
            said = BroadcastLogAdvanced(word.sequence, tuple(word.amended))
            try:
                await self._bus.publish_broadcasts(log.tenant, log.inbox, encode_messages((said,)))
            except RegistryUnavailableError as error:
                _log.warning("nobody is told of broadcasts for a moment: %s", error)
                self._retry(log, word)
                await asyncio.sleep(_RETRY_S)

    def _retry(self, log: BroadcastLogId, word: _PendingAdvance) -> None:
        later = self._waiting.setdefault(log, word)
        later.sequence = max(later.sequence, word.sequence)
        later.amended = word.amended | later.amended
