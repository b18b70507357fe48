"""Plant secrets of one user wherever a user's data goes, over REST on running processes."""

import asyncio
import base64
import hashlib
import io
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from fixtures.installation_processes import InstallationProcesses
from fixtures.redis_cluster import ask
from fixtures.use_cases import UseCaseEnv
from msgspec.structs import replace
from yarl import URL

from load.erasure.secret_words import PlantedSecret
from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Device, Scope, Session, SessionId
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.accounts.store.sessions import DynamoSessionStore
from tidings.kernel.clock import SystemClock
from tidings.kernel.concurrency import gather_limited
from tidings.kernel.ids import DeviceId, UserId, new_ulid
from tidings.push.provider_config import HttpConfig
from tidings.push.providers_cache import PushProviderService
from tidings.push.store.providers import DynamoProviderStore
from tidings.schema.topics.model import MESSAGES
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

VICTIM, BEN, CLEO = (UserId(f"{name}-{new_ulid().lower()}") for name in ("victim", "ben", "cleo"))
KEPT: Final = "of another user"
"""The kind of secrets of a user who is not erased. They must be found before and after."""
SHARES: Final = {
    "message": 0.24,
    "edited message": 0.06,
    "text before an edit": 0.06,
    "redacted message": 0.08,
    "ephemeral message": 0.06,
    "data of a message": 0.05,
    "client key": 0.04,
    "last message": 0.01,
    "file": 0.07,
    "file name": 0.07,
    "unused file": 0.03,
    "notification": 0.05,
    "shared notification": 0.02,
    "attribute": 0.04,
    "push token": 0.03,
    "device name": 0.02,
    "text of a report": 0.03,
    "reason of a ban": 0.02,
    "name of a group": 0.02,
}
"""Kinds of secrets, and their share of all. `PROFILE` has one each."""
PROFILE: Final = ("display name", "e-mail address", "address of the avatar", "phone number")
INDEXED: Final = {"message", "edited message", "redacted message", "text before an edit", KEPT}
_UNREACHABLE: Final = "http://127.0.0.1:9/"
_TRIES, _OK, _FAILED = 100, 300, 500
_AT_A_TIME: Final = 12
_LONG_S: Final = 86_400


