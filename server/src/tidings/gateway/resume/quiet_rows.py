"""Copy heads of quiet groups into rows, so that the next resume of a user reads only the heads of active groups.

A resume offers rows of groups whose last entry is old. They are copied in the background, a few at a time: a copy costs
two write units for the first member of a group and one for each other member, and saves a read unit at each resume.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tidings.delivery import rules
from tidings.delivery.model import ChatRow, RowUpdate
from tidings.delivery.ports import HeadCopier
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import WorkQueue
from tidings.kernel.errors import TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId

MAX_PER_RESUME: Final = 100
_MAX_WAITING: Final = 1_000
_MAX_CONCURRENT: Final = 2


class _Copy(NamedTuple):
    chat: ChatKey
    user: UserId
    head: RowUpdate


class QuietRows:
    """Copies heads whose last entry is older than `after_s`. `copied`: rows since the start."""

    def __init__(
        self,
        copier: HeadCopier,
        clock: Clock,
        after_s: float,
        report: Callable[[str, BaseException], None],
    ) -> None:
        self._copier = copier
        self._clock = clock
        self._after_ms = int(after_s * 1000)
        self._waiting: WorkQueue[_Copy] = WorkQueue(self._copy, _MAX_CONCURRENT, report)
        self.copied = 0

    def offer(
        self,
        tenant: TenantId,
        user: UserId,
        rows: Sequence[ChatRow],
        heads: Mapping[ChatId, RowUpdate],
    ) -> None:
        """Copy some of these heads into the rows later. Heads beyond the limits are offered by the next resume."""
        before_ms = self._clock.now_ms() - self._after_ms
        old = (
            _Copy(ChatKey(tenant, row.chat), user, head)
            for row in rows
            if (head := heads.get(row.chat)) and rules.is_worth_copying(row, head, before_ms)
        )
        room = min(MAX_PER_RESUME, _MAX_WAITING - len(self._waiting))
        for _, copy in zip(range(room), old, strict=False):
            self._waiting.add(copy)

    async def wait_idle(self, within_s: float) -> None:
        await self._waiting.wait_idle(within_s)

    async def _copy(self, copy: _Copy) -> None:
        try:
            self.copied += await self._copier.copy_head(copy.chat, copy.user, copy.head)
        except TidingsError as error:
            # A copy only saves reads: the next resume offers it again.
            if not error.retryable:
                raise
