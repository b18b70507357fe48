"""For every route: one valid call, and the expected answers to callers without permission.

A route without an example here fails the test, so a new route cannot be forgotten.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import httpx
from fastapi import FastAPI
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, by

from tidings.accounts.model import Phone, Scope
from tidings.inboxes.broadcasts.service import BroadcastRequest, RolloutStep
from tidings.inboxes.config import InboxSpec
from tidings.inboxes.sender import SendNotificationRequest, SendNotificationResult
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId, message_id


class Reach(Enum):
    """The resource of a call, which determines the callers that must be refused."""

    CHAT = auto()
    """A chat: members only."""
    PAST = auto()
    """The log of a chat: a removed member may still read the entries of their membership."""
    OWN = auto()
    """The caller's own data: another caller gets their own, and this tenant does not change."""
    TENANT = auto()
    """For all users of the tenant."""
    SERVER = auto()
    """For the tenant's server, with the scope `users`."""
    INBOXES = auto()
    """For the tenant's server, with the scope `notifications`."""
    ADDRESSED = auto()
    """The caller's own data; the path must name the caller's tenant."""
    OPEN = auto()
    """For clients without a credential."""


@dataclass(frozen=True)
class Example:
    """A valid call. `{chat}` and `{message}` in the path come from the seeded data. `caller` `None`: the tenant's server."""

    path: str
    body: dict[str, Any] | None = None
    reach: Reach = Reach.CHAT
    caller: UserId = ANNA


