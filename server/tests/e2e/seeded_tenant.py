"""A tenant with data for tests that call every operation. Each has its own objects, so that none affects another."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contract.telemetry.running import eventually
from e2e.conftest import Api
from e2e.operation_groups import FOR_BROADCASTS, FOR_NOTIFICATIONS, FOR_WEBHOOKS, OF_NOTIFICATIONS
from e2e.seeded_erasure import erasure_values, request_erasure
from e2e.seeded_moderation import moderated_values
from e2e.seeded_uploads import seed_uploads
from fixtures.memory_accounts import claims_of, mint
from fixtures.tables import REGION, Tables
from fixtures.use_cases import file_key_ring
from fixtures.web_push_server import WebPushServer
from msgspec.structs import replace

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.keys import DynamoApiKeyStore, DynamoSigningKeyStore
from tidings.inboxes.mail.model import MailReference
from tidings.inboxes.mail.rules import sign_reference
from tidings.inboxes.mail.service import MAIL_ID
from tidings.inboxes.model import InboxId, InboxKey
from tidings.kernel.clock import SystemClock, format_ms
from tidings.kernel.ids import TenantId, UserId
from tidings.platform.dynamo.open_client import open_client
from tidings.platform.dynamo.protected_rows import AuthenticatedRows
from tidings.push.providers_cache import PushProviderService
from tidings.push.store.providers import DynamoProviderStore
from tidings.search.store.tantivy import TantivySearchIndex
from tidings.tenants.model import TenantSettings
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

MEMBERS = ["ben", "cleo", *(f"member-{n}" for n in range(8))]
PHONES = {"anna": "+4915112345671", "ben": "+4915112345672", "cleo": "+4915112345673"}
MANY, SOME = 30, 8

SENDER = "the key that sends notifications"
type Values = Mapping[str, list[Any]]
"""Existing values by the name of a parameter or body field."""


@dataclass(frozen=True)
class TenantTokens:
    """Tokens of users that the app's server signed, and API keys.

    `leaver` signs out, which revokes every token of that user. Only that request uses it. `webhooks` is a key of
    another tenant, whose before-send hook delays no message of the first one.
    """

    anna: str
    leaver: str
    server: str
    notifications: str
    webhooks: str
    message_id: str
    """Of a mail to anna."""


@dataclass
class SeededTenant:
    bearers: TenantTokens
    values: dict[str, Values] = field(default_factory=dict)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By operation: a request body that succeeds."""


async def tokens_of(tables: Tables, tenant: TenantId, directory: Path, life_s: int = 3600) -> TenantTokens:
    clock = SystemClock()
    async with open_client(tables.url, REGION, tables.prefix) as client:
        ring = file_key_ring(client, directory)
        rows = AuthenticatedRows(ring)
        keys = ApiKeyService(DynamoApiKeyStore(client, rows), clock)
        server = await keys.issue(tenant, "users", [Scope.USERS, Scope.MODERATION])
        notifications = await keys.issue(tenant, "notifications", [Scope.NOTIFICATIONS])
        hooked = TenantId(f"{tenant}-hooked")
        tenants = TenantService(DynamoTenantStore(client, rows), clock)
        await tenants.create(hooked, TenantSettings(name="Hooked"))
        await tenants.change(tenant, lambda settings: replace(settings, has_search=True))
        await TantivySearchIndex(directory / ".tidings" / "search").close()  # an empty index
        webhooks = await keys.issue(hooked, "webhooks", [Scope.WEBHOOKS, Scope.MODERATION])
        await PushProviderService(DynamoProviderStore(client, ring), clock).set(
            tenant, WebPushServer().config()
        )
        reference = MailReference(InboxKey(tenant, UserId("anna"), InboxId("default")), "n", "h")
        message_id = f"<{sign_reference(reference, MAIL_ID, await ring.mac(tenant))}@shop.example>"
        await request_erasure(client, tenant, clock)
        pair = await SigningKeyService(DynamoSigningKeyStore(client, rows), clock).make(tenant, "Ed25519")
    now_s = int(time.time())

    def token(user: str) -> str:
        return mint(pair.private, claims_of(tenant=tenant, sub=user, iat=now_s, exp=now_s + life_s))

    return TenantTokens(
        anna=token("anna"),
        leaver=token("leaver"),
        server=server.text.reveal(),
        notifications=notifications.text.reveal(),
        webhooks=webhooks.text.reveal(),
        message_id=message_id,
    )


