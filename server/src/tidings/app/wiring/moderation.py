"""Wire reports and reviews to the operations that carry out decisions."""

from collections.abc import Iterator
from contextlib import contextmanager

from tidings.accounts.users import UserService
from tidings.api.services import ModerationServices
from tidings.app.wiring.chats import ChatServices
from tidings.app.wiring.engine_clients import EngineComponents
from tidings.app.wiring.webhooks import make_content_rules_service
from tidings.chats.commands import ChangeContext, ChatCommands
from tidings.chats.joins import ChatJoins
from tidings.chats.model import MemberStatus
from tidings.chats.moderation import ChatModeration
from tidings.chats.store import DynamoInviteStore
from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, UserId, message_id
from tidings.messages.edits import ChangeRequest, MessageEdits
from tidings.messages.history import ContentState, History
from tidings.messages.model import MODERATOR, EntryKind
from tidings.moderation.model import Decision, Report, Review
from tidings.moderation.ports import OnReported, ReviewStore
from tidings.moderation.reviews import ReportService, ReviewService
from tidings.moderation.store import DynamoReviewStore
from tidings.webhooks.producer import EventProducer


class ChatDecisionActions:
    """Carry out decisions with the operations of chats, messages and users, as `MODERATOR`."""

    def __init__(self, change: MessageEdits[MemberStatus], chats: ChatModeration, users: UserService) -> None:
        self._change = change
        self._chats = chats
        self._users = users

    async def redact(self, chat: ChatKey, sequence: int, decision: Decision, /) -> None:
        with _is_done_by(Code.NO_CHANGE):
            await self._change.redact(ChangeRequest(chat, MODERATOR, ClientKey(decision.id), sequence))

    async def mute(self, chat: ChatKey, user: UserId, decision: Decision, /) -> None:
        await self._chats.mute(
            chat, _caller(decision), user, until_ms=decision.until_ms, reason=decision.reason
        )

    async def ban(self, chat: ChatKey, user: UserId, decision: Decision, /) -> None:
        # The user is no member when the ban is repeated, so its entry would differ: the key of this decision was used for
        # another one.
        with _is_done_by(Code.IDEMPOTENCY_CONFLICT):
            await self._chats.ban(
                chat, _caller(decision), user, until_ms=decision.until_ms, reason=decision.reason
            )

    async def suspend(self, tenant: TenantId, user: UserId, decision: Decision, /) -> None:
        del decision
        await self._users.suspend(tenant, user, is_on=True)


def _caller(decision: Decision) -> ChangeContext:
    return ChangeContext(MODERATOR, ClientKey(decision.id))


@contextmanager
def _is_done_by(code: Code) -> Iterator[None]:
    try:
        yield
    except TidingsError as error:
        if error.code is not code:
            raise


def report_events(events: EventProducer) -> OnReported:
    """Return a function that queues the webhook event of a report."""

    async def reported(review: Review, report: Report) -> None:
        place, target = review.target.message, review.target
        about: dict[str, str] = {"reason": report.reason.value}
        if place is None:
            about["user"] = review.author
        else:
            about["message"] = message_id(place[0].chat, place[1])
        await events.reported(target.tenant, target.id, about, report.reporter)

    return reported


def build_reports(
    store: ReviewStore,
    clock: Clock,
    history: History,
    users: UserService,
    on_reported: OnReported | None = None,
) -> ReportService:
    async def read_author(chat: ChatKey, reader: UserId, sequence: int) -> UserId:
        shown = await history.one(chat, reader, sequence)
        if shown.entry.kind is not EntryKind.MESSAGE or shown.state is not ContentState.ACTIVE:
            raise TidingsError(Code.MESSAGE_NOT_FOUND, "There is no such message for this user.")
        return shown.entry.sender

    return ReportService(store, clock, read_author, users.read, on_reported)


def build_reviews(
    store: ReviewStore,
    clock: Clock,
    change: MessageEdits[MemberStatus],
    chats: ChatModeration,
    users: UserService,
) -> ReviewService:
    return ReviewService(store, ChatDecisionActions(change, chats, users), clock)


def build_moderation(
    engines: EngineComponents, clock: Clock, cases: ChatServices, commands: ChatCommands, users: UserService
) -> ModerationServices:
    client = engines.dynamo.value
    moderation = ChatModeration(cases.rows, commands, clock)
    store, on_reported = (
        DynamoReviewStore(client, engines.user_keys.value),
        report_events(engines.events.value),
    )
    return ModerationServices(
        chats=moderation,
        reports=build_reports(store, clock, cases.history, users, on_reported),
        reviews=build_reviews(store, clock, cases.change, moderation, users),
        joins=ChatJoins(cases.rows, DynamoInviteStore(client), cases.appends, commands, clock),
        content_rules=make_content_rules_service(client, engines.keys.value, clock),
    )
