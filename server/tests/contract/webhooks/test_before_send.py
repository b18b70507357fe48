"""The before-send hook: what it decides, what happens without an answer, and what it costs others."""

import asyncio

import msgspec
import pytest
from fixtures.use_cases import ANNA, BEN, DORA, UseCaseEnv, asked, code_of, may
from fixtures.webhook_receiver import verify
from fixtures.webhooks import WebhookEnv, failing

from tidings.app.wiring.webhooks import normalize_content
from tidings.chats.rules import ChatAction
from tidings.kernel.cache import CachePolicy
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey
from tidings.messages.edits import ChangePermissions, MessageEdits
from tidings.messages.history import ContentState
from tidings.messages.sender import Content, MessageSender
from tidings.messages.store import DynamoEditStore
from tidings.moderation.content_filter import ContentFilter, ContentRulesService
from tidings.schema.tables.patterns.webhooks import LIST_ENDPOINTS
from tidings.tenants.model import ContentRules, ListedTerm, TenantSettings
from tidings.tenants.settings import TenantReader
from tidings.tenants.store import DynamoTenantStore
from tidings.webhooks.before_send import OPEN_AFTER, BeforeSendHook, BeforeSendService, BeforeSendStats
from tidings.webhooks.endpoints import EndpointDirectory
from tidings.webhooks.model import Attempt

URL = "https://app.example/moderate"


def answering(**answer: object) -> Attempt:
    return Attempt(latency_ms=1, status=200, body=msgspec.json.encode(answer))


class HookEnv(WebhookEnv):
    """A sender with the before-send hook of its tenant."""

    def __init__(self, use_cases: UseCaseEnv, fresh_s: float = 0.05) -> None:
        super().__init__(use_cases)
        self.tenants = DynamoTenantStore(use_cases.client, use_cases.authentic)
        self.hooks = BeforeSendService(self.service, self.tenants, self.clock)
        self.hook_stats = BeforeSendStats()
        self.endpoints = EndpointDirectory(self.store, self.clock, CachePolicy(fresh_s=600.0))
        reader = TenantReader(self.tenants, self.clock, CachePolicy(fresh_s=fresh_s))
        self.lists = ContentRulesService(self.tenants, self.clock)
        asked_hook = BeforeSendHook(
            reader,
            self.endpoints,
            self.transport,
            encode_content=normalize_content,
            clock=self.clock,
            stats=self.hook_stats,
        )
        hook = ContentFilter(reader, asked_hook)
        edits = DynamoEditStore(self.client)
        self.sender = MessageSender(
            use_cases.appends,
            edits,
            keys=use_cases.keys,
            may_send=may(ChatAction.SEND),
            clock=self.clock,
            before_send=hook,
        )
        self.edits = MessageEdits(
            use_cases.appends,
            use_cases.reader,
            edits,
            keys=use_cases.keys,
            permissions=ChangePermissions(
                edit_own=may(ChatAction.EDIT_OWN),
                redact_own=may(ChatAction.REDACT_OWN),
                redact_others=may(ChatAction.REDACT_OTHERS),
                react=may(ChatAction.REACT),
            ),
            clock=self.clock,
            before_send=hook,
        )

    async def open(self, on_failure: str = "allow") -> str:
        """Create the tenant with a hook and return its secret."""
        await self.tenants.create(self.use_cases.tenant, TenantSettings(name="Acme"), self.clock.now_ms())
        endpoint, _, _ = await self.hooks.set(self.use_cases.tenant, URL, 1_000, on_failure)  # type: ignore[arg-type]
        return endpoint.secrets[0].value.reveal()

    async def send(self, chat: ChatKey, text: str, key: str, after: int | None = 1) -> tuple[int, bool]:
        sent = await self.sender.send(chat, ANNA, ClientKey(key), Content(text=text), after=after)
        return sent.sequence, sent.is_repeat

    async def text(self, chat: ChatKey, sequence: int) -> str:
        shown = await self.use_cases.history.one(chat, BEN, sequence)
        assert shown.state is ContentState.ACTIVE
        assert shown.content is not None
        return shown.content.text


