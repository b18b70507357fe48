"""Unavailable Kafka, a lost log, lost checkpoints and expired content: entries are late, never lost."""

import asyncio
import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from contract.kafka.harness import read_log
from contract.telemetry.running import eventually
from fixtures.engines import NOT_RUN, Dynamo
from fixtures.relay_processes import RelayProcesses, relay_processes
from fixtures.use_cases import asked

from tidings.engines import dynoxide
from tidings.engines.jars import default_cache
from tidings.engines.local_cluster import LocalCluster
from tidings.engines.model import Engine, StartRequest
from tidings.kernel.ids import UserId
from tidings.schema.topics.model import EXPIRED

DEADLINE_S = 120.0


@pytest.fixture
def fleet(own_fleet: Callable[[StartRequest], LocalCluster]) -> LocalCluster:
    return own_fleet(StartRequest(engines=frozenset({Engine.KAFKA, Engine.VALKEY})))


@pytest.fixture
def frail(dynamo_dynoxide: Dynamo, fleet: LocalCluster, tmp_path: Path) -> Iterator[RelayProcesses]:
    """An installation with its own Kafka and Valkey, which the test can kill and wipe."""
    at = {name: fleet.find(name).node.address for name in ("kafka-1", "valkey")}
    with relay_processes(dynamo_dynoxide, at["kafka-1"], f"redis://{at['valkey']}", tmp_path) as made:
        yield made


def test_entries_committed_during_a_kafka_outage_are_published_afterwards(
    frail: RelayProcesses, fleet: LocalCluster
) -> None:
    relay = frail.start()
    relay.wait_for("process started")
    fleet.kill("kafka-1")
    chat = asyncio.run(frail.commit("one", "two"))
    relay.await_metric("relay_unhandled_seconds", 3)
    fleet.restart("kafka-1")
    frail.await_published(chat, {1, 2, 3})
    assert relay.popen.poll() is None


@pytest.mark.long
def test_entries_of_a_lost_kafka_log_are_republished(frail: RelayProcesses, fleet: LocalCluster) -> None:
    chat = asyncio.run(frail.commit("one"))
    frail.start()
    frail.await_published(chat, {1, 2})
    fleet.wipe(Engine.KAFKA)
    frail.make_topics()
    frail.await_published(chat, {1, 2})


@pytest.mark.long
def test_lost_checkpoints_republish_only_entries_after_the_shard_checkpoint(
    frail: RelayProcesses, fleet: LocalCluster
) -> None:
    old = asyncio.run(frail.commit("old", other="ben"))
    asyncio.run(frail.mark(old, 2))
    relay = frail.start()
    relay.await_metric('relay_commits_total{outcome="processed"}', 2)
    late = asyncio.run(frail.commit("late", other="cleo"))
    fleet.wipe(Engine.VALKEY)
    frail.await_published(late, {1, 2})
    assert frail.published(old) == []


@pytest.fixture
def sweeping(tmp_path: Path, kafka: str, valkey: str) -> Iterator[tuple[RelayProcesses, Callable[[], None]]]:
    """dynoxide with its tool server, which deletes expired items on request. Others do not need it: it is built here."""
    if not dynoxide.can_be_installed():
        pytest.skip(NOT_RUN)
    root = default_cache().dynoxide / f"{dynoxide.CRATE_VERSION}-tools"
    binary = root / "bin" / "dynoxide"
    if not binary.exists():
        dynoxide.build(root, "native-sqlite,http-server,mcp-server,cli", lambda *_: None)
    port, tools = free_port(), free_port()
    database = ["--db-path", str(tmp_path / "dynoxide.db")]
    beside = ["--mcp", "--mcp-host", "127.0.0.1", "--mcp-port", str(tools), "--mcp-no-auth"]
    command = [str(binary), "serve", "--host", "127.0.0.1", "--port", str(port), *database, *beside]
    engine = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: True if answers(port) and answers(tools) else None, "dynoxide")
        with relay_processes(Dynamo("dynoxide", f"http://127.0.0.1:{port}"), kafka, valkey, tmp_path) as made:
            yield made, lambda: sweep(tools)
    finally:
        engine.kill()
        engine.wait()


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port: int = held.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def sweep(port: int) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "sweep_ttl", "arguments": {}},
    }
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}/mcp",
        json.dumps(call).encode(),
        {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"},
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        assert answer.status == 200


@pytest.mark.long
def test_expired_ephemeral_content_is_published_once(
    sweeping: tuple[RelayProcesses, Callable[[], None]],
) -> None:
    env, delete_expired = sweeping

    async def send() -> str:
        async with env.use_cases() as use_cases:
            chat = await use_cases.manage.direct(use_cases.tenant, UserId("anna"), UserId("ben"))
            await use_cases.send(chat, UserId("anna"), "soon gone", ttl_s=1)
            kept = await use_cases.send(chat, UserId("anna"), "redacted", ttl_s=3600)
            await use_cases.change.redact(asked(chat, UserId("anna"), kept.sequence))
            return chat.chat

    chat = asyncio.run(send())
    relay = env.start()
    ends_at = time.monotonic() + DEADLINE_S
    while relay.metric("relay_expired_total") < 1 and time.monotonic() < ends_at:
        delete_expired()
    events = [
        json.loads(value) for values in read_log(env.connection, EXPIRED.name).values() for value in values
    ]
    assert [(each["event"], each["chat_id"], each["sequence"]) for each in events] == [
        ("message.expired", chat, 2)
    ]