def make_secrets(count: int) -> dict[str, list[PlantedSecret]]:
    """Return about `count` secrets of the erased user by kind, and some of another user."""
    made = {
        kind: [
            PlantedSecret.random(kind, is_indexed=kind in INDEXED)
            for _ in range(max(1, round((count - len(PROFILE)) * share)))
        ]
        for kind, share in SHARES.items()
    }
    made |= {kind: [PlantedSecret.random(kind)] for kind in PROFILE}
    digits = f"{time.time_ns() % 10**9:09d}"
    made["phone number"] = [PlantedSecret("phone number", f"+4915{digits}".encode())]
    made["message"] += [
        PlantedSecret.random("message", is_indexed=True) for _ in range(count - sum(map(len, made.values())))
    ]
    made[KEPT] = [PlantedSecret.random(KEPT, is_indexed=True) for _ in range(max(4, count // 20))]
    return made


@dataclass
class RestClients:
    """Requests of users and of the tenant's server to the API process."""

    session: aiohttp.ClientSession
    origin: str
    bearer: str

    async def ask(self, method: str, path: str, body: object = None, user: str = "") -> Any:
        key = body.get("client_message_id") if isinstance(body, dict) else None
        headers = {"Authorization": f"Bearer {self.bearer}", "Idempotency-Key": key or new_ulid()}
        if user:
            headers["Tidings-User"] = user
        for _ in range(_TRIES):
            async with self.session.request(method, self.origin + path, json=body, headers=headers) as answer:
                found: Any = await answer.json() if answer.status != 204 else None
                if answer.status < _OK:
                    return found
                if answer.status < _FAILED and answer.status != 429:
                    raise AssertionError(f"{method} {path}: {answer.status} {found}")
            await asyncio.sleep(0.3)
        raise AssertionError(f"no answer to {method} {path}")


async def set_up_tenant(use_cases: UseCaseEnv) -> str:
    """Turn search on, add a push provider that does not answer, and return an API key with all scopes."""
    clock, rows = SystemClock(), use_cases.authentic
    tenants = TenantService(DynamoTenantStore(use_cases.client, rows), clock)
    await tenants.change(use_cases.tenant, lambda settings: replace(settings, has_search=True))
    secret = "whsec_" + base64.b64encode(bytes(32)).decode()
    await PushProviderService(DynamoProviderStore(use_cases.client, use_cases.ring), clock).set(
        use_cases.tenant, HttpConfig(url=_UNREACHABLE, secrets=(secret,))
    )
    keys = ApiKeyService(DynamoApiKeyStore(use_cases.client, rows), clock)
    return (await keys.issue(use_cases.tenant, "tests", list(Scope))).text.reveal()


@dataclass
class Planter:
    """Plants all secrets. `chats`: those that the user is in, their own group first."""

    rest: RestClients
    use_cases: UseCaseEnv
    secrets: dict[str, list[PlantedSecret]]
    chats: list[str] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)

    async def plant(self) -> None:
        await self._users()
        await self._chats()
        await self._messages()
        await self._files()
        await self._profile()
        await self._notifications()
        await self._moderation()
        # The preview of a chat shows its last message.
        await self._each("last message", lambda n, each: self._send(n, each.word))

    async def _each(self, kind: str, act: Callable[[int, PlantedSecret], Awaitable[object]]) -> None:
        await gather_limited((act(n, each) for n, each in enumerate(self.secrets[kind])), _AT_A_TIME)

    def _one(self, kind: str) -> str:
        return self.secrets[kind][0].word

    async def _users(self) -> None:
        ask = self.rest.ask
        await ask(
            "POST",
            "/v1/users",
            {
                "id": VICTIM,
                "phone": self._one("phone number"),
                "display_name": self._one("display name"),
                "email": f"{self._one('e-mail address')}@example.com",
                "avatar_uri": f"https://pictures.example/{self._one('address of the avatar')}",
            },
        )
        for user in (BEN, CLEO):
            await ask("POST", "/v1/users", {"id": user})
        await ask("POST", "/v1/webhooks", {"url": _UNREACHABLE})
        await ask("PUT", "/v1/inboxes/default", {"title": "News"})
        for n, each in enumerate(self.secrets["push token"]):
            body = {"http": {"token": each.word}}
            await ask("PUT", f"/v1/devices/phone{n}/push", body, VICTIM)

    async def _chats(self) -> None:
        ask = self.rest.ask

        async def group(owner: str, name: str, *members: str) -> str:
            body = {"type": "group", "name": name, "members": list(members)}
            return str((await ask("POST", "/v1/chats", body, owner))["id"])

        first, *names = self.secrets["name of a group"]
        self.chats.append(await group(VICTIM, first.word, BEN, CLEO))
        self.chats.append(await group(BEN, "us", VICTIM, CLEO))
        self.chats.append(
            str((await ask("POST", "/v1/chats", {"type": "direct", "user": BEN}, VICTIM))["id"])
        )
        for each in names:
            await ask("PATCH", f"/v1/chats/{self.chats[0]}", {"name": each.word}, VICTIM)

    async def _send(self, n: int, text: str, user: str = VICTIM, **more: object) -> Any:
        body = {"text": text, "client_message_id": new_ulid(), **more}
        return await self.rest.ask("POST", f"/v1/chats/{self.chats[n % 3]}/messages", body, user)

    async def _messages(self) -> None:
        ask = self.rest.ask

        async def send(n: int, secret: PlantedSecret) -> None:
            await self._send(n, secret.message)

        async def edit(n: int, secret: PlantedSecret) -> None:
            before = self.secrets["text before an edit"]
            sent = await self._send(n, before[n % len(before)].message)
            await ask("PATCH", f"/v1/messages/{sent['id']}", {"text": secret.message}, VICTIM)
            await ask("PUT", f"/v1/messages/{sent['id']}/reactions/👍", None, VICTIM)

        async def redact(n: int, secret: PlantedSecret) -> None:
            sent = await self._send(n, secret.message)
            await ask("DELETE", f"/v1/messages/{sent['id']}", None, VICTIM)

        await self._each("message", send)
        await self._each("edited message", edit)
        await self._each("redacted message", redact)
        await self._each("ephemeral message", lambda n, each: self._send(n, each.word, ttl_seconds=_LONG_S))
        await self._each("data of a message", lambda n, each: self._send(n, "", data={"note": each.word}))
        await self._each("client key", lambda n, each: self._send(n, "hi", client_message_id=each.word))
        await self._each(KEPT, lambda n, each: self._send(n, each.message, BEN))

    async def _files(self) -> None:
        async def attach(n: int, secret: PlantedSecret) -> None:
            upload = await self._upload(n, "a.txt", secret.text * 20)
            await self._send(n, "look", attachments=[upload])

        async def named(n: int, secret: PlantedSecret) -> None:
            upload = await self._upload(n, f"{secret.word}.txt", b"text")
            await self._send(n, "look", attachments=[upload])

        await self._each("file", attach)
        await self._each("file name", named)
        await self._each("unused file", lambda n, each: self._upload(n, "b.txt", each.text * 20))
        kept = self.secrets[KEPT][0]
        upload = await self._upload(0, "kept.txt", kept.text * 20, BEN)
        await self._send(0, "look", BEN, attachments=[upload])

    async def _upload(self, n: int, name: str, data: bytes, user: str = VICTIM) -> str:
        request = {
            "chat": self.chats[n % 3],
            "name": name,
            "size": len(data),
            "type": "text/plain",
            "sha256": base64.b64encode(hashlib.sha256(data).digest()).decode(),
        }
        started = await self.rest.ask("POST", "/v1/uploads", request, user)
        put = started["put"]
        async with self.rest.session.put(
            URL(put["url"], encoded=True), data=io.BytesIO(data), headers=put["headers"]
        ) as answer:
            assert answer.status < _OK, answer
        await self.rest.ask("POST", f"/v1/uploads/{started['id']}/complete", {}, user)
        return str(started["id"])

    async def _profile(self) -> None:
        names = self.secrets["attribute"]
        attributes = {f"a{n}": each.word for n, each in enumerate(names)}
        await self.rest.ask("PUT", f"/v1/users/{VICTIM}/profile", {"attributes": attributes})
        sessions, now_ms = DynamoSessionStore(self.use_cases.client, self.use_cases.authentic), time.time_ns()
        now_ms //= 1_000_000
        for n, each in enumerate(self.secrets["device name"]):
            session = Session(
                tenant=self.use_cases.tenant,
                session=SessionId(new_ulid()),
                user=VICTIM,
                device=Device(id=DeviceId(f"laptop{n}"), name=each.word),
                token_hash=bytes(32),
                epoch=0,
                created_at_ms=now_ms,
                refreshed_at_ms=now_ms,
                expires_at_ms=now_ms + _LONG_S * 1000,
            )
            await sessions.create(session)

    async def _notifications(self) -> None:
        async def notify(users: list[str], secret: PlantedSecret) -> None:
            body = {"user_ids": users, "message": {"title": secret.word}}
            await self.rest.ask("POST", "/v1/inboxes/default/notifications", body)

        await self._each("notification", lambda _, each: notify([VICTIM], each))
        await self._each("shared notification", lambda _, each: notify([VICTIM, BEN], each))
        await notify([BEN], self.secrets[KEPT][1])

    async def _moderation(self) -> None:
        ask = self.rest.ask

        async def report(n: int, secret: PlantedSecret) -> None:
            sent = await self._send(n, "spam", BEN)
            body = {"reason": "spam", "text": secret.word}
            await ask("POST", f"/v1/messages/{sent['id']}/report", body, VICTIM)

        await self._each("text of a report", report)
        for n, each in enumerate(self.secrets["reason of a ban"]):
            path = f"/v1/chats/{self.chats[0]}/bans/stranger{n}"
            await ask("PUT", path, {"reason": each.word}, VICTIM)

    def leave_marks(self, installation: InstallationProcesses) -> None:
        """Store a secret of the other user in Valkey, and have a message of the user refused as a dead letter."""
        port, word = int(installation.redis_url.rpartition(":")[2]), self.secrets[KEPT][0].word
        ask(port, "SET", f"{installation.space.key_prefix}-{word}", word, "EX", _LONG_S)
        topic = installation.space.topic_prefix + MESSAGES.name
        with closing(_consumer(installation)) as consumer:
            partitions = consumer.list_topics(topic).topics[topic].partitions
            consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in partitions])
            producer = Producer({"bootstrap.servers": installation.kafka})
            for record in consumer.consume(500, timeout=10):
                if (value := record.value()) and VICTIM.encode() in value:
                    producer.produce(topic, value[:-2], key=record.key())
            producer.flush(30)

    async def export(self, *users: str) -> None:
        """Request exports and wait until their archives are stored."""
        for user in users:
            await self.rest.ask("POST", f"/v1/users/{user}/export")
        async with asyncio.timeout(300):
            for user in users:
                while (await self.rest.ask("GET", f"/v1/users/{user}/export"))["state"] != "ready":  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.5)


def _consumer(installation: InstallationProcesses) -> Consumer:
    return Consumer({"bootstrap.servers": installation.kafka, "group.id": f"{installation.space.mark}-marks"})
