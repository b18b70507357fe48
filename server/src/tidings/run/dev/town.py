"""Three people, a few chats and an inbox in the tenant `dev`, made through the REST edge as any client would.

Safe to repeat: what is there stays, and nobody says a thing twice, even after the seven days in which a repeat is known.
"""

import json
from typing import Any

from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError
from tidings.run.dev.calls import HttpResult, http_call
from tidings.run.dev.keys import TENANT, DevKeys
from tidings.run.dev.place import StateDir, write_private
from tidings.run.dev.voice import DevConsole

DEMO_USERS = {"anna": "Anna", "ben": "Ben", "cleo": "Cleo"}
_GROUP = "Lunch"
_DIRECT_TALK = (("anna", "Hello Ben!"), ("ben", "Hi Anna. Lunch?"))
_GROUP_TALK = (("anna", "Lunch at noon?"), ("ben", "Fine with me."), ("cleo", "I bring cake."))
_INBOX = "default"
_WELCOME = {"title": "Welcome", "text": "Notices for you come here, beside the chats."}
_MADE, _THERE = (200, 201), 409


class SeedData:
    def __init__(self, api: str, keys: DevKeys, tokens: dict[str, str], console: DevConsole) -> None:
        self._console = console
        self._api = api
        self._keys = keys
        self._tokens = tokens

    async def create(self) -> dict[str, str]:
        """The chats by what they are."""
        for user, name in DEMO_USERS.items():
            await self._ask("POST", "/v1/users", self._keys.server, {"id": user, "display_name": name})
        direct = await self._as("anna", "POST", "/v1/directs", {"user": "ben"})
        chats = {"direct": str(direct["id"]), "group": await self._group()}
        # the direct chat last: newest activity comes first in a list, and two who try it begin there
        await self._talk(chats["group"], "group", _GROUP_TALK)
        await self._talk(chats["direct"], "direct", _DIRECT_TALK)
        await self._inbox()
        return chats

    async def _inbox(self) -> None:
        """Once: what somebody makes of it afterwards, a schema that refuses our words among it, stays."""
        listed = await self._ask("GET", "/v1/inboxes", self._keys.server)
        if any(inbox["id"] == _INBOX for inbox in listed["inboxes"]):
            return
        path, notice = f"/v1/inboxes/{_INBOX}", {"uids": list(DEMO_USERS), "message": _WELCOME}
        await self._ask("PUT", path, self._keys.server, {"title": "Notices"})
        await self._ask("POST", f"{path}/notices", self._keys.server, notice, key="dev-welcome")

    async def _group(self) -> str:
        listed = await self._as("anna", "GET", "/v1/chats")
        for chat in listed["chats"]:
            if chat["type"] == "group" and chat.get("name") == _GROUP:
                return str(chat["id"])
        wanted = {"name": _GROUP, "members": ["ben", "cleo"]}
        made = await self._as("anna", "POST", "/v1/groups", wanted, key="dev-group")
        return str(made["id"])

    async def _talk(self, chat: str, name: str, talk: tuple[tuple[str, str], ...]) -> None:
        page = await self._as("anna", "GET", f"/v1/chats/{chat}/messages")
        if any(entry["kind"] == "message" for entry in page["entries"]):
            return
        for number, (user, text) in enumerate(talk):
            path = f"/v1/chats/{chat}/messages"
            await self._as(user, "POST", path, {"text": text}, key=f"dev-{name}-{number}")

    async def _as(
        self, user: str, method: str, path: str, body: object = None, *, key: str | None = None
    ) -> Any:  # noqa: ANN401 - JSON is what it is
        return await self._ask(method, path, self._tokens[user], body, key=key)

    async def _ask(
        self, method: str, path: str, bearer: str, body: object = None, *, key: str | None = None
    ) -> Any:  # noqa: ANN401 - JSON is what it is
        self._console.requests_unshown += 1
        answer = await http_call(method, self._api + path, bearer, body, key=key)
        if answer.status not in (*_MADE, _THERE):
            raise _refused(method, path, answer)
        return answer.body


def _refused(method: str, path: str, answer: HttpResult) -> TidingsError:
    said = answer.body.get("detail") if isinstance(answer.body, dict) else ""
    return TidingsError(
        Code.INTERNAL,
        f"The tenant {TENANT} could not be filled: {method} {path} gave {answer.status}. {said}",
        hint="`tidings dev --fresh` begins anew; `tidings doctor` looks for what is wrong.",
    )


def mint_tokens(keys: DevKeys, now_s: int, life_s: int) -> dict[str, str]:
    return {user: keys.token(user, now_s, life_s) for user in DEMO_USERS}


def write_dev_file(
    state_dir: StateDir, clock: Clock, urls: dict[str, str], tokens: dict[str, str], **more: object
) -> None:
    """For other commands in this directory; mode 0600. `version` changes when a field changes its meaning."""
    users = {user: {"name": DEMO_USERS[user], "token": token} for user, token in tokens.items()}
    told = {
        "version": 1,
        "tenant": TENANT,
        **urls,
        "users": users,
        **more,
        "written_at": format_ms(clock.now_ms()),
    }
    write_private(state_dir.client, json.dumps(told, indent=1))
    for user, token in tokens.items():
        write_private(state_dir.header(user), f"Authorization: Bearer {token}\n")
