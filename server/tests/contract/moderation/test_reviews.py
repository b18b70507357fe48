"""Reports gather in reviews, and decisions are carried out once, on real tables."""

import asyncio

import pytest
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, asked, by, code_of

from tidings.app.wiring.moderation import ChatDecisionActions, build_reports, build_reviews
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.messages.model import MODERATOR, EntryKind
from tidings.moderation import reviews
from tidings.moderation.model import (
    Decision,
    ReportReason,
    Review,
    ReviewAction,
    ReviewState,
    ReviewTarget,
    message_target,
    user_target,
)
from tidings.moderation.reviews import ReportRequest, ReportService, ReviewService
from tidings.moderation.store import DynamoReviewStore

SPAM = ReportRequest(CLEO, ReportReason.SPAM, "the same link, Ärger")


class Moderated:
    """The services of reports and reviews in one process, and a group with ben, cleo and dora."""

    def __init__(self, env: UseCaseEnv) -> None:
        self.env = env
        self.users = RestApp(env).accounts.users
        self.store = DynamoReviewStore(env.client, env.user_keys)
        self.reports: ReportService = build_reports(self.store, env.clock, env.history, self.users)
        self.reviews: ReviewService = build_reviews(
            self.store, env.clock, env.change, env.moderation, self.users
        )

    async def group(self) -> tuple[ChatKey, int]:
        """Return a group and the sequence of a message of ben in it."""
        chat = await self.env.group(BEN, CLEO, DORA)
        return chat, (await self.env.send(chat, BEN, "buy this")).sequence

    async def reported(self) -> tuple[ChatKey, int]:
        chat, sequence = await self.group()
        await self.reports.report_message(chat, sequence, SPAM)
        return chat, sequence

    async def listed(self, state: ReviewState | None = None) -> list[str]:
        """Return the ids of all reviews, page by page. The index is eventually consistent."""
        found: list[str] = []
        after: str | None = None
        while True:
            page = await self.reviews.page(self.env.tenant, state, after, 2)
            found += [each.target.id for each in page.reviews]
            if (after := page.last) is None:
                return found

    async def until_listed(self, *ids: str, state: ReviewState | None = None) -> None:
        async with asyncio.timeout(10):
            while await self.listed(state) != list(ids):  # noqa: ASYNC110 - the index has no event
                await asyncio.sleep(0.05)