MESSAGE = {"text": "hi", "client_message_id": "matrix"}
FOUND = Phone("+4915112345679")
SESSION = "01JCQ51A2B3C4D5E6F7G8H9J0K"
NOTIFICATION = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
SENT = {"user_ids": ["anna"], "message": {"title": "hi"}}
POSTED = {"audiences": {"kind": "users", "uids": ["anna"]}, "message": {"title": "hi"}}
REDEEMED = {
    "tenant": "{tenant}",
    "challenge": "ORUGS4ZANFZSAYJAMNUGC3DMMV",
    "phone": "+4915112345678",
    "code": "123456",
    "device": {"id": "laptop"},
}
EXAMPLES: dict[str, Example] = {
    "create_chat": Example("/v1/chats", {"type": "direct", "user": "eve"}, Reach.OWN),
    "get_chat": Example("/v1/chats/{chat}"),
    "rename_chat": Example("/v1/chats/{chat}", {"name": "new"}),
    "list_chats": Example("/v1/chats", reach=Reach.OWN),
    "update_chat_settings": Example("/v1/chats/{chat}/settings", {"is_pinned": True}),
    "explain_unread": Example("/v1/chats/{chat}/unread/explain"),
    "mark_read": Example("/v1/chats/{chat}/read", {"sequence": 2}),
    "mark_delivered": Example("/v1/chats/{chat}/delivered", {"sequence": 2}),
    "list_blocks": Example("/v1/blocks", reach=Reach.OWN),
    "block_user": Example("/v1/blocks/eve", reach=Reach.OWN),
    "unblock_user": Example("/v1/blocks/eve", reach=Reach.OWN),
    "list_members": Example("/v1/chats/{chat}/members"),
    "add_members": Example("/v1/chats/{chat}/members", {"users": ["eve"]}),
    "add_member_by_phone": Example("/v1/chats/{chat}/members-by-phone", {"phone_number": FOUND}),
    "remove_member": Example("/v1/chats/{chat}/members/ben"),
    "change_role": Example("/v1/chats/{chat}/members/ben/role", {"role": "admin"}),
    "transfer_chat": Example("/v1/chats/{chat}/owner", {"user": "ben"}),
    "send_message": Example("/v1/chats/{chat}/messages", MESSAGE),
    "list_messages": Example("/v1/chats/{chat}/messages", reach=Reach.PAST),
    "get_message": Example("/v1/messages/{message}", reach=Reach.PAST),
    "get_message_status": Example("/v1/messages/{message}/status", reach=Reach.PAST),
    "edit_message": Example("/v1/messages/{message}", {"text": "other"}),
    "redact_message": Example("/v1/messages/{message}"),
    "add_reaction": Example("/v1/messages/{message}/reactions/+1"),
    "remove_reaction": Example("/v1/messages/{message}/reactions/ok"),
    "list_sessions": Example("/v1/sessions", reach=Reach.OWN),
    "end_session": Example(f"/v1/sessions/{SESSION}", reach=Reach.OWN),
    "end_sessions": Example("/v1/sessions", reach=Reach.OWN),
    "get_me": Example("/v1/me", reach=Reach.OWN),
    "update_me": Example("/v1/me", {"avatar_uri": "https://img.example.com/a.png"}, Reach.OWN),
    "get_user": Example("/v1/users/anna", reach=Reach.TENANT),
    "get_presence": Example("/v1/users/ben/presence", reach=Reach.OWN),
    "list_users": Example("/v1/users?ids=anna&ids=ben", reach=Reach.TENANT),
    "find_user": Example("/v1/user-search", {"phone_number": FOUND}, Reach.TENANT),
    "create_user": Example("/v1/users", {"id": "eve"}, Reach.SERVER),
    "update_user": Example("/v1/users/anna", {"avatar_uri": None}, Reach.SERVER),
    "list_user_sessions": Example("/v1/users/anna/sessions", reach=Reach.SERVER),
    "end_user_sessions": Example("/v1/users/anna/sessions", reach=Reach.SERVER),
    "list_directory": Example("/v1/directory", reach=Reach.SERVER),
    "suspend_user": Example("/v1/users/anna/suspension", reach=Reach.SERVER),
    "unsuspend_user": Example("/v1/users/anna/suspension", reach=Reach.SERVER),
    "list_notifications": Example("/v1/inboxes/default/notifications", reach=Reach.OWN),
    "count_notifications": Example("/v1/inboxes/default/counts", reach=Reach.OWN),
    "mark_notifications_read": Example("/v1/inboxes/default/read", {}, Reach.OWN),
    "mark_notifications_unread": Example("/v1/inboxes/default/unread", {"ids": [NOTIFICATION]}, Reach.OWN),
    "mark_notifications_seen": Example("/v1/inboxes/default/seen", reach=Reach.OWN),
    "archive_notifications": Example("/v1/inboxes/default/archive", {"ids": [NOTIFICATION]}, Reach.OWN),
    "restore_notifications": Example("/v1/inboxes/default/restore", {"ids": [NOTIFICATION]}, Reach.OWN),
    "list_inboxes": Example("/v1/inboxes", reach=Reach.INBOXES),
    "get_inbox": Example("/v1/inboxes/default", reach=Reach.INBOXES),
    "set_inbox": Example("/v1/inboxes/default", {"title": "News"}, Reach.INBOXES),
    "get_inbox_defaults": Example("/v1/inbox-defaults", reach=Reach.INBOXES),
    "set_inbox_defaults": Example("/v1/inbox-defaults", {"retention_days": 90}, Reach.INBOXES),
    "send_notification": Example("/v1/inboxes/default/notifications", SENT, Reach.INBOXES),
    "find_notification": Example("/v1/inboxes/default/sent/order-7", reach=Reach.INBOXES),
    "amend_notification": Example(
        "/v1/inboxes/default/notifications/{notification}", {"message": {}}, Reach.INBOXES
    ),
    "redact_notification": Example("/v1/inboxes/default/notifications/{notification}", reach=Reach.INBOXES),
    "list_recipients": Example(
        "/v1/inboxes/default/notifications/{notification}/recipients", reach=Reach.INBOXES
    ),
    "explain_counts": Example("/v1/inboxes/default/users/anna/explain", reach=Reach.INBOXES),
    "send_broadcast": Example("/v1/inboxes/default/broadcasts", {"message": {"title": "hi"}}, Reach.INBOXES),
    "estimate_broadcast": Example("/v1/inboxes/default/broadcast-estimate", {}, Reach.INBOXES),
    "get_broadcast": Example("/v1/inboxes/default/broadcasts/{broadcast}", reach=Reach.INBOXES),
    "ramp_broadcast": Example(
        "/v1/inboxes/default/broadcasts/{broadcast}/ramp", {"percent": 100}, Reach.INBOXES
    ),
    "halt_broadcast": Example("/v1/inboxes/default/broadcasts/{broadcast}/halt", reach=Reach.INBOXES),
    "list_readers": Example("/v1/inboxes/default/broadcasts/{broadcast}/readers", reach=Reach.INBOXES),
    "list_segments": Example("/v1/segments", reach=Reach.INBOXES),
    "get_segment": Example("/v1/segments/vip", reach=Reach.INBOXES),
    "set_segment": Example(
        "/v1/segments/pros", {"predicate": {"attribute": "plan", "is": "pro"}}, Reach.INBOXES
    ),
    "upload_segment_users": Example("/v1/segments/vip/users", {"users": ["anna"]}, Reach.INBOXES),
    "activate_segment": Example("/v1/segments/vip/activate", {"version": 1}, Reach.INBOXES),
    "get_profile": Example("/v1/users/anna/profile", reach=Reach.INBOXES),
    "set_profile": Example("/v1/users/anna/profile", {"attributes": {"plan": "pro"}}, Reach.INBOXES),
    "list_jobs": Example("/v1/jobs", reach=Reach.INBOXES),
    "get_job": Example("/v1/jobs/{job}", reach=Reach.INBOXES),
    "pause_job": Example("/v1/jobs/{job}/pause", reach=Reach.INBOXES),
    "resume_job": Example("/v1/jobs/{job}/resume", reach=Reach.INBOXES),
    "cancel_job": Example("/v1/jobs/{job}/cancel", reach=Reach.INBOXES),
    "legacy_send": Example("/stack/admin/v1/{tenant}/default/messages/post", POSTED, Reach.INBOXES),
    "legacy_redact": Example(
        "/stack/admin/v1/{tenant}/default/messages/redact", {"id": "{notification}"}, Reach.INBOXES
    ),
    "legacy_list": Example("/stack/users/v1/{tenant}/default/messages/last/5", reach=Reach.ADDRESSED),
    "legacy_mark_read": Example(
        "/stack/users/v1/{tenant}/default/messages/read/", {"ids": [NOTIFICATION]}, Reach.ADDRESSED
    ),
    "request_code": Example("/v1/login/phone", {"tenant": "{tenant}", "phone": "+4915112345678"}, Reach.OPEN),
    "redeem_code": Example("/v1/login/phone/redeem", REDEEMED, Reach.OPEN),
    "refresh_session": Example("/v1/login/refresh", {"refresh_token": "tdr.x.y.z"}, Reach.OPEN),
}


