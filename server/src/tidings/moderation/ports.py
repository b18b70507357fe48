"""Ports of reports and reviews."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.moderation.model import (
    Decision,
    Report,
    Review,
    ReviewPage,
    ReviewQueue,
    ReviewState,
    ReviewTarget,
)

type ReadAuthor = Callable[[ChatKey, UserId, int], Awaitable[UserId]]
"""Returns the author of a message that the user may read. Raises `message_not_found`."""

type CheckUser = Callable[[TenantId, UserId], Awaitable[object]]
"""Raises `user_not_found` for a user that does not exist."""

type OnReported = Callable[[Review, Report], Awaitable[None]]
"""Called with each report before its reporter receives the answer. A repeated report calls it again."""


class ReviewEraser(Protocol):
    async def delete_user(self, tenant: TenantId, user: UserId, /) -> None:
        """Delete the review about an erased user, with all reports about them. Idempotent."""
        ...


class ReviewStore(Protocol):
    async def find(self, target: ReviewTarget, /) -> Review | None:
        """Strongly consistent."""
        ...

    async def add_report(self, seen: Review | None, after: Review, report: Report, /) -> bool:
        """Store a report and its review, atomically and at most once. False: the reporter has reported the target before.

        Raises `write_conflict` if the review is not as it was seen.
        """
        ...

    async def change(self, seen: Review, state: ReviewState, decision: Decision | None, /) -> bool:
        """Set state and decision. False: the review is not as it was seen, or an earlier attempt changed it."""
        ...

    async def page(
        self, tenant: TenantId, queue: ReviewQueue, after: str | None, limit: int, /
    ) -> ReviewPage:
        """Return waiting reviews oldest first, decided ones newest first. A page with `last` may be empty."""
        ...

    async def reports(self, target: ReviewTarget, limit: int, /) -> Sequence[Report]:
        """Return reports by user id."""
        ...


class DecisionActions(Protocol):
    """The existing operations that carry out a decision. All are idempotent by the decision's id."""

    async def redact(self, chat: ChatKey, sequence: int, decision: Decision, /) -> None: ...

    async def mute(self, chat: ChatKey, user: UserId, decision: Decision, /) -> None: ...

    async def ban(self, chat: ChatKey, user: UserId, decision: Decision, /) -> None: ...

    async def suspend(self, tenant: TenantId, user: UserId, decision: Decision, /) -> None: ...