async def test_reports_of_a_message_gather_in_one_review(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.group()
    target = message_target(chat, sequence)
    await moderated.reports.report_message(chat, sequence, SPAM)
    await moderated.reports.report_message(chat, sequence, SPAM._replace(reason=ReportReason.OTHER))
    await moderated.reports.report_message(chat, sequence, ReportRequest(DORA, ReportReason.ABUSE))
    review = await moderated.reviews.read(target)
    assert (review.count, review.state, review.author) == (2, ReviewState.OPEN, BEN)
    assert review.reasons == {ReportReason.SPAM, ReportReason.ABUSE}
    cleo, dora = await moderated.reviews.reports(target)
    assert (cleo.reporter, cleo.reason, cleo.text) == (CLEO, ReportReason.SPAM, SPAM.text)
    assert (dora.reporter, dora.text) == (DORA, None)


async def test_concurrent_reports_are_all_counted(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    people = [UserId(f"user{n}") for n in range(12)]
    chat = await moderated.env.group(BEN, *people)
    sequence = (await moderated.env.send(chat, BEN)).sequence
    async with asyncio.TaskGroup() as tasks:
        for user in people:
            for _ in range(2):
                request = ReportRequest(user, ReportReason.SPAM)
                tasks.create_task(moderated.reports.report_message(chat, sequence, request))
    assert (await moderated.reviews.read(message_target(chat, sequence))).count == len(people)


async def test_only_readers_report_and_nobody_reports_themselves(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.group()
    for reporter, place in ((UserId("eve"), sequence), (CLEO, 99), (CLEO, 1)):
        request = ReportRequest(reporter, ReportReason.SPAM)
        doing = moderated.reports.report_message(chat, place, request)
        assert await code_of(doing) is Code.MESSAGE_NOT_FOUND
    own = ReportRequest(BEN, ReportReason.SPAM)
    assert await code_of(moderated.reports.report_message(chat, sequence, own)) is Code.REQUEST_INVALID
    nobody = moderated.reports.report_user(moderated.env.tenant, UserId("nobody"), own)
    assert await code_of(nobody) is Code.USER_NOT_FOUND
    assert await moderated.store.find(message_target(chat, sequence)) is None


async def test_a_target_stores_a_bounded_number_of_reports(
    use_cases: UseCaseEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    moderated = Moderated(use_cases)
    monkeypatch.setattr(reviews, "MAX_REPORTS", 1)
    chat, sequence = await moderated.reported()
    await moderated.reports.report_message(chat, sequence, ReportRequest(DORA, ReportReason.ABUSE))
    assert (await moderated.reviews.read(message_target(chat, sequence))).count == 1


async def test_the_queue_lists_open_reviews_first_and_oldest_first(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    env = moderated.env
    await env.group()
    ids = []
    for name in ("u1", "u2", "u3", "u4", "u5"):
        user = UserId(name)
        await moderated.users.create(env.tenant, user)
        await moderated.reports.report_user(env.tenant, user, SPAM)
        env.clock.ahead_ms += 10
        ids.append(f"u.{name}")
    await moderated.until_listed(*ids)
    for name in ("u2", "u4"):
        await moderated.reviews.decide(user_target(env.tenant, UserId(name)), ReviewAction.DISMISS, "op")
        env.clock.ahead_ms += 10
    await moderated.until_listed("u.u1", "u.u3", "u.u5", "u.u4", "u.u2")
    await moderated.until_listed("u.u4", "u.u2", state=ReviewState.DECIDED)
    await moderated.until_listed("u.u1", "u.u3", "u.u5", state=ReviewState.OPEN)
    await moderated.reports.report_user(env.tenant, UserId("u2"), ReportRequest(DORA, ReportReason.ABUSE))
    await moderated.until_listed("u.u1", "u.u3", "u.u5", "u.u2", state=ReviewState.OPEN)
    assert (await moderated.reviews.read(user_target(env.tenant, UserId("u2")))).decision is None


async def test_a_redaction_removes_the_message_for_all(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.reported()
    target = message_target(chat, sequence)
    done = await moderated.reviews.decide(target, ReviewAction.REDACT, "op")
    assert done.state is ReviewState.DECIDED
    assert (await moderated.env.history.one(chat, CLEO, sequence)).content is None
    (last,) = await moderated.env.reader.range(chat, 0, 99, 1, newest_first=True)
    assert (last.kind, last.sender, last.refers_to) == (EntryKind.REDACTION, MODERATOR, sequence)


async def test_a_moderator_redacts_in_a_direct_chat_and_cannot_mute_there(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat = await moderated.env.commands.direct(moderated.env.tenant, ANNA, BEN)
    sequence = (await moderated.env.send(chat, BEN)).sequence
    await moderated.reports.report_message(chat, sequence, ReportRequest(ANNA, ReportReason.ABUSE))
    target = message_target(chat, sequence)
    for action in (ReviewAction.MUTE, ReviewAction.BAN):
        assert await code_of(moderated.reviews.decide(target, action, "op")) is Code.REQUEST_INVALID
    assert (await moderated.reviews.read(target)).state is ReviewState.OPEN
    await moderated.reviews.decide(target, ReviewAction.REDACT, "op")
    assert (await moderated.env.history.one(chat, ANNA, sequence)).content is None


async def test_mute_and_ban_act_on_the_author_and_have_an_end_and_a_reason(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.reported()
    until_ms = moderated.env.clock.now_ms() + 60_000
    target = message_target(chat, sequence)
    await moderated.reviews.decide(target, ReviewAction.MUTE, "op", until_ms=until_ms, reason="spam")
    assert await code_of(moderated.env.send(chat, BEN)) is Code.MUTED
    await moderated.reports.report_message(chat, sequence, ReportRequest(DORA, ReportReason.SPAM))
    await moderated.reviews.decide(target, ReviewAction.BAN, "op", reason="spam")
    assert await code_of(moderated.env.send(chat, BEN)) is Code.NOT_A_MEMBER
    (last,) = await moderated.env.reader.range(chat, 0, 99, 1, newest_first=True)
    assert (last.kind, last.role, last.reason) == (EntryKind.LEAVE, "ban", "spam")
    assert await code_of(moderated.env.commands.add(chat, by(ANNA), [BEN])) is Code.BANNED


async def test_a_suspension_refuses_the_user(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    tenant = moderated.env.tenant
    await moderated.users.create(tenant, BEN)
    await moderated.reports.report_user(tenant, BEN, SPAM)
    assert (
        await code_of(moderated.reviews.decide(user_target(tenant, BEN), ReviewAction.REDACT, "op"))
        is Code.REQUEST_INVALID
    )
    await moderated.reviews.decide(user_target(tenant, BEN), ReviewAction.SUSPEND, "op")
    assert (await moderated.users.read(tenant, BEN)).suspended_at_ms is not None


async def test_a_moderator_only_redacts_and_removes(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.group()
    assert await code_of(use_cases.send(chat, MODERATOR)) is Code.FORBIDDEN
    assert await code_of(use_cases.commands.add(chat, by(MODERATOR), [ANNA, UserId("eve")])) is Code.FORBIDDEN
    reacting = use_cases.change.react(asked(chat, MODERATOR, sequence), "👍")
    assert await code_of(reacting) is Code.FORBIDDEN


async def test_one_of_two_moderators_decides(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.reported()
    target = message_target(chat, sequence)
    deciding = [
        moderated.reviews.decide(target, action, f"operator {action}")
        for action in (ReviewAction.BAN, ReviewAction.DISMISS, ReviewAction.REDACT)
    ]
    results = await asyncio.gather(*deciding, return_exceptions=True)
    (won,) = [each for each in results if isinstance(each, Review)]
    lost = [each for each in results if isinstance(each, TidingsError)]
    assert [each.code for each in lost] == [Code.REVIEW_DECIDED] * 2
    assert won.decision is not None
    assert all(each.details["decision"]["by"] == won.decision.by for each in lost)  # type: ignore[index]
    kinds = (await moderated.env.kinds(chat))[sequence:]
    assert len(kinds) == (won.decision.action is not ReviewAction.DISMISS)
    again = await moderated.reviews.decide(target, won.decision.action, "another operator")
    assert again.decision == won.decision


class KilledActions(ChatDecisionActions):
    """The process dies at a step of the ban: before it, or after it."""

    def __init__(self, env: UseCaseEnv, users: object, *, is_before: bool) -> None:
        super().__init__(env.change, env.moderation, users)  # type: ignore[arg-type]
        self.is_before = is_before

    async def ban(self, chat: ChatKey, user: UserId, decision: Decision, /) -> None:
        if not self.is_before:
            await super().ban(chat, user, decision)
        raise asyncio.CancelledError


@pytest.mark.parametrize("is_before", [True, False])
async def test_a_decision_survives_the_death_of_its_process(use_cases: UseCaseEnv, is_before: bool) -> None:  # noqa: FBT001
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.reported()
    target = message_target(chat, sequence)
    killed = ReviewService(
        moderated.store,
        KilledActions(moderated.env, moderated.users, is_before=is_before),
        moderated.env.clock,
    )
    with pytest.raises(asyncio.CancelledError):
        await killed.decide(target, ReviewAction.BAN, "op", reason="spam")
    assert (await moderated.reviews.read(target)).state is ReviewState.APPLYING
    await moderated.until_listed(target.id, state=ReviewState.APPLYING)
    assert await code_of(moderated.reviews.decide(target, ReviewAction.DISMISS, "x")) is Code.REVIEW_DECIDED
    moderated.env.open_process()
    restarted = Moderated(moderated.env)
    done = await restarted.reviews.decide(target, ReviewAction.BAN, "other", reason="spam")
    assert done.state is ReviewState.DECIDED
    assert done.decision is not None
    assert done.decision.by == "op"
    assert (await moderated.env.kinds(chat))[sequence:] == [EntryKind.LEAVE]
    await moderated.until_listed(state=ReviewState.APPLYING)


@pytest.mark.parametrize(
    ("action", "code"), [(ReviewAction.MUTE, Code.NOT_A_MEMBER), (ReviewAction.SUSPEND, Code.USER_NOT_FOUND)]
)
async def test_a_decision_that_is_not_possible_opens_the_review_again(
    use_cases: UseCaseEnv, action: ReviewAction, code: Code
) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.reported()
    await moderated.env.commands.remove(chat, by(ANNA), BEN)
    target = message_target(chat, sequence)
    assert await code_of(moderated.reviews.decide(target, action, "op")) is code
    review = await moderated.reviews.read(target)
    assert (review.state, review.decision) == (ReviewState.OPEN, None)


async def test_a_retryable_error_leaves_the_decision_visible(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.reported()

    class Overloaded(ChatDecisionActions):
        async def ban(self, chat: ChatKey, user: UserId, decision: Decision, /) -> None:
            del chat, user, decision
            raise TidingsError(Code.OUTCOME_UNKNOWN, "no answer")

    actions = Overloaded(moderated.env.change, moderated.env.moderation, moderated.users)
    failing = ReviewService(moderated.store, actions, moderated.env.clock)
    target = message_target(chat, sequence)
    assert await code_of(failing.decide(target, ReviewAction.BAN, "op")) is Code.OUTCOME_UNKNOWN
    assert (await moderated.reviews.read(target)).state is ReviewState.APPLYING


async def test_there_is_no_review_without_a_report(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    for name in ("u.ben", "m.gX.1", "m.nonsense", "x.y"):
        target = ReviewTarget(TenantId(moderated.env.tenant), name)
        assert (
            await code_of(moderated.reviews.decide(target, ReviewAction.DISMISS, "op"))
            is Code.REVIEW_NOT_FOUND
        )


async def test_units_of_a_report(use_cases: UseCaseEnv) -> None:
    moderated = Moderated(use_cases)
    chat, sequence = await moderated.group()
    ledger = moderated.env.client.ledger
    await moderated.reports.report_message(chat, sequence, SPAM)
    first = ledger["reports.add"].write_units
    await moderated.reports.report_message(chat, sequence, ReportRequest(DORA, ReportReason.ABUSE))
    assert first == 4, "two items in a transaction"
    assert ledger["reports.add"].write_units == 8