async def test_a_hook_sees_the_message_and_allows_it(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    secret, chat = await env.open(), await use_cases.group(BEN)
    sequence, _ = await env.send(chat, "hello", "k1")
    assert await env.text(chat, sequence) == "hello"
    [asked_] = env.transport.requests
    event = verify(secret, asked_)
    assert event["type"] == "message.before_send"
    assert event["data"] == {
        "chat": chat.chat,
        "sender": "anna",
        "client_message_id": "k1",
        "kind": "message",
        "content": {"text": "hello"},
    }


async def test_a_hook_is_asked_although_the_cached_endpoints_are_older(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    assert await env.endpoints.enabled(use_cases.tenant) == ()
    await env.open("refuse")
    chat = await use_cases.group(BEN)
    await env.send(chat, "hello", "k1")
    assert len(env.transport.requests) == 1


async def test_a_missing_endpoint_is_not_read_for_each_message(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    [endpoint] = await env.store.list(use_cases.tenant)
    await env.store.delete(endpoint.name)
    chat = await use_cases.group(BEN)
    for number in range(OPEN_AFTER + 5):
        await env.send(chat, "hello", f"k{number}")
    reads = use_cases.client.ledger[LIST_ENDPOINTS.name].calls
    assert reads <= 2 * OPEN_AFTER + 2
    assert env.hook_stats.failed == OPEN_AFTER + 5


@pytest.mark.parametrize("after", [1, None])
async def test_a_changed_message_is_stored_as_changed_and_its_retry_is_a_repeat(
    use_cases: UseCaseEnv, after: int | None
) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda _: answering(
        action="change", content={"text": "h***", "data": {"score": 7}}
    )
    sequence, _ = await env.send(chat, "hell", "k1", after)
    assert await env.text(chat, sequence) == "h***"
    assert await env.send(chat, "hell", "k1", after) == (sequence, True)
    assert await code_of(env.send(chat, "h***", "k1", after)) is Code.IDEMPOTENCY_CONFLICT


@pytest.mark.parametrize("after", [1, None])
async def test_a_refused_message_is_not_stored_and_the_sender_learns_the_reason(
    use_cases: UseCaseEnv, after: int | None
) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda _: answering(action="refuse", reason="No links, please.")
    with pytest.raises(TidingsError) as caught:
        await env.send(chat, "http://x", "k1", after)
    assert (caught.value.code, caught.value.message) == (Code.MESSAGE_REFUSED, "No links, please.")
    assert len(await use_cases.entries(chat)) == 1
    env.transport.answer = lambda _: answering(action="allow")
    assert (await env.send(chat, "fine", "k2", after))[0] == 2


@pytest.mark.parametrize("after", [1, None])
async def test_a_message_that_was_stored_is_not_refused_by_its_retry(
    use_cases: UseCaseEnv, after: int | None
) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    sequence, _ = await env.send(chat, "hello", "k1", after)
    env.transport.answer = lambda _: answering(action="refuse", reason="changed my mind")
    use_cases.open_process()
    assert await env.send(chat, "hello", "k1", after) == (sequence, True)


async def test_a_stranger_does_not_learn_of_a_chat_by_a_refusal(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda _: answering(action="refuse", reason="no")
    sending = env.sender.send(chat, DORA, ClientKey("k"), Content(text="x"), after=1)
    assert await code_of(sending) is Code.CHAT_NOT_FOUND


async def test_an_edit_is_reviewed_too(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    sequence, _ = await env.send(chat, "hello", "k1")
    env.transport.answer = lambda _: answering(action="refuse", reason="no")
    editing = env.edits.edit(asked(chat, ANNA, sequence), Content(text="bad"))
    assert await code_of(editing) is Code.MESSAGE_REFUSED
    assert await env.text(chat, sequence) == "hello"
    env.transport.answer = lambda _: answering(action="change", content={"text": "good"})
    await env.edits.edit(asked(chat, ANNA, sequence), Content(text="bad"))
    assert await env.text(chat, sequence) == "good"
    assert env.transport.requests[-1].body["data"]["kind"] == "edit"


FAILURES = {
    "an error": failing(500),
    "no JSON": Attempt(latency_ms=1, status=200, body=b"<html>"),
    "an unknown action": answering(action="maybe"),
    "a change without content": answering(action="change"),
    "empty content": answering(action="change", content={"text": ""}),
    "unknown fields": answering(action="change", content={"text": "x", "html": "y"}),
    "too much content": answering(action="change", content={"text": "x" * 5_000}),
    "too many mentions": answering(action="change", content={"text": "x", "mentions": ["a"] * 51}),
    "deep data": answering(action="change", content={"data": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {}}}}}}}}}}}),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
