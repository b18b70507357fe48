"""Reports and reviews over REST: permissions, the queue, and the audit log."""

from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, UseCaseEnv

from tidings.accounts.model import Scope
from tidings.audit.log import AuditLog
from tidings.audit.store import DynamoAuditStore
from tidings.kernel.errors import Code


async def test_a_reported_message_is_decided_and_audited(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    anna, ben, server = api.user(ANNA), api.user(BEN), api.server(Scope.MODERATION)
    chat = await use_cases.group(BEN)
    sent = await use_cases.send(chat, BEN, "buy this")
    at = f"/v1/messages/{sent.message_id}"
    await anna.ok("POST", f"{at}/report", {"reason": "spam", "text": "a link in every group"})
    review = f"/v1/reviews/m.{sent.message_id}"
    shown = await server.ok("GET", review)
    assert shown["reports"][0]["text"] == "a link in every group"
    assert (shown["review"]["author"], shown["review"]["message"]) == ("ben", sent.message_id)
    decided = await server.ok("POST", f"{review}/decision", {"action": "ban", "reason": "spam"})
    assert (decided["state"], decided["decision"]["action"]) == ("decided", "ban")
    assert await server.code("POST", f"{review}/decision", {"action": "mute"}) is Code.REVIEW_DECIDED
    assert await ben.code("POST", f"/v1/chats/{chat.chat}/messages", {"text": "x", "client_message_id": "k"})
    log = AuditLog(DynamoAuditStore(use_cases.client), use_cases.clock)
    records = (await log.page(use_cases.tenant, None, 10, None)).records
    assert [(each.operation, each.outcome) for each in records] == [
        ("decide_review", "review_decided"),
        ("decide_review", None),
        ("decide_review", "ok"),
        ("decide_review", None),
    ]


async def test_only_a_key_with_the_scope_reads_the_queue(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    for caller in (api.user(ANNA), api.server(Scope.USERS, Scope.NOTIFICATIONS)):
        for method, path in (("GET", ""), ("GET", "/u.ben"), ("POST", "/u.ben/decision")):
            body = {"action": "dismiss"} if method == "POST" else None
            assert await caller.code(method, f"/v1/reviews{path}", body) is Code.FORBIDDEN


async def test_the_queue_is_read_page_by_page(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    server = api.server(Scope.MODERATION)
    users = [f"u{number}" for number in range(5)]
    for user in users:
        await api.accounts.users.create(use_cases.tenant, user)  # type: ignore[arg-type]
        await api.user(CLEO).ok("POST", f"/v1/users/{user}/report", {"reason": "abuse"})
        use_cases.clock.ahead_ms += 5
    found, cursor = list[str](), ""
    while True:
        page = await server.ok("GET", f"/v1/reviews?limit=2&state=open{cursor}")
        found += [each["author"] for each in page["reviews"]]
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
    assert found == users
