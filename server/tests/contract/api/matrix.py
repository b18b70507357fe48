"""The callers without permission, and the expected answers to each of them."""

from collections.abc import Awaitable, Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import httpx
from contract.api.examples import FOUND, HOOK, UPLOADED, Example, Reach
from fastapi import FastAPI
from fixtures.credentials import create_tenant_row
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, CLEO, DORA, UseCaseEnv, by
from fixtures.web_push_server import WebPushServer

from tidings.accounts.model import Scope
from tidings.erasure.model import Approval, Erasure, ErasureId
from tidings.erasure.store import DynamoErasureStore
from tidings.inboxes.broadcasts.service import BroadcastRequest, RolloutStep
from tidings.inboxes.config import InboxSpec
from tidings.inboxes.mail.model import MailReference
from tidings.inboxes.mail.rules import sign_reference
from tidings.inboxes.mail.service import MAIL_ID
from tidings.inboxes.model import InboxId, InboxKey
from tidings.inboxes.sender import SendNotificationRequest, SendNotificationResult
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatId, ChatKey, ClientKey, TenantId, UserId, message_id
from tidings.media.model import SINGLE_BYTES, CheckState, MediaFacts
from tidings.media.store.uploads import DynamoUploadStore
from tidings.messages.sender import Content
from tidings.push.providers_cache import PushProviderService
from tidings.push.store.providers import DynamoProviderStore


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
    member_job: str
    endpoint: str
    mail: str
    upload: str
    large: str
    attached: str
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
            member_job=self.member_job,
            endpoint=self.endpoint,
            upload=self.upload,
            large=self.large,
            attached=self.attached,
        )
        now = format_ms(self.api.use_cases.clock.now_ms())
        given = {"{tenant}": tenant, "{notification}": self.notification, "{now}": now, "{mail}": self.mail}
        given["{chat}"] = self.chat.chat
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
        if example.reach is Reach.WEBHOOKS:
            return ring.server(tenant, Scope.WEBHOOKS)
        if example.reach is Reach.MODERATION:
            return ring.server(tenant, Scope.MODERATION)
        return ring.user(tenant, example.caller)


async def seed_matrix(api: RestApp) -> MatrixEnv:
    use_cases = api.use_cases
    chat = await use_cases.group(BEN, CLEO)
    attached = await set_upload(api, chat)
    content = Content(text="said while cleo was in", attachments=(attached,))
    sent = await use_cases.sender.send(chat, ANNA, ClientKey("first"), content, after=1)
    await api.user(ANNA).ok("PUT", f"/v1/messages/{sent.message_id}/reactions/ok")
    await use_cases.manage.remove(chat, by(ANNA), CLEO)
    await use_cases.send(chat, ANNA, MatrixEnv.later)
    await api.settle()
    await api.accounts.users.create(api.use_cases.tenant, UserId("fay"), phone=FOUND)
    await api.accounts.users.create(use_cases.tenant, ANNA, display_name=MatrixEnv.private)
    notification = await set_inbox(api)
    broadcast = await set_broadcast(api)
    await set_push_provider(api)
    endpoint = await set_webhooks(api)
    await api.user(ANNA).ok("POST", f"/v1/chats/{chat.chat}/invites", {"users": ["gil"]})
    await api.user(BEN).ok("POST", "/v1/users/fay/report", {"reason": "spam"})
    await api.server(Scope.USERS).ok("POST", "/v1/users/fay/export")
    await api.accounts.users.create(use_cases.tenant, UserId("hal"))
    await api.server(Scope.USERS).ok("DELETE", "/v1/users/hal")
    await request_erasure(api)
    many = {"users": [f"u{number}" for number in range(97)]}
    added = await api.user(ANNA).ok("POST", f"/v1/chats/{chat.chat}/members", many)
    return MatrixEnv(
        api,
        chat,
        sent.message_id,
        notification.notification,
        notification.job,
        broadcast,
        added["job"],
        endpoint,
        await mail_id(use_cases),
        await set_upload(api, chat),
        await set_upload(api, chat, SINGLE_BYTES + 1),
        attached,
    )


