"""Create the demo tenant with users, chats and an inbox, through the REST API."""

import asyncio
import http.client
import json
import secrets
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import asdict

from tidings.accounts.api_keys import PREFIX, ApiKeyService
from tidings.accounts.jwt import sign_jws, user_claims
from tidings.accounts.model import Scope
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoSigningKeyStore
from tidings.app.settings import Settings
from tidings.app.wiring.accounts import open_api_keys
from tidings.app.wiring.engine_clients import open_key_ring, open_tables
from tidings.dev.console import DevConsole
from tidings.dev.state_dir import StateDir, read_json, write_private
from tidings.kernel.clock import Clock, format_ms
from tidings.kernel.errors import Code, TidingsError, UnavailableError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.platform.lifecycle.admin import fetch_admin_page
from tidings.tenants.model import TenantSettings
from tidings.tenants.store import DynamoTenantStore

_TIMEOUT_S = 20.0
_PROBE_S = 2.0


class HttpResult(NamedTuple):
    status: int
    body: Any


async def is_http_ready(admin_port: int) -> bool:
    address = f"127.0.0.1:{admin_port}"
    try:
        page = await asyncio.to_thread(fetch_admin_page, address, "/readyz", timeout_s=_PROBE_S)
    except UnavailableError:
        return False
    return page.status == http.HTTPStatus.OK


async def http_call(
    method: str, url: str, bearer: str, body: object = None, *, key: str | None = None
) -> HttpResult:
    """Call the API in a thread. `key` is the `Idempotency-Key`."""
    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    return await asyncio.to_thread(_call, method, url, headers, body)


def _call(method: str, url: str, headers: dict[str, str], body: object) -> HttpResult:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_TIMEOUT_S)
    try:
        path = place.path + (f"?{place.query}" if place.query else "")
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return HttpResult(answer.status, json.loads(text) if text else None)


TENANT = TenantId("dev")
_SCOPES = frozenset({Scope.USERS, Scope.ACT_AS_USER, Scope.NOTIFICATIONS, Scope.WEBHOOKS, Scope.MODERATION})
# Codes are printed here, so they cost nothing.
_ANY_COUNTRY = tuple(f"+{digit}" for digit in range(1, 10))


class DevKeys(Struct, frozen=True, kw_only=True):
    """`signing` is a private JWK, `server` an API key."""

    signing: dict[str, Any]
    server: str
    cursor_secret: str

    def token(self, user: str, now_s: int, life_s: int) -> str:
        return sign_jws(user_claims(TENANT, user, now_s=now_s, life_s=life_s), self.signing)


async def create_dev_tenant(settings: Settings, state_dir: StateDir, clock: Clock) -> DevKeys:
    """Create the tenant and its keys, unless they exist."""
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        rows = AuthenticatedRows(ring)
        store = DynamoTenantStore(client, rows)
        if await store.read(TENANT) is None:
            wanted = TenantSettings(name="Dev", has_phone_login=True, phone_prefixes=_ANY_COUNTRY)
            await store.create(TENANT, wanted, clock.now_ms())
        keys = await _keys(settings, client, state_dir, clock, rows)
    write_private(state_dir.keys, json.dumps(asdict(keys), indent=1))
    return keys


async def _keys(
    settings: Settings, client: DynamoClient, state_dir: StateDir, clock: Clock, rows: AuthenticatedRows
) -> DevKeys:
    kept = read_json(state_dir.keys)
    return DevKeys(
        signing=await _signing(
            SigningKeyService(DynamoSigningKeyStore(client, rows), clock), kept.get("signing")
        ),
        server=await _server(open_api_keys(settings.accounts, client, clock, rows), kept.get("server")),
        cursor_secret=kept.get("cursor_secret") or secrets.token_urlsafe(32),
    )


async def _signing(keys: SigningKeyService, kept: object) -> dict[str, Any]:
    good = {key.kid for key in await keys.list(TENANT) if key.not_after_ms is None}
    if isinstance(kept, dict) and kept.get("kid") in good:
        return kept
    return (await keys.make(TENANT, "Ed25519")).private


async def _server(keys: ApiKeyService, kept: object) -> str:
    """Return the stored API key, or a new one if the stored one lacks a scope."""
    listed = await keys.list(TENANT)
    good = {key.name.key for key in listed if key.revoked_at_ms is None and key.scopes >= _SCOPES}
    if isinstance(kept, str) and kept.removeprefix(PREFIX).split(".")[1:2] and kept.split(".")[2] in good:
        return kept
    return (await keys.issue(TENANT, "tidings dev", _SCOPES)).text.reveal()


