"""Support finds a user, their chats and messages; content needs a reason, which the audit log keeps."""

from dataclasses import replace

from fixtures.console_app import ConsoleApp
from fixtures.use_cases import ANNA, BEN
from httpx import Response

from tidings.accounts.rules import parse_phone
from tidings.kernel.errors import Code
from tidings.kernel.ids import DeviceId, message_id
from tidings.operators.model import Role
from tidings.push.model import PushAction, PushAttempt, PushKind, PushOutcome, PushResult
from tidings.push.store.results import DynamoResultStore

TEXT = "the words that only members read"


def code(answer: Response) -> str:
    return str(answer.json()["code"])


async def test_a_user_is_found_by_id_number_and_prefix(console: ConsoleApp) -> None:
    users, path = console.services.users, f"/admin/v1/tenants/{console.tenant}/users"
    number = "+4915112345678"
    await users.create(console.tenant, ANNA, phone=parse_phone(number), display_name="Anna")
    support = await console.caller(Role.SUPPORT, console.tenant)
    for query in ("id=anna", f"phone=%2B{number[1:]}", "prefix=an", "prefix="):
        (found,) = (await support("GET", f"{path}?{query}")).json()["users"]
        assert (found["id"], found["phone"], found["display_name"]) == ("anna", number, "Anna")
    for query in ("id=ben", "phone=%2B4915100000000", "prefix=z"):
        assert (await support("GET", f"{path}?{query}")).json() == {"users": []}
    for query in ("", "id=anna&prefix=a"):
        assert code(await support("GET", f"{path}?{query}")) == Code.REQUEST_INVALID
    shown = (await support("GET", f"{path}/anna")).json()
    assert (shown["user"]["id"], shown["chats"]) == ("anna", 0)
    assert code(await support("GET", f"{path}/nobody")) == Code.USER_NOT_FOUND
    assert "unavailable" in (await support("GET", f"{path}/anna/devices")).json(), "there is no Redis here"


async def test_messages_are_listed_by_time_without_their_content(console: ConsoleApp) -> None:
    chat = await console.use_cases.group(BEN)
    for n in range(3):
        await console.use_cases.send(chat, ANNA, f"{TEXT} {n}")
    await console.rest.settle()
    support, path = await console.caller(Role.SUPPORT), f"/admin/v1/tenants/{console.tenant}"
    answer = await support("GET", f"{path}/chats/{chat.chat}/messages?limit=2")
    assert [each["message"] for each in answer.json()["messages"]] == [
        message_id(chat.chat, n) for n in (3, 4)
    ]
    assert answer.json()["has_earlier"]
    early = await support("GET", f"{path}/chats/{chat.chat}/messages?limit=1&at=2020-01-01T00:00:00Z")
    assert [each["kind"] for each in early.json()["messages"]] == ["create"]
    assert TEXT not in answer.text + early.text
    assert code(await support("GET", f"{path}/chats/{chat.chat}/messages?at=noon")) == Code.REQUEST_INVALID
    (listed,) = (await support("GET", f"{path}/users/anna/chats")).json()["chats"]
    assert (listed["id"], listed["others"], listed["is_member"]) == (chat.chat, ["ben"], True)
    unread = (await support("GET", f"{path}/users/ben/chats/{chat.chat}/unread")).json()
    assert (unread["unread"], unread["head"]["sequence"]) == (3, 4)
    assert await console.records(console.tenant) == [], "metadata is read without a record"


async def test_content_is_read_with_a_reason_that_the_audit_log_keeps(console: ConsoleApp) -> None:
    chat = await console.use_cases.group(BEN)
    sent = await console.use_cases.send(chat, ANNA, TEXT)
    support = await console.caller(Role.SUPPORT, console.tenant)
    path = f"/admin/v1/tenants/{console.tenant}/chats/{chat.chat}/messages"
    refused = await replace(support, reason=None)("POST", f"{path}/{sent.sequence}/content")
    assert code(refused) == Code.REQUEST_INVALID
    assert TEXT not in refused.text
    viewer = await console.caller(Role.VIEWER, console.tenant)
    assert code(await viewer("POST", f"{path}/{sent.sequence}/content")) == Code.FORBIDDEN
    assert await console.records(console.tenant) == []
    reason = "Anna reports that ben got a threat, Ärger: ticket 4711"
    read = await replace(support, reason=reason)("POST", f"{path}/{sent.sequence}/content")
    assert read.json()["content"]["text"] == TEXT
    finished, started = await console.records(console.tenant)
    assert (finished.operation, finished.outcome, started.reason) == ("read_content", "ok", reason)
    assert finished.after == {"read": message_id(chat.chat, sent.sequence)}
    assert TEXT not in str(finished)
    assert code(await support("POST", f"{path}/99/content")) == Code.MESSAGE_NOT_FOUND