async def set_upload(api: RestApp, chat: ChatKey, size: int = 1) -> str:
    """Start an upload. A small file is stored and processed."""
    use_cases, body = api.use_cases, UPLOADED | {"chat": chat.chat, "size": size}
    made = await api.user(ANNA).ok("POST", "/v1/uploads", body)
    if "put" in made:
        store = DynamoUploadStore(use_cases.client)
        upload = await store.find(use_cases.tenant, made["id"])
        assert upload is not None
        await api.objects.put(upload.original, b"x", "image/png")
        await api.user(ANNA).ok("POST", f"/v1/uploads/{made['id']}/complete", {})
        await store.record_facts(upload, CheckState.READY, MediaFacts())
    return str(made["id"])


async def mail_id(use_cases: UseCaseEnv) -> str:
    """Return the Message-ID of a mail to anna."""
    mac = await use_cases.ring.mac(use_cases.tenant)
    reference = MailReference(InboxKey(use_cases.tenant, ANNA, InboxId("default")), "n", "h")
    return f"<{sign_reference(reference, MAIL_ID, mac)}@shop.example>"


async def request_erasure(api: RestApp) -> None:
    """Store a request that waits for a second approver."""
    use_cases = api.use_cases
    erasure = Erasure(
        tenant=use_cases.tenant,
        user=UserId("ida"),
        id=ErasureId("01M7Q7YT1FMEJH4B4KBTWBBXBZ"),
        requested_ms=use_cases.clock.now_ms(),
        requested_by="operator:eve",
        approval=Approval(),
        secret=b"s" * 32,
    )
    await DynamoErasureStore(use_cases.client).create(erasure, None)


async def set_inbox(api: RestApp) -> SendNotificationResult:
    """Send anna a notification with her name, and a second one that is not delivered yet."""
    tenant, notifications = api.use_cases.tenant, api.notifications
    await notifications.inboxes.set(tenant, "default", lambda _: InboxSpec(title="News"))
    request: Any = {"user_ids": [ANNA], "message": {"title": MatrixEnv.private}}
    await notifications.sender.send(tenant, "default", SendNotificationRequest(**request))
    await api.work()
    named = SendNotificationRequest(**request, host_system_id="order-7", is_unique=True)
    return await notifications.sender.send(tenant, "default", named)


async def set_push_provider(api: RestApp) -> None:
    use_cases = api.use_cases
    store = DynamoProviderStore(use_cases.client, use_cases.ring)
    await PushProviderService(store, use_cases.clock).set(use_cases.tenant, WebPushServer().config())


async def set_webhooks(api: RestApp) -> str:
    """Create the rows of both tenants, a before-send hook and an endpoint, and return the endpoint."""
    for tenant in (api.use_cases.tenant, TenantId(f"{api.use_cases.tenant}-other")):
        await create_tenant_row(api.use_cases, tenant)
    server = api.server(Scope.WEBHOOKS)
    await server.ok("PUT", "/v1/before-send-hook", {"url": HOOK, "on_failure": "allow"})
    made = await server.ok("POST", "/v1/webhooks", {"url": HOOK})
    return str(made["id"])


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
    Reach.WEBHOOKS: BARRED,
    Reach.MODERATION: BARRED,
    Reach.ADDRESSED: BARRED,
}
SCOPES = {
    Reach.INBOXES: Scope.NOTIFICATIONS,
    Reach.WEBHOOKS: Scope.WEBHOOKS,
    Reach.MODERATION: Scope.MODERATION,
}
STRANGERS = {Reach.CHAT: REFUSED, Reach.PAST: REFUSED, Reach.SERVER: BARRED}
REMOVED = {Reach.CHAT: REFUSED, Reach.PAST: DONE, Reach.SERVER: BARRED}


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
    if reach in SCOPES:
        knowing = ring.server(other, SCOPES[reach])
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
