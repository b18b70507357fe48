"""`tidings run webhooks`: events arrive although workers are killed at every step, and commands explain them."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import failpoints
import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start, make_tenant
from fixtures.engines import Namespace
from fixtures.fork_server import TIDINGS
from fixtures.tables import Tables
from fixtures.webhook_receiver import WebhookReceiver

from tidings.accounts.model import Scope

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
    return make_tenant(tables_local, space, tmp_path, (Scope.ACT_AS_USER, Scope.WEBHOOKS))


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with WebhookReceiver() as running:
        yield running


def ok(api: Api, method: str, path: str, body: object = None, **more: str) -> Any:
    answer = api.ask(method, path, body, **more)
    assert 200 <= answer.status < 300, answer.body
    return answer.body


def add_endpoint(api: Api, receiver: WebhookReceiver) -> str:
    made = ok(api, "POST", "/v1/webhooks", {"url": receiver.url})
    receiver.secret = made["secret"]
    return str(made["id"])


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


def test_every_event_arrives_in_order_although_workers_are_killed_at_every_step(
    start: Start, receiver: WebhookReceiver, tmp_path: Path
) -> None:
    api = start(**LOCAL)
    add_endpoint(api, receiver)
    chats = [direct(api, user) for user in ("ben", "cleo")]
    failing = {"chat": chats[0]}
    receiver.answer = lambda event: 503 if event["data"].get("chat") == failing["chat"] else 204
    last = dict.fromkeys(chats, 0)
    for number, step in enumerate(STEPS):
        pauses = tmp_path / f"pauses-{number}"
        pauses.mkdir()
        (pauses / f"{step}.hold").touch()
        worker = start(
            kind="webhooks",
            **LOCAL,
            **failpoints.LOADED,
            TIDINGS_FAILPOINTS_PAUSE_AT=step,
            TIDINGS_FAILPOINTS_PAUSE_DIR=str(pauses),
        )
        if step == "webhooks.resent":
            failing["chat"] = ""
        for chat in chats:
            last[chat] = send(api, chat, 3)
        reached = pauses / f"{step}.reached"
        eventually(partial(_exists, reached), f"reached {step}", deadline_s=90)
        worker.popen.send_signal(signal.SIGKILL)
        assert worker.exit_code() == -signal.SIGKILL
    start(kind="webhooks", **LOCAL)
    for chat in chats:
        expected = list(range(1, last[chat] + 1))
        eventually(partial(_has_all, receiver, chat, expected), f"{len(expected)} events", 120)
    assert receiver.forged == 0
    assert all(len(used) == 1 for used in receiver.ids().values())


def _exists(path: Path) -> bool | None:
    return path.exists() or None


def _has_all(receiver: WebhookReceiver, chat: str, expected: list[int]) -> bool | None:
    return receiver.sequences(chat) == expected or None


def test_the_command_line_manages_an_endpoint(
    start: Start, environment: dict[str, str], receiver: WebhookReceiver, space: Namespace, tmp_path: Path
) -> None:
    api = start(**LOCAL)
    ours = {name: value for name, value in os.environ.items() if not name.startswith("TIDINGS_")}

    def tidings(*words: str) -> str:
        done = subprocess.run(
            [*TIDINGS, "webhook", *words], cwd=tmp_path, env=ours | environment | LOCAL, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    receiver.secret = tidings("create", space.tenant, receiver.url, "--event", "message.created").strip()
    endpoint = tidings("list", space.tenant).split("\n")[1].split()[0]
    assert "was delivered: 204" in tidings("test", space.tenant, endpoint)
    start(kind="webhooks", **LOCAL)
    chat = direct(api, "ben")
    receiver.answer = lambda _: 500
    send(api, chat, 1)
    eventually(lambda: receiver.refused or None, "an attempt", 60)
    eventually(
        lambda: "the endpoint answered 500" in tidings("queue", space.tenant, endpoint) or None, "queued"
    )
    _repair_and_replay(tidings, receiver, space.tenant, endpoint, chat)
    assert "disabled" in tidings("set", space.tenant, endpoint, "--status", "disabled")
    tidings("delete", space.tenant, endpoint)
    assert endpoint not in tidings("list", space.tenant)


def _repair_and_replay(
    tidings: Callable[..., str], receiver: WebhookReceiver, tenant: str, endpoint: str, chat: str
) -> None:
    receiver.answer = lambda _: 204
    tidings("retry", tenant, endpoint)
    eventually(lambda: receiver.sequences(chat) == [2] or None, "delivered", 30)
    log = eventually(
        lambda: (
            found if (found := tidings("deliveries", tenant, endpoint)).count("message.created") > 1 else None
        ),
        "the log",
    )
    assert "retrying" in log
    assert "delivered" in log
    count = len(receiver.accepted)
    since = (datetime.now(UTC) - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    tidings("replay", tenant, endpoint, "--since", since)
    again = eventually(lambda: receiver.accepted[count:] or None, "replayed", 60)
    assert again[0]["id"] == receiver.accepted[count - 1]["id"]