async def test_a_chat_of_another_tenant_is_not_found(console: ConsoleApp) -> None:
    chat = await console.use_cases.group(BEN)
    sent = await console.use_cases.send(chat, ANNA, TEXT)
    other = f"{console.tenant}-2"
    await console.tenants.create(other, (await console.tenants.read(console.tenant)).settings)
    support = await console.caller(Role.SUPPORT, other)
    path = f"/admin/v1/tenants/{other}"
    assert code(await support("GET", f"{path}/chats/{chat.chat}/messages")) == Code.CHAT_NOT_FOUND
    answer = await support("POST", f"{path}/chats/{chat.chat}/messages/{sent.sequence}/content")
    assert code(answer) == Code.MESSAGE_NOT_FOUND
    assert code(await support("GET", f"{path}/messages/{sent.message_id}/trace")) == Code.CHAT_NOT_FOUND


async def test_a_trace_has_a_timeline_with_the_reason_of_every_stop(console: ConsoleApp) -> None:
    chat = await console.use_cases.group(BEN)
    sent = await console.use_cases.send(chat, ANNA, TEXT)
    support = await console.caller(Role.SUPPORT, console.tenant)
    found = (
        await support("GET", f"/admin/v1/tenants/{console.tenant}/messages/{sent.message_id}/trace")
    ).json()
    assert found["message_id"] == sent.message_id
    steps = [(each["step"], each.get("user")) for each in found["timeline"]]
    assert steps == [("committed", None), ("stopped", None), ("stopped", None), ("stopped", "ben")]
    assert all(each["text"] for each in found["timeline"])
    assert TEXT not in str(found)


async def test_a_trace_shows_every_attempt_of_a_push_notification(console: ConsoleApp) -> None:
    chat = await console.use_cases.group(BEN)
    sent = await console.use_cases.send(chat, ANNA, TEXT)
    attempts = (
        PushAttempt(at_ms=1, action=PushAction.ALERT, status=503, answer="busy"),
        PushAttempt(at_ms=2, action=PushAction.ALERT, status=200, provider_id="A1"),
    )
    result = PushResult(
        tenant=console.tenant,
        chat=chat.chat,
        sequence=sent.sequence,
        user=BEN,
        device=DeviceId("phone"),
        outcome=PushOutcome.SENT,
        decided_ms=console.use_cases.clock.now_ms(),
        provider=PushKind.APNS,
        attempts=attempts,
    )
    await DynamoResultStore(console.use_cases.client).put([result])
    support = await console.caller(Role.SUPPORT, console.tenant)
    path = f"/admin/v1/tenants/{console.tenant}/messages/{sent.message_id}/trace?user=ben"
    (recipient,) = (await support("GET", path)).json()["recipients"]
    (push,) = recipient["pushes"]
    assert (push["device"], push["verdict"]) == ("phone", "push sent through apns")
    answers = [(each["status"], each["answer"], each["provider_id"]) for each in push["attempts"]]
    assert answers == [(503, "busy", ""), (200, "", "A1")]


async def test_a_suspension_and_ended_sessions_are_recorded(console: ConsoleApp) -> None:
    await console.services.users.create(console.tenant, ANNA)
    operator, path = (
        await console.caller(Role.OPERATOR, console.tenant),
        f"/admin/v1/tenants/{console.tenant}/users/anna",
    )
    assert (await operator("PUT", f"{path}/suspension")).status_code == 204
    assert (await operator("GET", path)).json()["user"]["suspended_at"]
    assert (await console.records(console.tenant))[0].after == {"suspended": True}
    assert (await operator("DELETE", f"{path}/suspension")).status_code == 204
    assert (await operator("DELETE", f"{path}/sessions")).status_code == 204
    assert (await console.records(console.tenant))[0].operation == "end_user_sessions"