@dataclass
class MatrixEnv:
    """A group of anna and ben, from which cleo was removed. dora was never a member.

    `later` was sent after cleo left, and `private` is anna's name: refused callers must see neither.
    """

    api: RestApp
    chat: ChatKey
    message: str
    notification: str
    job: str
    broadcast: str
    later: str = "said after cleo left"
    private: str = "Anna of this tenant"

    def call(self, example: Example, app: FastAPI, method: str) -> Callable[..., Awaitable[httpx.Response]]:
        tenant = self.api.use_cases.tenant
        path = example.path.format(
            chat=self.chat.chat,
            message=self.message,
            tenant=tenant,
            notification=self.notification,
            job=self.job,
            broadcast=self.broadcast,
        )
        given = {"{tenant}": tenant, "{notification}": self.notification}
        body = (
            None
            if example.body is None
            else {
                name: given.get(value, value) if isinstance(value, str) else value
                for name, value in example.body.items()
            }
        )

        async def send(bearer: str | None, named: UserId | None = None) -> httpx.Response:
            headers = {} if bearer is None else {"authorization": f"Bearer {bearer}"}
            headers |= {} if named is None else {"tidings-user": named}
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
                return await client.request(method.upper(), path, json=body, headers=headers)

        return send

    def rightful(self, example: Example) -> str | None:
        ring, tenant = self.api.ring, self.api.use_cases.tenant
        if example.reach is Reach.OPEN:
            return None
        if example.reach is Reach.SERVER:
            return ring.server(tenant, Scope.USERS)
        if example.reach is Reach.INBOXES:
            return ring.server(tenant, Scope.NOTIFICATIONS)
        return ring.user(tenant, example.caller)


async def seed_matrix(api: RestApp) -> MatrixEnv:
    use_cases = api.use_cases
    chat = await use_cases.group(BEN, CLEO)
    sent = await use_cases.send(chat, ANNA, "said while cleo was in")
    await api.user(ANNA).ok("PUT", f"/v1/messages/{sent.message_id}/reactions/ok")
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    await use_cases.send(chat, ANNA, MatrixEnv.later)
    await api.settle()
    await api.accounts.users.create(api.use_cases.tenant, UserId("fay"), phone=FOUND)
    await api.accounts.users.create(use_cases.tenant, ANNA, display_name=MatrixEnv.private)
    notification = await set_inbox(api)
    broadcast = await set_broadcast(api)
    return MatrixEnv(api, chat, sent.message_id, notification.notification, notification.job, broadcast)


async def set_inbox(api: RestApp) -> SendNotificationResult:
    """Send anna a notification with her name, and a second one that is not delivered yet."""
    tenant, notifications = api.use_cases.tenant, api.notifications
    await notifications.inboxes.set(tenant, "default", lambda _: InboxSpec(title="News"))
    request: Any = {"user_ids": [ANNA], "message": {"title": MatrixEnv.private}}
    await notifications.sender.send(tenant, "default", SendNotificationRequest(**request))
    await api.work()
    named = SendNotificationRequest(**request, host_system_id="order-7", is_unique=True)
    return await notifications.sender.send(tenant, "default", named)


async def set_broadcast(api: RestApp) -> str:
    """Send a broadcast with anna's name to half of a list that contains her."""
    tenant, cases = api.use_cases.tenant, api.notifications
    await cases.broadcasts.segments.upload(tenant, "vip", [ANNA], None)
    await cases.broadcasts.profile_service.set(tenant, ANNA, {"name": MatrixEnv.private})
    request = BroadcastRequest(
        message={"title": MatrixEnv.private}, segment="vip", steps=(RolloutStep(50),), tracks_reads=True
    )
    return (await cases.broadcast.send(tenant, "default", request)).notification