DEMO_USERS = {"anna": "Anna", "ben": "Ben", "cleo": "Cleo"}
_GROUP = "Lunch"
_DIRECT_TALK = (("anna", "Hello Ben!"), ("ben", "Hi Anna. Lunch?"))
_GROUP_TALK = (("anna", "Lunch at noon?"), ("ben", "Fine with me."), ("cleo", "I bring cake."))
INBOX = "default"
_WELCOME = {"title": "Welcome", "text": "Notifications for you appear here, separate from chats."}
_MADE, _EXISTS = (200, 201), 409


class SeedData:
    def __init__(self, api: str, keys: DevKeys, tokens: dict[str, str], console: DevConsole) -> None:
        self._console = console
        self._api = api
        self._keys = keys
        self._tokens = tokens

    async def create(self) -> dict[str, str]:
        """Create users, chats and the inbox, and return the ids of the chats by kind."""
        for user, name in DEMO_USERS.items():
            await self._call_api("POST", "/v1/users", self._keys.server, {"id": user, "display_name": name})
        direct = await self._as("anna", "POST", "/v1/chats", {"type": "direct", "user": "ben"})
        chats = {"direct": str(direct["id"]), "group": await self._group()}
        # the direct chat last: lists show the newest activity first, and the quick start uses this chat
        await self._talk(chats["group"], "group", _GROUP_TALK)
        await self._talk(chats["direct"], "direct", _DIRECT_TALK)
        await self._inbox()
        return chats

    async def _inbox(self) -> None:
        """Create the inbox once; later changes by the developer, such as a schema, are kept."""
        listed = await self._call_api("GET", "/v1/inboxes", self._keys.server)
        if any(inbox["id"] == INBOX for inbox in listed["inboxes"]):
            return
        path, notification = f"/v1/inboxes/{INBOX}", {"user_ids": list(DEMO_USERS), "message": _WELCOME}
        await self._call_api("PUT", path, self._keys.server, {"title": "Notifications"})
        await self._call_api(
            "POST", f"{path}/notifications", self._keys.server, notification, key="dev-welcome"
        )

    async def _group(self) -> str:
        listed = await self._as("anna", "GET", "/v1/chats")
        for chat in listed["chats"]:
            if chat["type"] == "group" and chat.get("name") == _GROUP:
                return str(chat["id"])
        wanted = {"type": "group", "name": _GROUP, "members": ["ben", "cleo"]}
        made = await self._as("anna", "POST", "/v1/chats", wanted, key="dev-group")
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
        return await self._call_api(method, path, self._tokens[user], body, key=key)

    async def _call_api(
        self, method: str, path: str, bearer: str, body: object = None, *, key: str | None = None
    ) -> Any:  # noqa: ANN401 - JSON is what it is
        self._console.requests_unshown += 1
        answer = await http_call(method, self._api + path, bearer, body, key=key)
        if answer.status not in (*_MADE, _EXISTS):
            raise _refused(method, path, answer)
        return answer.body


def _refused(method: str, path: str, answer: HttpResult) -> TidingsError:
    said = answer.body.get("detail") if isinstance(answer.body, dict) else ""
    return TidingsError(
        Code.INTERNAL,
        f"The tenant {TENANT} could not be created: {method} {path} gave {answer.status}. {said}",
        hint="`tidings dev --fresh` starts with empty tables; `tidings doctor` looks for the cause.",
    )


def mint_tokens(keys: DevKeys, now_s: int, life_s: int) -> dict[str, str]:
    return {user: keys.token(user, now_s, life_s) for user in DEMO_USERS}


def write_dev_file(
    state_dir: StateDir, clock: Clock, urls: dict[str, str], tokens: dict[str, str], **more: object
) -> None:
    """Write the file that other commands in this directory read, with mode 0600.

    `version` changes when a field changes its meaning.
    """
    users = {user: {"name": DEMO_USERS[user], "token": token} for user, token in tokens.items()}
    content = {
        "version": 1,
        "tenant": TENANT,
        **urls,
        "users": users,
        **more,
        "written_at": format_ms(clock.now_ms()),
    }
    write_private(state_dir.client, json.dumps(content, indent=1))
    for user, token in tokens.items():
        write_private(state_dir.header(user), f"Authorization: Bearer {token}\n")