async def test_without_a_valid_answer_the_tenant_decides(use_cases: UseCaseEnv, failure: str) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda _: FAILURES[failure]
    sequence, _ = await env.send(chat, "hello", "k1")
    assert await env.text(chat, sequence) == "hello"
    await env.hooks.set(use_cases.tenant, URL, 1_000, "refuse")
    await asyncio.sleep(0.06)
    with pytest.raises(TidingsError) as caught:
        await env.send(chat, "hello", "k2")
    assert (caught.value.code, caught.value.retryable) == (Code.OVERLOADED, True)
    assert len(await use_cases.entries(chat)) == 2


async def test_a_hook_that_fails_repeatedly_is_not_asked_until_it_recovers(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    env.transport.answer = lambda _: failing(500)
    for number in range(OPEN_AFTER + 5):
        await env.send(chat, "hello", f"k{number}")
    assert len(env.transport.requests) == OPEN_AFTER
    assert env.hook_stats.failed == OPEN_AFTER + 5


async def test_messages_of_other_tenants_and_of_a_removed_hook_are_not_delayed(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    await env.hooks.remove(use_cases.tenant)
    await asyncio.sleep(0.06)
    assert await code_of(env.hooks.read(use_cases.tenant)) is Code.WEBHOOK_NOT_FOUND
    chat = await use_cases.group(BEN)
    await env.send(chat, "hello", "k1")
    assert env.transport.requests == []


async def test_a_tenant_without_a_hook_pays_nothing_for_it(use_cases: UseCaseEnv) -> None:
    """The settings of the tenant are in the cache that authentication fills."""
    env = HookEnv(use_cases, fresh_s=600.0)
    await env.tenants.create(use_cases.tenant, TenantSettings(name="Acme"), env.clock.now_ms())
    chat = await use_cases.group(BEN)
    await use_cases.send(chat, ANNA)
    before = {row.pattern: row.calls for row in use_cases.client.ledger.rows()}
    await use_cases.send(chat, ANNA)
    plain = {row.pattern: row.calls for row in use_cases.client.ledger.rows()}
    await env.send(chat, "hello", "k1", 2)
    with_hook = {row.pattern: row.calls for row in use_cases.client.ledger.rows()}
    cost = {name: calls - before.get(name, 0) for name, calls in plain.items() if calls > before.get(name, 0)}
    also = {
        name: calls - plain.get(name, 0) for name, calls in with_hook.items() if calls > plain.get(name, 0)
    }
    assert also.pop("tenants.read_settings") == 1, "the first look-up fills the cache"
    assert also == cost
    await env.send(chat, "hello", "k2", 2)
    assert use_cases.client.ledger["tenants.read_settings"].calls == with_hook["tenants.read_settings"]


LISTS = ContentRules(
    words=(ListedTerm(text="darn"), ListedTerm(text="casino", action="refuse")),
    domains=(ListedTerm(text="bad.example", action="refuse"),),
)


async def test_lists_mask_and_refuse_before_the_hook_decides(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    chat = await use_cases.group(BEN)
    await env.lists.set(use_cases.tenant, LISTS)
    sequence, _ = await env.send(chat, "oh Darn", "k1")
    assert await env.text(chat, sequence) == "oh ****"
    assert env.transport.requests[-1].body["data"]["content"] == {"text": "oh ****"}
    asked_before = len(env.transport.requests)
    for key, text in (("k2", "my CASINO"), ("k3", "see http://a.bad.example/x")):
        assert await code_of(env.send(chat, text, key)) is Code.MESSAGE_REFUSED
    edit = env.edits.edit(asked(chat, ANNA, sequence), Content(text="casino"))
    assert await code_of(edit) is Code.MESSAGE_REFUSED
    assert len(env.transport.requests) == asked_before
    assert await env.send(chat, "oh Darn", "k1") == (sequence, True)


async def test_lists_hold_without_a_hook_and_end_when_they_are_emptied(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.tenants.create(use_cases.tenant, TenantSettings(name="Acme"), env.clock.now_ms())
    chat = await use_cases.group(BEN)
    await env.lists.set(use_cases.tenant, LISTS)
    assert await code_of(env.send(chat, "casino", "k1")) is Code.MESSAGE_REFUSED
    await env.lists.set(use_cases.tenant, ContentRules())
    await asyncio.sleep(0.1)
    sequence, _ = await env.send(chat, "casino", "k2")
    assert await env.text(chat, sequence) == "casino"


async def test_lists_have_a_size(use_cases: UseCaseEnv) -> None:
    env = HookEnv(use_cases)
    await env.open()
    long = ContentRules(words=tuple(ListedTerm(text="字" * 39 + chr(0x4E00 + n)) for n in range(100)))
    assert await code_of(env.lists.set(use_cases.tenant, long)) is Code.REQUEST_INVALID
