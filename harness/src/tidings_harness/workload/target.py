"""The installation that is tried: where it listens, and how the harness's users get in. REST for what sockets have not."""

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


class SetupFailed(Exception):  # noqa: N818 - what happened, as the SDK's errors are named
    """The installation refused what a run begins with, and said why."""


@dataclass(slots=True, kw_only=True)
class TargetInstallation:
    """`sockets`: of the gateways, or of what stands before them; may change while a run goes on.

    `steady_socket`: one that stays, for clients that are told an address once.
    """

    api: str
    sockets: list[str]
    steady_socket: str
    token: Callable[[str], str]
    turns: Iterator[int] = field(default_factory=itertools.count)

    def next_socket(self) -> str:
        if not self.sockets:
            raise ConnectionRefusedError("no gateway is up")
        return self.sockets[next(self.turns) % len(self.sockets)]


def signer(tenant: str, private_jwk: Mapping[str, Any], audience: str = "tidings") -> Callable[[str], str]:
    """Tokens as the tenant's own server would make them; one for each user, kept while it is good."""
    # without `alg` and `use`: joserfc takes EdDSA and Ed25519 for two
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
    """What a user's chat list says of one chat."""

    chat: str
    read: int
    unread: int


@final
class RestClient:
    """Repeats what may be repeated: an operator's installation is busy, ours is being broken."""

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

    async def _ask(self, method: str, path: str, user: str, body: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 - JSON is what it is
        headers = {"Authorization": f"Bearer {self._site.token(user)}"}
        answer = await self._http.request(method, self._site.api + path, headers=headers, json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else None