def seed_tenant(api: Api, tables: Tables, tenant: TenantId, directory: Path) -> SeededTenant:
    seeded = SeededTenant(asyncio.run(tokens_of(tables, tenant, directory)))
    _Builder(api, tenant, seeded).build()
    return seeded


class _Builder:
    def __init__(self, api: Api, tenant: TenantId, seeded: SeededTenant) -> None:
        self._api = api
        self._tenant = tenant
        self._seeded = seeded
        self._made = 0

    def build(self) -> None:
        for user in ("anna", *MEMBERS):
            phone = {"phone": PHONES[user]} if user in PHONES else {}
            self._ok("POST", "/v1/users", {"id": user, **phone}, bearer=self._seeded.bearers.server)
        values = self._seeded.values
        values.update(
            self._chats() | self._messages() | self._people() | self._notifications() | self._broadcasts()
        )
        values.update(self._webhooks())
        values.update(seed_uploads(self._ok, self._group(), self._seeded.bodies))
        values["end_session"] = {"session": [self._login("anna")["session"] for _ in range(2)]}
        self._seeded.bodies["refresh_session"] = {"refresh_token": self._login("ben")["refresh_token"]}
        self._seeded.bodies["redeem_code"] = self._code("cleo")
        values["request_code"] = {
            "tenant": [self._tenant],
            "phone": [f"+49151123456{n}" for n in range(80, 90)],
        }
        values["redeem_code"] = {"tenant": [self._tenant]}
        values["find_user"] = {"phone_number": (numbers := list(PHONES.values()))}
        values["add_member_by_phone"] = {"chat": [self._group()], "phone_number": numbers}
        server = self._seeded.bearers.server
        values.update(erasure_values(self._ok, server, self._seeded.bodies))
        self._ok("POST", f"/v1/users/{MEMBERS[0]}/export", bearer=server)
        values["export_user"] = values["get_export"] = {"user": MEMBERS[:1]}
        values["suspend_user"] = values["unsuspend_user"] = {"user": MEMBERS[-1:]}

    def _chats(self) -> dict[str, Values]:
        plain = ("get_chat", "rename_chat", "list_members", "send_message", "list_messages", "add_members")
        found: dict[str, Values] = {name: {"chat": [self._group()]} for name in plain}
        for name in ("mark_read", "mark_delivered"):
            found[name] = {"chat": [self._group(messages=3)], "sequence": [1, 2, 3, 4]}
        members = found["list_members"]["chat"][0]
        cursor = self._ok("GET", f"/v1/chats/{members}/members?limit=1")["cursor"]
        found["list_members"] = {"chat": [members], "cursor": [cursor]}
        found["list_messages"] = {"chat": [self._group(messages=4)]}
        found["get_member_job"] = self._member_job()
        found["update_chat_settings"] = {"chat": [self._group() for _ in range(3)]}
        found["remove_member"] = {"chat": [self._group() for _ in range(3)], "user": MEMBERS}
        found["change_role"] = {"chat": [self._group()], "user": MEMBERS}
        found |= moderated_values(self._group, self._ok, MEMBERS, self._seeded.bearers.leaver)
        found["transfer_chat"] = {"chat": [self._group() for _ in range(SOME)], "user": MEMBERS}
        return found

    def _messages(self) -> dict[str, Values]:
        def sequences(how_many: int) -> Values:
            chat = self._group()
            return {"message": [self._say(chat) for _ in range(how_many)]}

        found = {
            name: sequences(SOME)
            for name in ("get_message", "get_message_status", "edit_message", "add_reaction", "list_pushes")
        }
        found["redact_message"] = sequences(MANY)
        reacted = sequences(MANY)
        for message in reacted["message"]:
            self._ok("PUT", f"/v1/messages/{message}/reactions/ok")
        found["remove_reaction"] = {**reacted, "emoji": ["ok"]}
        return found

    def _notifications(self) -> dict[str, Values]:
        """Send notifications. They are not delivered: no worker runs."""
        for inbox in ("default", "other"):
            self._ok("PUT", f"/v1/inboxes/{inbox}", {"title": "News", "categories": ["news"]}, SENDER)
        named: Values = {
            "inbox": ["default"],
            "tenant": [self._tenant],
            "category": ["news"],
            "expires_at": ["2099-01-01T00:00:00Z"],
            "user": MEMBERS,
        }
        found = {name: dict(named) for name in (*FOR_NOTIFICATIONS, *OF_NOTIFICATIONS)}
        found["set_inbox"] = {
            "inbox": ["other"],
            "payload_schema": [None, {"type": "object"}],
            "default_category": [None],
        }
        for name in FOR_NOTIFICATIONS:
            sent = [self._send() for _ in range(SOME)]
            found[name] |= {"job": [each["job"] for each in sent]}
            if name != "legacy_redact":
                found[name] |= {"notification": [each["id"] for each in sent]}
        found["find_notification"] |= {"host_system_id": [self._named(f"order-{n}") for n in range(SOME)]}
        found["legacy_redact"] |= {"id": [self._send()["id"] for _ in range(SOME)]}
        found["report_bounce"] = {"message_id": [self._seeded.bearers.message_id]}
        return dict(found)

    def _broadcasts(self) -> dict[str, Values]:
        login = {"all": [{"attribute": "plan", "in": ["pro", "team"]}]}
        self._ok("PUT", "/v1/segments/pros", {"predicate": login}, SENDER)
        for _ in range(2):
            self._ok("POST", "/v1/segments/vip/users", {"users": MEMBERS}, SENDER)
        for user in MEMBERS:
            self._ok("PUT", f"/v1/users/{user}/profile", {"attributes": {"plan": "pro"}}, SENDER)
        named: Values = {
            "inbox": ["default"],
            "category": ["news"],
            "segment": ["pros"],
            "user": MEMBERS,
            "predicate": [login],
            "attributes": [{"plan": "team"}],
            "created_at": [None, "2026-01-01T00:00:00Z"],
            "starts_at": [None],
            "expires_at": [None, format_ms(int((time.time() + 30 * 86_400) * 1000))],
            "ramp": [None, [{"percent": 5}, {"percent": 100, "after_s": 3600}]],
        }
        found = {name: dict(named) for name in FOR_BROADCASTS}
        for name in ("get_broadcast", "ramp_broadcast", "halt_broadcast", "list_readers"):
            found[name] |= {
                "notification": [self._broadcast() for _ in range(SOME)],
                "percent": [60, 80, 100],
            }
        found["activate_segment"] |= {"segment": ["vip"], "version": [1, 2]}
        found["upload_segment_users"] |= {"segment": ["guests"], "users": MEMBERS, "version": [None]}
        return dict(found)

    def _webhooks(self) -> dict[str, Values]:
        """Create endpoints. No worker runs, and their host name does not exist."""
        bearer, url = self._seeded.bearers.webhooks, "https://app.example/tidings"

        def endpoint() -> str:
            return str(self._ok("POST", "/v1/webhooks", {"url": url}, bearer)["id"])

        self._ok("PUT", "/v1/before-send-hook", {"url": url}, bearer)
        shared = endpoint()
        found: dict[str, Values] = {name: {"endpoint": [shared], "url": [url]} for name in FOR_WEBHOOKS}
        found["update_webhook"] = {"endpoint": [endpoint()], "url": [None, url]}
        found["delete_webhook"] = {"endpoint": [endpoint() for _ in range(SOME)]}
        found["replay_webhook"] = {"endpoint": [shared], "since": [format_ms(int(time.time() * 1000))]}
        return found

    def _broadcast(self) -> str:
        body = {"message": {"title": "hi"}, "ramp": [{"percent": 50}], "track_reads": True}
        return str(self._ok("POST", "/v1/inboxes/default/broadcasts", body, SENDER)["id"])

    def _send(self) -> dict[str, Any]:
        sent: dict[str, Any] = self._ok(
            "POST",
            "/v1/inboxes/default/notifications",
            {"user_ids": ["anna"], "message": {"title": "hi"}},
            SENDER,
        )
        return sent

    def _named(self, name: str) -> str:
        """Send notifications with a `host_system_id`, by which they can be found."""
        body = {
            "user_ids": ["anna"],
            "message": {"title": "hi"},
            "host_system_id": name,
            "is_unique": True,
        }
        self._ok("POST", "/v1/inboxes/default/notifications", body, SENDER)
        return name

    def _people(self) -> dict[str, Values]:
        for user in MEMBERS[-3:]:
            self._ok("PUT", f"/v1/blocks/{user}")
        blocks = self._ok("GET", "/v1/blocks?limit=1")["cursor"]
        cursor = eventually(
            lambda: self._ok("GET", "/v1/chats?limit=1").get("cursor"), "list with more than one chat"
        )
        existing = {"user": [*MEMBERS, "anna"]}
        names = ("get_user", "update_user", "list_user_sessions", "block_user", "unblock_user")
        found: dict[str, Values] = dict.fromkeys(names, existing)
        return found | {
            "end_user_sessions": {"user": MEMBERS[2:]},
            "list_users": {"ids": existing["user"]},
            "list_chats": {"cursor": [cursor]},
            "search_messages": {"cursor": [None]},
            "list_blocks": {"cursor": [blocks]},
        }

    def _group(self, messages: int = 0) -> str:
        self._made += 1
        body = {
            "type": "group",
            "name": f"group {self._made}",
            "members": MEMBERS,
            "client_message_id": f"town-{self._made}",
        }
        chat = str(self._ok("POST", "/v1/chats", body)["id"])
        for _ in range(messages):
            self._say(chat)
        return chat

    def _member_job(self) -> Values:
        """Start a job that adds members. It does not run: no worker for jobs is started."""
        chat = self._group()
        users = [f"added-{number}" for number in range(100)]
        return {
            "chat": [chat],
            "job": [self._ok("POST", f"/v1/chats/{chat}/members", {"users": users})["job"]],
        }

    def _say(self, chat: str) -> str:
        self._made += 1
        body = {"text": f"said {self._made}", "client_message_id": f"town-{self._made}"}
        return str(self._ok("POST", f"/v1/chats/{chat}/messages", body)["id"])

    def _code(self, user: str) -> dict[str, Any]:
        phone = PHONES[user]
        printed_codes: Callable[[], list[str]] = lambda: re.findall(  # noqa: E731 - used before and after
            rf"SMS to \{phone}: (\d{{6}})", self._api.stderr
        )
        before, login = len(printed_codes()), {"tenant": self._tenant, "phone": phone}
        asked = self._ok("POST", "/v1/login/phone", login)
        codes = eventually(lambda: found if len(found := printed_codes()) > before else None, "text message")
        return {
            **login,
            "challenge": asked["challenge"],
            "code": codes[-1],
            "device": {"id": f"{user}-phone"},
        }

    def _login(self, user: str) -> dict[str, str]:
        tokens: dict[str, str] = self._ok("POST", "/v1/login/phone/redeem", self._code(user))["tokens"]
        return tokens

    def _ok(self, method: str, path: str, body: object = None, bearer: str = "") -> Any:
        sender = self._seeded.bearers.notifications
        chosen = sender if bearer == SENDER else bearer or self._seeded.bearers.anna
        answer = self._api.ask(method, path, body, bearer=chosen)
        assert 200 <= answer.status < 300, f"{method} {path}: {answer.body}"
        return answer.body
