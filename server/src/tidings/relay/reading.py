"""Reads one shard from a place to its end, page after page: each record is handed on once, in order.

Not faster than the stream allows: five reads a second, shared by two readers while a shard changes hands.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from tidings.relay import rules
from tidings.relay.model import RecordPage, ShardId
from tidings.relay.ports import (
    ChangeStream,
    RelaySourceUnavailableError,
    StreamIteratorExpiredError,
    TrimmedError,
)

type Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    """Wait at least `busy_s` between two reads of a shard, twice as long after each empty one, up to `idle_s`.

    An empty read is charged as well. While reads fail, the wait grows to `longest_s`.
    """

    busy_s: float = 0.4
    idle_s: float = 5.0
    longest_s: float = 20.0


class PageHandler(Protocol):
    """Takes a page before the next is read. Returns when there is room for more."""

    def __call__(self, page: RecordPage, /) -> Awaitable[None]: ...


@dataclass(slots=True)
class ShardReader:
    """`read_to`: the last record that was handed on. `is_at_end`: the last page was empty."""

    stream: ChangeStream
    shard: ShardId
    read_to: str | None
    take: PageHandler
    on_trimmed: Callable[[ShardId], None]
    policy: ReadPolicy = field(default_factory=ReadPolicy)
    sleep: Sleep = asyncio.sleep
    is_done: bool = False
    is_at_end: bool = False
    _iterator: str | None = None
    _was_at_end: bool = False
    """Of this iterator: there was nothing that it could have missed."""
    _failures: int = 0
    _empties: int = 0
    """Reads without a record, one after the other."""

    async def run(self) -> None:
        """Until the end of the shard."""
        while not self.is_done:
            await self.sleep(await self.step())

    async def step(self) -> float:
        """One try to read a page. Answers how long to wait before the next."""
        try:
            page = await self._page()
        except RelaySourceUnavailableError:
            return self._after_failure()
        except StreamIteratorExpiredError:
            self._forget_iterator()
            return self.policy.busy_s
        except TrimmedError:
            self._begin_anew()
            return self.policy.busy_s
        self._failures = 0
        if page.records:
            await self.take(page)
            self.read_to = page.records[-1].number
        self._iterator = page.iterator
        self._was_at_end = not page.records
        self.is_done = page.iterator is None
        self.is_at_end = self.is_done or not page.records
        self._empties = 0 if page.records else self._empties + 1
        return rules.backoff_s(self.policy.busy_s, self.policy.idle_s, self._empties)

    async def _page(self) -> RecordPage:
        if self._iterator is None:
            self._iterator = await self.stream.iterator(self.shard, self.read_to)
        return await self.stream.page(self._iterator)

    def _begin_anew(self) -> None:
        """What lay between is lost to the audit: somebody has to run the repair job.

        Unless nothing did: an iterator lives for minutes and a record for a day, so one that stood at the end can't
        have been overtaken. DynamoDB Local says so of the first record of an empty shard.
        """
        if not self._was_at_end:
            self.on_trimmed(self.shard)
            self.read_to = None
        self._forget_iterator()

    def _forget_iterator(self) -> None:
        self._iterator, self._was_at_end = None, False

    def _after_failure(self) -> float:
        longest = rules.backoff_s(self.policy.busy_s, self.policy.longest_s, self._failures)
        self._failures += 1
        return random.uniform(longest / 2, longest)  # noqa: S311 - spreads tries, hides nothing
