"""The tested installation: its addresses, the tokens of users, and operations that only the REST API has."""

import itertools
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, final

import httpx
from joserfc import jwt
from joserfc.jwk import import_key

_LIFE_S: Final = 6 * 3_600
_PAGE: Final = 100


class SetupFailed(Exception):  # noqa: N818 - named like the errors of the SDK
    """The installation rejected the preparation of a run. The message is its reason."""


@dataclass(slots=True, kw_only=True)
class TargetInstallation:
    """The addresses of an installation.

    `sockets` are the URLs of the gateways or of their load balancer; they may change during a run. `steady_socket` does
    not change, for clients that take their address only once. `api_key` has the scope `users`; only erasures need it.
    """

    api: str
    sockets: list[str]
    steady_socket: str
    token: Callable[[str], str]
    api_key: str = ""
    turns: Iterator[int] = field(default_factory=itertools.count)

    def next_socket(self) -> str:
        if not self.sockets:
            raise ConnectionRefusedError("No gateway is available.")
        return self.sockets[next(self.turns) % len(self.sockets)]


def signer(tenant: str, private_jwk: Mapping[str, Any], audience: str = "tidings") -> Callable[[str], str]:
    """Sign tokens as the tenant's server does. The token of a user is cached while it is valid."""
    # Without `alg` and `use`: joserfc treats EdDSA and Ed25519 as different algorithms.
    key = import_key({name: part for name, part in private_jwk.items() if name not in ("alg", "use")})
    header = {"alg": "ES256" if key.key_type == "EC" else "Ed25519", "kid": private_jwk["kid"]}
    kept: dict[str, tuple[int, str]] = {}

    def token(user: str) -> str:
        now_s = int(time.time())
        made_s, text = kept.get(user, (0, ""))
        if now_s - made_s > _LIFE_S // 2:
            claims = {"tenant": tenant, "sub": user, "aud": audience, "iat": now_s, "exp": now_s + _LIFE_S}
            text = jwt.encode(header, claims, key, algorithms=[header["alg"]])
            kept[user] = (now_s, text)
        return text

    return token


class ChatListItem(NamedTuple):
    """One chat in a user's chat list."""

    chat: str
    read: int
    unread: int


@final
class RestClient:
    """Retry repeatable requests: the installation may be busy, or a test may cause faults."""

    def __init__(self, site: TargetInstallation) -> None:
        self._site = site
        limits = httpx.Limits(max_connections=20, max_keepalive_connections=10)
        self._http = httpx.AsyncClient(timeout=30, limits=limits, trust_env=False)

    async def close(self) -> None:
        await self._http.aclose()

    async def group(self, owner: str, members: Sequence[str]) -> str:
        body = {
            "type": "group",
            "name": "harness",
            "members": list(members),
            "client_message_id": uuid.uuid4().hex,
        }
        made = await self._ask("POST", "/v1/chats", owner, body)
        chat: str = made["id"]
        return chat

    async def direct(self, one: str, other: str) -> str:
        made = await self._ask("POST", "/v1/chats", one, {"type": "direct", "user": other})
        chat: str = made["id"]
        return chat

    async def add(self, chat: str, owner: str, user: str) -> None:
        body = {"users": [user], "client_message_id": uuid.uuid4().hex}
        await self._ask("POST", f"/v1/chats/{chat}/members", owner, body)

    async def remove(self, chat: str, owner: str, user: str) -> None:
        await self._ask("DELETE", f"/v1/chats/{chat}/members/{user}", owner)

    async def ban(self, chat: str, owner: str, user: str) -> None:
        await self._ask("PUT", f"/v1/chats/{chat}/bans/{user}", owner, {"reason": "harness"})

    async def unban(self, chat: str, owner: str, user: str) -> None:
        await self._ask("DELETE", f"/v1/chats/{chat}/bans/{user}", owner)

    async def mute(self, chat: str, owner: str, user: str) -> None:
        await self._ask("PUT", f"/v1/chats/{chat}/members/{user}/mute", owner, {"reason": "harness"})

    async def unmute(self, chat: str, owner: str, user: str) -> None:
        await self._ask("DELETE", f"/v1/chats/{chat}/members/{user}/mute", owner)

    async def chats(self, user: str) -> list[ChatListItem]:
        found: list[ChatListItem] = []
        cursor: str | None = None
        while True:
            query = f"/v1/chats?limit={_PAGE}" + (f"&cursor={cursor}" if cursor else "")
            page = await self._ask("GET", query, user)
            found += [ChatListItem(row["id"], row["read_sequence"], row["unread"]) for row in page["chats"]]
            cursor = page.get("cursor")
            if cursor is None:
                return found

    async def erase(self, user: str) -> None:
        """Start to erase a user, as the tenant's server."""
        await self._send("DELETE", f"/v1/users/{user}", self._site.api_key)

    async def is_erased(self, user: str) -> bool:
        found = await self._send("GET", f"/v1/users/{user}/erasure", self._site.api_key)
        return bool(found["state"] != "running")

    async def is_admitted(self, user: str) -> bool:
        """Return whether a request of the user is answered."""
        try:
            await self.chats(user)
        except httpx.HTTPStatusError as refused:
            if refused.response.status_code in {httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
                return False
            raise
        return True

    async def _ask(self, method: str, path: str, user: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - any JSON value
        return await self._send(method, path, self._site.token(user), body)

    async def _send(
        self, method: str, path: str, bearer: str, body: Mapping[str, object] | None = None
    ) -> Any:  # noqa: ANN401 - any JSON value
        headers = {"Authorization": f"Bearer {bearer}"}
        answer = await self._http.request(method, self._site.api + path, headers=headers, json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else None
