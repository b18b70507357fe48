"""Messages that the tenant's lists flag are sent, and enter the review queue in the same transaction."""

from fixtures.use_cases import ANNA, BEN, UseCaseEnv, asked, by, code_of

from tidings.app.wiring.chat_permissions import CHANGE_PERMISSIONS, permission_check, rules_check
from tidings.chats.model import MemberStatus
from tidings.chats.moderation import RulesChange
from tidings.chats.rules import ChatAction
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, ClientKey, TenantId, new_ulid
from tidings.messages.edits import MessageEdits
from tidings.messages.model import Rejection, ReviewRequest
from tidings.messages.sender import Content, MessageSender
from tidings.messages.store import DynamoEditStore
from tidings.moderation.content_filter import ContentFilter
from tidings.moderation.model import ReportReason, Review, ReviewAction, ReviewState, message_target
from tidings.moderation.reviews import ReviewService
from tidings.moderation.store import DynamoReviewStore
from tidings.tenants.model import ContentRules, ListedTerm, Tenant, TenantSettings

LISTS = ContentRules(
    words=(
        ListedTerm(text="casino", action="flag"),
        ListedTerm(text="darn"),
        ListedTerm(text="bomb", action="refuse"),
    ),
    domains=(ListedTerm(text="odd.example", action="flag"),),
)


class Hook:
    """A hook that refuses one word and changes nothing else."""

    async def review(self, request: ReviewRequest, /) -> bytes | Rejection:
        return Rejection("no") if b"refused-by-hook" in request.body else request.body


class Lists:
    async def find(self, tenant: TenantId, /) -> Tenant:
        return Tenant(
            id=tenant,
            settings=TenantSettings(name="t", content=LISTS),
            version=1,
            created_at_ms=0,
            updated_at_ms=0,
        )


class Filtered:
    """A sender and an editor behind the lists."""

    def __init__(self, env: UseCaseEnv) -> None:
        self.env, edits = env, DynamoEditStore(env.client)
        deciders = ContentFilter(Lists(), Hook())
        self.sender: MessageSender[MemberStatus] = MessageSender(
            env.appends,
            edits,
            keys=env.keys,
            may_send=permission_check(ChatAction.SEND),
            obeys=rules_check(ChatAction.SEND),
            clock=env.clock,
            before_send=deciders,
        )
        self.edits = MessageEdits(
            env.appends,
            env.reader,
            edits,
            keys=env.keys,
            permissions=CHANGE_PERMISSIONS,
            clock=env.clock,
            before_send=deciders,
        )
        self.store = DynamoReviewStore(env.client, env.user_keys)

    async def send(self, chat: ChatKey, text: str, ttl_s: int | None = None) -> int:
        sent = await self.sender.send(
            chat, BEN, ClientKey(new_ulid()), Content(text=text), after=1, ttl_s=ttl_s
        )
        return sent.sequence

    async def review(self, chat: ChatKey, sequence: int) -> Review | None:
        return await self.store.find(message_target(chat, sequence))


async def test_a_flagged_message_is_sent_and_enters_the_queue(use_cases: UseCaseEnv) -> None:
    filtered = Filtered(use_cases)
    chat = await use_cases.group(BEN)
    sequence = 0
    for text in ("to the CASINO", "see odd.example/x", "darn casino"):
        sequence = await filtered.send(chat, text)
        review = await filtered.review(chat, sequence)
        assert review is not None
        assert (review.state, review.author, review.count) == (ReviewState.OPEN, BEN, 1)
        assert review.reasons == {ReportReason.CONTENT_RULE}
    shown = await use_cases.history.one(chat, ANNA, sequence)
    assert shown.content is not None
    assert shown.content.text == "**** casino"
    assert use_cases.client.ledger["messages.append_flagged"].calls == 3


async def test_a_refused_message_is_not_in_the_queue(use_cases: UseCaseEnv) -> None:
    filtered = Filtered(use_cases)
    chat = await use_cases.group(BEN)
    for text in ("casino bomb", "casino refused-by-hook"):
        assert await code_of(filtered.send(chat, text)) is Code.MESSAGE_REFUSED
    assert await filtered.review(chat, 2) is None


async def test_a_message_that_is_not_flagged_costs_nothing_more(use_cases: UseCaseEnv) -> None:
    filtered = Filtered(use_cases)
    chat = await use_cases.group(BEN)
    await filtered.send(chat, "first")
    ledger = use_cases.client.ledger
    before = {row.pattern: (row.calls, row.write_units) for row in ledger.rows()}
    await filtered.send(chat, "hello")
    after = {row.pattern: (row.calls, row.write_units) for row in ledger.rows()}
    assert {name for name in after if after[name] != before.get(name)} == {"messages.append"}


async def test_flagged_messages_may_be_ephemeral_and_in_slow_mode(use_cases: UseCaseEnv) -> None:
    filtered = Filtered(use_cases)
    chat = await use_cases.group(BEN)
    await use_cases.moderation.set_rules(chat, by(ANNA), RulesChange(slow_mode_s=60))
    sequence = await filtered.send(chat, "casino", ttl_s=600)
    assert await filtered.review(chat, sequence) is not None
    assert await code_of(filtered.send(chat, "casino")) is Code.SLOW_MODE
    content = (await use_cases.history.one(chat, ANNA, sequence)).content
    assert content is not None
    assert content.text == "casino"


async def test_a_flagged_edit_opens_the_review_again(use_cases: UseCaseEnv) -> None:
    filtered = Filtered(use_cases)
    chat = await use_cases.group(BEN)
    sequence = await filtered.send(chat, "hello")
    assert await filtered.review(chat, sequence) is None
    await filtered.edits.edit(asked(chat, BEN, sequence), Content(text="casino"))
    service = ReviewService(filtered.store, object(), use_cases.clock)  # type: ignore[arg-type]
    await service.decide(message_target(chat, sequence), ReviewAction.DISMISS, "op")
    await filtered.edits.edit(asked(chat, BEN, sequence), Content(text="casino again"))
    review = await filtered.review(chat, sequence)
    assert review is not None
    assert (review.state, review.count, review.decision) == (ReviewState.OPEN, 2, None)
