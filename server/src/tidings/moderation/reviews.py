"""Report messages and users, list the review queue, and decide.

A decision is recorded before it is carried out. A process that dies in between leaves the review in the state `applying`,
which the queue shows: the same decision again carries it out, with the same idempotency keys. In the other order, a user
could be banned without a record of the decision.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from tidings.chats.model import ChatType, chat_type
from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import retry_on_conflict
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId, new_ulid
from tidings.moderation.model import (
    Decision,
    Report,
    ReportReason,
    Review,
    ReviewAction,
    ReviewPage,
    ReviewQueue,
    ReviewState,
    ReviewTarget,
    message_target,
    review_not_found,
    user_target,
)
from tidings.moderation.ports import CheckUser, DecisionActions, OnReported, ReadAuthor, ReviewStore
from tidings.schema.tables.items.moderation import MAX_REPORTS

MAX_PAGE = 100
MAX_SHOWN_REPORTS = 100
_OF_MEMBERS = (ReviewAction.MUTE, ReviewAction.BAN)


class ReportRequest(NamedTuple):
    reporter: UserId
    reason: ReportReason
    text: str | None = None


class ReportService:
    def __init__(
        self,
        store: ReviewStore,
        clock: Clock,
        read_author: ReadAuthor,
        check_user: CheckUser,
        on_reported: OnReported | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._read_author = read_author
        self._check_user = check_user
        self._on_reported = on_reported

    async def report_message(self, chat: ChatKey, sequence: int, request: ReportRequest) -> None:
        """Report a message that the reporter may read. A second report by the same user changes nothing."""
        author = await self._read_author(chat, request.reporter, sequence)
        await self._report(message_target(chat, sequence), author, request)

    async def report_user(self, tenant: TenantId, user: UserId, request: ReportRequest) -> None:
        await self._check_user(tenant, user)
        await self._report(user_target(tenant, user), user, request)

    async def _report(self, target: ReviewTarget, author: UserId, request: ReportRequest) -> None:
        if author == request.reporter:
            raise TidingsError(Code.REQUEST_INVALID, "You cannot report yourself or your own message.")
        now_ms = self._clock.now_ms()
        report = Report(reporter=request.reporter, reason=request.reason, text=request.text, at_ms=now_ms)
        review = await retry_on_conflict(partial(self._add, target, author, report))
        # Also after a repeated report: the process of the first one may have died before this call.
        if self._on_reported is not None:
            await self._on_reported(review, report)

    async def _add(self, target: ReviewTarget, author: UserId, report: Report) -> Review:
        """Store a report, unless it is a repeated one or the target has enough reports."""
        seen = await self._store.find(target)
        if seen is not None and seen.count >= MAX_REPORTS:
            return seen
        after = _with_report(target, author, seen, report)
        return after if await self._store.add_report(seen, after, report) else seen or after


def _with_report(target: ReviewTarget, author: UserId, seen: Review | None, report: Report) -> Review:
    """Return the review after a report. A decided one opens again: the target was reported by someone else since."""
    if seen is None:
        return Review(
            target=target,
            state=ReviewState.OPEN,
            author=author,
            count=1,
            reasons=frozenset({report.reason}),
            opened_ms=report.at_ms,
            reported_ms=report.at_ms,
        )
    after = replace(
        seen,
        count=seen.count + 1,
        reasons=seen.reasons | {report.reason},
        reported_ms=max(seen.reported_ms, report.at_ms),
    )
    if seen.state is not ReviewState.DECIDED:
        return after
    return replace(after, state=ReviewState.OPEN, opened_ms=report.at_ms, decision=None)


class ReviewService:
    """For moderators of a tenant. The edge checks that the caller is one."""

    def __init__(self, store: ReviewStore, actions: DecisionActions, clock: Clock) -> None:
        self._store = store
        self._actions = actions
        self._clock = clock

    async def page(
        self, tenant: TenantId, state: ReviewState | None, after: str | None, limit: int
    ) -> ReviewPage:
        """Return open and applying reviews, oldest first, then decided ones, newest first. `state` selects one state."""
        size = min(max(limit, 1), MAX_PAGE)
        name, _, start = (after or "").partition(" ")
        queue = ReviewQueue(name) if name else ReviewQueue.WAITING
        if state is ReviewState.DECIDED:
            queue = ReviewQueue.DECIDED
        page = await self._store.page(tenant, queue, start or None, size)
        last = None if page.last is None else f"{queue} {page.last}"
        if last is None and state is None and queue is ReviewQueue.WAITING:
            last = f"{ReviewQueue.DECIDED} "
        return ReviewPage([each for each in page.reviews if state in {None, each.state}], last)

    async def read(self, target: ReviewTarget) -> Review:
        found = await self._store.find(target)
        if found is None:
            raise review_not_found()
        return found

    async def reports(self, target: ReviewTarget) -> Sequence[Report]:
        """Return the first 100 reports, by user id."""
        return await self._store.reports(target, MAX_SHOWN_REPORTS)

    async def decide(
        self,
        target: ReviewTarget,
        action: ReviewAction,
        by: str,
        *,
        until_ms: int | None = None,
        reason: str | None = None,
    ) -> Review:
        """Record a decision and carry it out. The same decision again returns the review.

        Raises `review_decided` if there is another decision. If the decision cannot be carried out, because the user left
        the group for example, the review is open again, and the error says why. If the outcome is unknown, the review
        is `applying` until the decision is repeated.
        """
        asked = Decision(
            id=new_ulid(), action=action, by=by, at_ms=self._clock.now_ms(), until_ms=until_ms, reason=reason
        )
        _check_action(target, asked, self._clock.now_ms())
        review = await self._claim(target, asked)
        if review.state is ReviewState.APPLYING and review.decision is not None:
            return await self._carry_out(review, review.decision)
        return review

    async def _claim(self, target: ReviewTarget, asked: Decision) -> Review:
        """Record the decision if there is none. Returns the review with a decision that asks for the same."""
        is_done = asked.action is ReviewAction.DISMISS
        review = await self.read(target)
        if review.state is ReviewState.OPEN:
            # Race: two moderators decide at once. Both read an open review, and the condition lets one of them change it.
            # The other reads the decision, and receives `review_decided` unless it is the same.
            state = ReviewState.DECIDED if is_done else ReviewState.APPLYING
            if await self._store.change(review, state, asked):
                return replace(review, state=state, decision=asked)
            review = await self.read(target)
        if review.decision is None:
            raise TidingsError(Code.WRITE_CONFLICT, "The review was changed at the same time.")
        if not review.decision.asks_for_the_same(asked):
            raise _decided(review.decision)
        return review

    async def _carry_out(self, review: Review, decision: Decision) -> Review:
        try:
            await self._apply(review, decision)
        except TidingsError as error:
            if not error.retryable:
                await self._store.change(review, ReviewState.OPEN, None)
            raise
        # Race: another moderator repeats the decision at the same time, or a flagged edit opens the review again. The
        # condition fails, and the review is as the other one left it.
        if await self._store.change(review, ReviewState.DECIDED, decision):
            return replace(review, state=ReviewState.DECIDED)
        return await self.read(review.target)

    async def _apply(self, review: Review, decision: Decision) -> None:
        author, message = review.author, review.target.message
        match decision.action:
            case ReviewAction.SUSPEND:
                await self._actions.suspend(review.target.tenant, author, decision)
            case ReviewAction.REDACT if message is not None:
                await self._actions.redact(*message, decision)
            case ReviewAction.MUTE if message is not None:
                await self._actions.mute(message[0], author, decision)
            case ReviewAction.BAN if message is not None:
                await self._actions.ban(message[0], author, decision)


def _check_action(target: ReviewTarget, asked: Decision, now_ms: int) -> None:
    message = target.message
    if message is None and target.user is None:
        raise review_not_found()
    needs_message = asked.action is ReviewAction.REDACT or asked.action in _OF_MEMBERS
    if needs_message and message is None:
        raise TidingsError(
            Code.REQUEST_INVALID, f"`{asked.action}` is for messages. Dismiss or suspend a user."
        )
    if asked.action in _OF_MEMBERS and message is not None:
        if chat_type(message[0].chat) is not ChatType.GROUP:
            raise TidingsError(
                Code.REQUEST_INVALID, f"`{asked.action}` is for groups. Suspend the user instead."
            )
        if asked.until_ms is not None and asked.until_ms <= now_ms:
            raise TidingsError(Code.REQUEST_INVALID, "`until` is in the past.")
    elif asked.until_ms is not None or asked.reason is not None:
        raise TidingsError(Code.REQUEST_INVALID, "`until` and `reason` are for `mute` and `ban`.")


def _decided(decision: Decision) -> TidingsError:
    return TidingsError(
        Code.REVIEW_DECIDED,
        f"{decision.by} has decided `{decision.action}`.",
        hint="Read the review again.",
        details={"decision": {"action": decision.action.value, "by": decision.by}},
    )