DONE, REFUSED, BARRED, UNKNOWN = (
    frozenset({200, 201, 204}),
    frozenset({403, 404}),
    frozenset({403}),
    frozenset({401}),
)

FROM_ELSEWHERE = {
    Reach.CHAT: REFUSED,
    Reach.PAST: REFUSED,
    Reach.OWN: DONE | {404},
    Reach.TENANT: {200, 404},
    Reach.SERVER: BARRED,
    Reach.INBOXES: BARRED,
    Reach.ADDRESSED: BARRED,
}
STRANGERS = {Reach.CHAT: REFUSED, Reach.PAST: REFUSED, Reach.SERVER: BARRED}
REMOVED = {Reach.CHAT: REFUSED, Reach.PAST: {200}, Reach.SERVER: BARRED}


async def breaches(env: MatrixEnv, app: FastAPI, method: str, example: Example) -> list[str]:
    """Return the calls that were not refused. Empty: all were refused, and nothing was written."""
    before = await env.api.use_cases.kinds(env.chat)
    send = env.call(example, app, method)
    found = [
        f"{caller}: {answer.status_code} {answer.text}"
        for caller, credential, named, allowed in callers(env, example)
        if _is_breach(env, answer := await send(credential, named), allowed)
    ]
    if await env.api.use_cases.kinds(env.chat) != before:
        found.append("something was written")
    return found


type Uncalled = tuple[str, str | None, UserId | None, Collection[int]]
"""A caller: description, credential, user to act for, and the expected statuses."""


def callers(env: MatrixEnv, example: Example) -> Iterator[Uncalled]:
    ring, tenant, reach = env.api.ring, env.api.use_cases.tenant, example.reach
    other = TenantId(f"{tenant}-other")
    env.api.accounts.tenants.known.add(other)
    ring.expired.add("was good once")
    yield "no credential", None, None, UNKNOWN
    yield "a forged one", "forged", None, UNKNOWN
    yield "an expired one", "was good once", None, UNKNOWN
    for caller, bearer in ring.unfit.items():
        yield caller, bearer, None, UNKNOWN
    yield "a server without a scope", ring.server(tenant), None, {400, 403}
    yield "a server without the scope for it", ring.server(tenant), ANNA, BARRED
    yield "a user in another's name", ring.user(tenant, DORA), ANNA, BARRED
    yield "another tenant's user of the same name", ring.user(other, ANNA), None, FROM_ELSEWHERE[reach]
    acting = ring.server(other, Scope.ACT_AS_USER)
    yield "another tenant's server in her name", acting, ANNA, FROM_ELSEWHERE[reach]
    looking = DONE | {400, 404} if reach in {Reach.SERVER, Reach.TENANT} else {400, *REFUSED}
    yield "another tenant's server", ring.server(other, Scope.USERS), None, looking
    if reach is Reach.INBOXES:
        knowing = ring.server(other, Scope.NOTIFICATIONS)
        yield "another tenant's server that may", knowing, None, DONE | REFUSED
        yield "a server that may do other things", ring.server(tenant, Scope.USERS), None, BARRED
        yield "the user herself", ring.user(tenant, ANNA), None, BARRED
    if reach in STRANGERS:
        yield "a stranger", ring.user(tenant, DORA), None, STRANGERS[reach]
        yield "a removed member", ring.user(tenant, CLEO), None, REMOVED[reach]


def _is_breach(env: MatrixEnv, answer: httpx.Response, allowed: Collection[int]) -> bool:
    shows = env.later in answer.text or env.private in answer.text
    return answer.status_code not in allowed or shows


def absent(chat: ChatKey) -> ChatKey:
    """Return the id of a chat of the same type that was never created."""
    return chat._replace(chat=ChatId(f"{chat.chat[0]}{'NOBODYMADETHISCHAT234567'}"))


def far_ahead(example: Example) -> Example:
    """Return the example with `after` above every log: only members may learn the head of a chat."""
    return replace(example, body={**(example.body or {}), "after": 10**6})


async def answer_for(env: MatrixEnv, app: FastAPI, method: str, example: Example, chat: ChatKey) -> str:
    """Return dora's answer for this chat, without the values of the request itself."""
    message = message_id(chat.chat, 2)
    changed = replace(env, chat=chat, message=message)
    answer = await changed.call(example, app, method)(env.api.ring.user(chat.tenant, DORA))
    ids = {chat.chat: "CHAT", answer.headers["request-id"]: "REQUEST"}
    shown = f"{answer.status_code} {sorted(answer.headers.items())} {answer.text}"
    for value, name in ids.items():
        shown = shown.replace(value, name)
    return shown
