"""`tidings run search`: every message is found although the process is killed, and tenants turn search on and off."""

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start, make_tenant
from fixtures.engines import Namespace
from fixtures.fork_server import run_tidings, tidings_environment
from fixtures.installation_processes import InstallationProcesses
from fixtures.search import request as candidates_request
from fixtures.tables import Tables
from fixtures.topics import make_topics
from fixtures.use_cases import ANNA, BEN, asked
from msgspec.structs import replace

from tidings.accounts.model import Scope
from tidings.kernel.clock import SystemClock
from tidings.messages.store import KafkaCommitPublisher
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.schema.topics.model import (
    ERASURES,
    INDEXING,
    NOTIFICATIONS,
    NOTIFICATIONS_DEAD,
    OFFLINE_CHECKS,
    OFFLINE_CHECKS_LATE,
)
from tidings.search.model import Candidate
from tidings.search.store.opensearch import OpenSearchOptions, open_opensearch
from tidings.search.store.tantivy import TantivySearchReader
from tidings.tenants.settings import TenantService
from tidings.tenants.store import DynamoTenantStore

SEARCH = {"TIDINGS_SEARCH_ENGINE": "tantivy", "TIDINGS_ACCOUNTS_TENANT_REFRESH_S": "0.1"}


@pytest.fixture
def bearer(tables_local: Tables, space: Namespace, tmp_path: Path) -> str:
    return make_tenant(tables_local, space, tmp_path, tuple(Scope))


@pytest.mark.deadline(300.0)
async def test_every_message_is_indexed_although_the_process_is_killed(
    installation: InstallationProcesses,
) -> None:
    config = KafkaConfig(bootstrap_servers=installation.kafka, topic_prefix=installation.space.topic_prefix)
    publisher = KafkaPublisher(config)
    reader = TantivySearchReader(installation.directory / ".tidings" / "search")
    async with installation.use_cases() as use_cases:
        use_cases.on_commit = KafkaCommitPublisher(publisher).publish
        use_cases.open_process()
        tenants = TenantService(DynamoTenantStore(use_cases.client, use_cases.authentic), use_cases.clock)
        await tenants.change(use_cases.tenant, lambda settings: replace(settings, has_search=True))
        chat = await use_cases.group(BEN)
        redacted = await use_cases.send(chat, ANNA, "word redacted")
        expected: set[int] = set()
        for step in ("search.applied", "search.applied"):
            worker = installation.run("search", SEARCH_ENGINE="tantivy")
            worker.hold(step)
            expected |= {(await use_cases.send(chat, ANNA, "word")).sequence for _ in range(3)}
            await worker.reached(step)
            worker.popen.kill()
            assert worker.exit_code() == -signal.SIGKILL
        await use_cases.change.redact(asked(chat, ANNA, redacted.sequence))
        expected.add((await use_cases.send(chat, ANNA, "word")).sequence)
        [last] = installation.ready("search", SEARCH_ENGINE="tantivy")

        async def indexed() -> set[int]:
            found = await reader.find(candidates_request(use_cases.tenant, "word", chats=(chat.chat,)))
            return {each.ref.sequence for each in found}

        async with asyncio.timeout(120):
            while await indexed() != expected:  # noqa: ASYNC110 - it is another process
                await asyncio.sleep(0.1)
        assert last.metric('search_documents_total{what="removed"}') >= 1
    await publisher.close()


def ok(api: Api, method: str, path: str, body: object = None, **more: str) -> Any:
    answer = api.ask(method, path, body, **more)
    assert 200 <= answer.status < 300, answer.body
    return answer.body


def say(api: Api, chat: str, text: str) -> str:
    body = {"text": text, "client_message_id": os.urandom(8).hex()}
    return str(ok(api, "POST", f"/v1/chats/{chat}/messages", body)["id"])


@pytest.fixture(params=["tantivy", "opensearch"])
def settings(request: pytest.FixtureRequest, space: Namespace) -> dict[str, str]:
    """The settings of search with each engine."""
    if request.param == "tantivy":
        return SEARCH
    return SEARCH | {
        "TIDINGS_SEARCH_ENGINE": "opensearch",
        "TIDINGS_SEARCH_URL": request.getfixturevalue("opensearch"),
        "TIDINGS_SEARCH_INDEX_PREFIX": f"{space.tenant}-",
    }


@pytest.mark.deadline(300.0)
def test_a_tenant_turns_search_on_and_off(
    start: Start, environment: dict[str, str], space: Namespace, tmp_path: Path, settings: dict[str, str]
) -> None:
    kafka = environment["TIDINGS_KAFKA_BOOTSTRAP_SERVERS"]
    topics = (NOTIFICATIONS, NOTIFICATIONS_DEAD, OFFLINE_CHECKS, OFFLINE_CHECKS_LATE, INDEXING, ERASURES)
    make_topics(kafka, space, topics)
    api = start(**settings)
    start(kind="delivery")
    start(kind="notifications")
    start(kind="search", **settings)

    def tidings(*words: str) -> str:
        return run_tidings(*words, cwd=tmp_path, environment=tidings_environment(environment | settings))

    def found(user: str) -> list[str] | None:
        answer = api.ask("GET", "/v1/search?q=word", user=user)
        return [each["message"]["text"] for each in answer.body["results"]] if answer.status == 200 else None

    for user in ("anna", "ben"):
        ok(api, "POST", "/v1/users", {"id": user}, bearer=api.bearer)
    chat = str(ok(api, "POST", "/v1/chats", {"type": "direct", "user": "ben"})["id"])
    say(api, chat, "word before")
    assert api.ask("GET", "/v1/search?q=word").body["code"] == "search_off"
    job = tidings("search", "enable", space.tenant).strip()
    say(api, chat, "word after")
    tidings("job", "watch", space.tenant, job)
    eventually(
        lambda: found("anna") == ["word after", "word before"] or None, "both messages", 60, every_s=1.0
    )
    assert found("ben") == ["word after", "word before"]
    assert found("cleo") == []
    assert "search of" in tidings("search", "show", space.tenant)
    assert "search enable" in tidings("audit", "list", "--tenant", space.tenant)
    tidings("search", "disable", space.tenant)
    wanted = candidates_request(space.tenant, "word", chats=(chat,))

    async def candidates() -> Sequence[Candidate]:
        if settings is SEARCH:
            return await TantivySearchReader(tmp_path / ".tidings" / "search").find(wanted)
        options = OpenSearchOptions(
            url=settings["TIDINGS_SEARCH_URL"], prefix=settings["TIDINGS_SEARCH_INDEX_PREFIX"]
        )
        async with open_opensearch(options, SystemClock()) as index:
            return await index.find(wanted)

    eventually(lambda: asyncio.run(candidates()) == [] or None, "deleted documents", 60, every_s=0.5)
