"""For every route of the description: one good call, and what somebody must get who has no business there.

A route that has no example here fails the test, so a new one can't be forgotten.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import httpx
from fastapi import FastAPI
from fixtures.house import House
from fixtures.stage import ANNA, BEN, CLEO, DORA, by

from tidings.accounts.model import Scope
from tidings.kernel.errors import Code
from tidings.kernel.ids import ChatKey, TenantId, UserId


class Reach(Enum):
    """What a call is about."""

    CHAT = auto()
    """A chat: its members' only."""
    PAST = auto()
    """A chat's log: who was removed still sees what was said while he was in."""
    OWN = auto()
    """The caller's own; another caller gets another thing, and this tenant does not change."""


@dataclass(frozen=True)
class Example:
    """`{chat}` and `{message}` in path and body are put in from the scene. `caller` may do it."""

    path: str
    body: dict[str, Any] | None = None
    reach: Reach = Reach.CHAT
    caller: UserId = ANNA
    headers: dict[str, str] = field(default_factory=dict)


SAID = {"text": "hi", "client_message_id": "matrix"}
EXAMPLES: dict[str, Example] = {
    "create_group": Example(
        "/v1/groups", {"name": "n", "members": [BEN], "client_message_id": "new"}, Reach.OWN
    ),
    "open_direct": Example("/v1/directs", {"user": "eve"}, Reach.OWN),
    "get_chat": Example("/v1/chats/{chat}"),
    "rename_chat": Example("/v1/chats/{chat}", {"name": "new"}),
    "mute_chat": Example("/v1/chats/{chat}/mute", {"until": "2030-01-01T00:00:00Z"}),
    "unmute_chat": Example("/v1/chats/{chat}/mute"),
    "list_blocks": Example("/v1/blocks", reach=Reach.OWN),
    "block_user": Example("/v1/blocks/eve", reach=Reach.OWN),
    "unblock_user": Example("/v1/blocks/eve", reach=Reach.OWN),
    "list_members": Example("/v1/chats/{chat}/members"),
    "add_members": Example("/v1/chats/{chat}/members", {"users": ["eve"]}),
    "remove_member": Example("/v1/chats/{chat}/members/ben"),
    "change_role": Example("/v1/chats/{chat}/members/ben/role", {"role": "admin"}),
    "transfer_chat": Example("/v1/chats/{chat}/owner", {"user": "ben"}),
    "send_message": Example("/v1/chats/{chat}/messages", SAID),
    "list_messages": Example("/v1/chats/{chat}/messages", reach=Reach.PAST),
    "get_message": Example("/v1/messages/{message}", reach=Reach.PAST),
    "edit_message": Example("/v1/messages/{message}", {"text": "other"}),
    "redact_message": Example("/v1/messages/{message}"),
    "react": Example("/v1/messages/{message}/reactions/+1"),
    "unreact": Example("/v1/messages/{message}/reactions/ok"),
}


@dataclass
class Scene:
    """A group of anna and ben, from which cleo was removed; dora has never been in it. `secret` was said after."""

    house: House
    chat: ChatKey
    message: str
    secret: str = "said after cleo left"

    def call(self, example: Example, app: FastAPI, method: str) -> Callable[..., Awaitable[httpx.Response]]:
        path = example.path.format(chat=self.chat.chat, message=self.message)

        async def send(bearer: str | None, **headers: str) -> httpx.Response:
            sent = example.headers | headers
            if bearer is not None:
                sent["authorization"] = f"Bearer {bearer}"
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
                return await client.request(method.upper(), path, json=example.body, headers=sent)

        return send


async def set_scene(house: House) -> Scene:
    stage = house.stage
    chat = await stage.group(BEN, CLEO)
    sent = await stage.send(chat, ANNA, "said while cleo was in")
    await house.user(ANNA).ok("PUT", f"/v1/messages/{sent.message_id}/reactions/ok")
    await stage.manage.remove(chat, by(ANNA), CLEO)
    await stage.send(chat, ANNA, Scene.secret)
    return Scene(house, chat, sent.message_id)


async def breaches(scene: Scene, app: FastAPI, method: str, example: Example) -> list[str]:
    """What went through that should not have. Empty: all refused, and nothing was written."""
    send, ring, tenant = scene.call(example, app, method), scene.house.ring, scene.house.stage.tenant
    other = TenantId(f"{tenant}-other")
    ring.expired.add("was good once")
    wanted: dict[str, tuple[httpx.Response, set[int]]] = {}
    before = await scene.house.stage.kinds(scene.chat)
    wanted["no credential"] = await send(None), {401}
    wanted["a forged one"] = await send("forged"), {401}
    wanted["an expired one"] = await send("was good once"), {401}
    wanted["a server without the scope"] = (
        await send(ring.server(tenant, Scope.USERS), **{"tidings-user": ANNA}),
        {403},
    )
    wanted["a user in another's name"] = await send(ring.user(tenant, DORA), **{"tidings-user": ANNA}), {403}
    refused = {403, 404} if example.reach is not Reach.OWN else {200, 201, 204}
    wanted["another tenant's user of the same name"] = await send(ring.user(other, ANNA)), refused
    elsewhere = ring.server(other, Scope.ACT_AS_USER)
    wanted["another tenant's server"] = await send(elsewhere, **{"tidings-user": ANNA}), refused
    if example.reach is not Reach.OWN:
        wanted["a stranger"] = await send(ring.user(tenant, DORA)), {403, 404}
        seen = {200} if example.reach is Reach.PAST else {403, 404}
        wanted["a removed member"] = await send(ring.user(tenant, CLEO)), seen
    found = [
        f"{who}: {answer.status_code} {answer.text}"
        for who, (answer, allowed) in wanted.items()
        if answer.status_code not in allowed or scene.secret in answer.text or _tells_too_much(answer)
    ]
    if await scene.house.stage.kinds(scene.chat) != before:
        found.append("something was written")
    return found


def _tells_too_much(answer: httpx.Response) -> bool:
    """Which of the things that can be wrong with a credential it was is not told."""
    if answer.status_code != httpx.codes.UNAUTHORIZED:
        return False
    return answer.json()["code"] not in {Code.CREDENTIAL_INVALID, Code.CREDENTIAL_EXPIRED}
