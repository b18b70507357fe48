"""`tidings run webhooks`: events arrive although workers are killed at every step, and commands explain them."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, override

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start, make_tenant
from fixtures.engines import Namespace
from fixtures.fork_server import run_tidings, tidings_environment
from fixtures.gateway_process import GatewayProcess, connected
from fixtures.installation_processes import InstallationProcesses
from fixtures.loops import until
from fixtures.tables import Tables
from fixtures.topics import make_topics
from fixtures.use_cases import ANNA, BEN, UseCaseEnv
from fixtures.webhook_receiver import WebhookReceiver

from tidings.accounts.model import Scope
from tidings.app.wiring.webhook_events import make_endpoint_store
from tidings.app.wiring.webhooks import make_before_send_service, make_webhook_service
from tidings.kernel.network_policy import NetworkPolicy
from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.schema.topics.model import (
    ERASURES,
    NOTIFICATIONS,
    NOTIFICATIONS_DEAD,
    OFFLINE_CHECKS,
    OFFLINE_CHECKS_LATE,
)
from tidings.webhooks.model import CHOSEN_TYPES, DEFAULT_TYPES, EndpointSettings, EventType
from tidings.webhooks.store import DynamoWebhookQueue
from tidings.webhooks.store.http import TransportOptions, open_webhook_transport

LOCAL = {"TIDINGS_WEBHOOKS_NETWORK": "local"}
STEPS = (
    "webhooks.queued",
    "webhooks.sent",
    "webhooks.dispatched",
    "webhooks.handled",
    "webhooks.claimed",
    "webhooks.resent",
)


@pytest.fixture
def bearer(tables_local: Tables, space: Namespace, tmp_path: Path) -> str:
    return make_tenant(tables_local, space, tmp_path, tuple(Scope))


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as running:
        yield running


def ok(api: Api, method: str, path: str, body: object = None, **more: str) -> Any:
    answer = api.ask(method, path, body, **more)
    assert 200 <= answer.status < 300, answer.body
    return answer.body


def send(api: Api, chat: str, count: int) -> int:
    """Send messages and return the sequence of the last."""
    last = 0
    for _ in range(count):
        last = ok(
            api,
            "POST",
            f"/v1/chats/{chat}/messages",
            {"text": "hi", "client_message_id": os.urandom(8).hex()},
        )["sequence"]
    return last


def direct(api: Api, user: str) -> str:
    return str(ok(api, "POST", "/v1/chats", {"type": "direct", "user": user})["id"])


@pytest.mark.deadline(300.0)
async def test_every_event_arrives_in_order_although_workers_are_killed_at_every_step(
    installation: InstallationProcesses, receiver: WebhookReceiver
) -> None:
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher = KafkaPublisher(config)
    failing = True
    async with installation.use_cases() as use_cases:
        use_cases.on_commit = KafkaCommitPublisher(publisher).publish
        use_cases.open_process()
        receiver.secret = await add_endpoint(use_cases, receiver.url)
        broken, fine = await use_cases.group(BEN), await use_cases.group(BEN)
        receiver.answer = lambda event: 503 if failing and event["data"]["chat"] == broken.chat else 204
        last = {broken.chat: 1, fine.chat: 1}
        for step in STEPS:
            worker = installation.run("webhooks", WEBHOOKS_TIMEOUT_S="1")
            worker.hold(step)
            failing = step != "webhooks.resent"
            for chat in (broken, fine):
                last[chat.chat] = [await use_cases.send(chat, ANNA) for _ in range(3)][-1].sequence
            await worker.reached(step)
            worker.popen.kill()
            assert worker.exit_code() == -signal.SIGKILL
        installation.ready("webhooks", WEBHOOKS_TIMEOUT_S="1")
        for chat in (broken, fine):
            expected = list(range(1, last[chat.chat] + 1))
            await until(lambda: receiver.sequences(chat.chat) == expected, within_s=120)  # noqa: B023 - awaited here
    await publisher.close()
    assert receiver.forged == 0
    assert all(len(used) == 1 for used in receiver.ids().values())


async def add_endpoint(use_cases: UseCaseEnv, url: str, events: tuple[EventType, ...] = DEFAULT_TYPES) -> str:
    async with open_webhook_transport(TransportOptions(network=NetworkPolicy.LOCAL)) as transport:
        webhooks = make_webhook_service(use_cases.client, use_cases.ring, use_cases.clock, transport)
        endpoint = await webhooks.create(use_cases.tenant, EndpointSettings(url=url, events=events))
    return endpoint.secrets[0].value.reveal()


def _has_all(receiver: WebhookReceiver, chat: str, expected: list[int]) -> bool | None:
    return receiver.sequences(chat) == expected or None


@pytest.mark.long
def test_commands_create_an_endpoint_and_replay_its_events(
    start: Start, environment: dict[str, str], receiver: WebhookReceiver, space: Namespace, tmp_path: Path
) -> None:
    api = start(**LOCAL)

    def tidings(*words: str) -> str:
        return run_tidings(
            "webhook", *words, cwd=tmp_path, environment=tidings_environment(environment | LOCAL)
        )

    receiver.secret = tidings("create", space.tenant, receiver.url, "--event", "message.created").strip()
    endpoint = tidings("list", space.tenant).split("\n")[1].split()[0]
    start(kind="webhooks", **LOCAL)
    chat = direct(api, "ben")
    send(api, chat, 3)
    eventually(partial(_has_all, receiver, chat, [2, 3, 4]), "three events", 60)
    since = (datetime.now(UTC) - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    tidings("replay", space.tenant, endpoint, "--since", since)
    eventually(lambda: len(receiver.accepted) == 6 or None, "the same events again", 60)
    ids = [event["id"] for event in receiver.accepted]
    assert ids[:3] == ids[3:]
    log = tidings("deliveries", space.tenant, endpoint)
    assert log.count("message.created") >= 3
    tidings("delete", space.tenant, endpoint)
    assert endpoint not in tidings("list", space.tenant)


@pytest.mark.deadline(300.0)
def test_users_reads_notifications_and_jobs_are_reported_by_the_processes_that_change_them(
    start: Start, receiver: WebhookReceiver, kafka: str, space: Namespace
) -> None:
    make_topics(
        kafka, space, (NOTIFICATIONS, NOTIFICATIONS_DEAD, OFFLINE_CHECKS, OFFLINE_CHECKS_LATE, ERASURES)
    )
    api = start(**LOCAL)
    wanted = [each.value for each in CHOSEN_TYPES]
    # Without a user: the first request of a user is an event, and looks up endpoints before there is one.
    server = {"bearer": api.bearer}
    made = ok(api, "POST", "/v1/webhooks", {"url": receiver.url, "events": wanted}, **server)
    receiver.secret = made["secret"]
    ok(api, "POST", "/v1/users", {"id": "anna"}, **server)
    ok(api, "PUT", "/v1/users/anna/suspension", **server)
    ok(api, "DELETE", "/v1/users/anna/suspension", **server)
    start(kind="webhooks", **LOCAL)
    start(kind="notifications")
    chat = direct(api, "ben")
    last = send(api, chat, 1)
    ok(api, "PUT", f"/v1/chats/{chat}/read", {"sequence": last})
    ok(api, "PUT", "/v1/inboxes/news", {"title": "News"}, **server)
    note = {"user_ids": ["anna"], "message": {"title": "hi"}}
    sent = ok(api, "POST", "/v1/inboxes/news/notifications", note, **server)
    expected = {
        "user.created",
        "user.suspended",
        "user.unsuspended",
        "message.created",
        "message.read",
        "notification.delivered",
        "job.ended",
    }

    def types() -> set[str]:
        return {event["type"] for event in receiver.accepted}

    eventually(lambda: expected <= types() or None, "event of each type", 150)
    by_type = {event["type"]: event["data"] for event in receiver.accepted}
    assert by_type["message.read"] == {"chat": chat, "user": "anna", "read": last}
    assert by_type["notification.delivered"]["users"] == ["anna"]
    assert (by_type["job.ended"]["job"], by_type["job.ended"]["state"]) == (sent["job"], "done")
    assert receiver.forged == 0


async def test_a_gateway_queues_reads_and_presence_before_a_worker_runs(env: GatewayProcess) -> None:
    await env.create_tenant()
    chat = (await env.direct("anna", "ben")).chat
    async with env.use_cases() as use_cases:
        wanted = (EventType.MESSAGE_READ, EventType.PRESENCE_CHANGED, EventType.USER_CREATED)
        secret = await add_endpoint(use_cases, "http://127.0.0.1:9/", wanted)
        assert secret
        gateway = env.start(**LOCAL)
        store, queue = (
            make_endpoint_store(use_cases.client, use_cases.ring),
            DynamoWebhookQueue(use_cases.client, use_cases.clock),
        )
        [endpoint] = await store.list(use_cases.tenant)

        async def queued() -> set[tuple[str, str]]:
            found = [json.loads(item.body) for item in await queue.items(endpoint.name, 100)]
            return {(event["type"], event["data"]["user"]) for event in found}

        async with connected(env, gateway.socket_port, "anna") as anna:
            await anna.ask("read", chat=chat, sequence=1)
            assert ("message.read", "anna") in await queued(), "the answer follows the event"
            expected = {("message.read", "anna"), ("presence.changed", "anna"), ("user.created", "anna")}
            async with asyncio.timeout(30):
                while await queued() != expected:  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.1)


async def test_the_before_send_hook_acts_on_messages_over_the_socket(env: GatewayProcess) -> None:
    await env.create_tenant()
    with HookServer(lambda _: 200) as hook:
        gateway = env.start(TIDINGS_ACCOUNTS_TENANT_REFRESH_S="0.1", **LOCAL)
        chat = (await env.direct("anna", "ben")).chat
        async with env.use_cases() as use_cases, connected(env, gateway.socket_port, "anna") as anna:
            hook.secret = await set_hook(use_cases, hook.url)
            await asyncio.sleep(0.2)
            refused = await anna.ask("send", chat=chat, client_message_id="k1", after=1, text="a casino")
            assert (refused["code"], refused["message"]) == ("message_refused", "No advertising.")
            assert await anna.ask("send", chat=chat, client_message_id="k2", after=1, text="oh darn") == {
                "sequence": 2
            }
            page = await anna.ask("history", chat=chat, limit=1)
            assert [entry["text"] for entry in page["entries"]] == ["oh d***"]
        assert gateway.metric('before_send_total{outcome="refused"}') == 1


async def set_hook(use_cases: UseCaseEnv, url: str) -> str:
    options = TransportOptions(network=NetworkPolicy.LOCAL)
    async with open_webhook_transport(options) as transport:
        webhooks = make_webhook_service(use_cases.client, use_cases.ring, use_cases.clock, transport)
        hooks = make_before_send_service(webhooks, use_cases.client, use_cases.ring, use_cases.clock)
        endpoint, _, _ = await hooks.set(use_cases.tenant, url, 1_000, "refuse")
    return endpoint.secrets[0].value.reveal()


class HookServer(WebhookReceiver):
    """A before-send hook that refuses and changes some messages."""

    @override
    def reply(self, event: Any) -> bytes:
        content = event["data"]["content"]
        if "casino" in content["text"]:
            return b'{"action": "refuse", "reason": "No advertising."}'
        changed = content | {"text": content["text"].replace("darn", "d***")}
        return json.dumps({"action": "change", "content": changed}).encode()
