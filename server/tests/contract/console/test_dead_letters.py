"""Operators list, inspect, replay and drop dead letters on a real broker, in the console and on the command line."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from contract.kafka.harness import make_topic, read_log
from fixtures.console_app import ConsoleApp, ConsoleCaller
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.tables import REGION, Tables
from fixtures.use_cases import UseCaseEnv

from tidings.cli import tidings
from tidings.dead_letters.service import DeadLetters
from tidings.dead_letters.store import DynamoDeadLetterMarks, KafkaDeadLetterTopics
from tidings.kernel.errors import Code
from tidings.operators.model import Role
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.publisher import KafkaPublisher, dead_letter_to
from tidings.platform.kafka.records import Record
from tidings.schema.topics.model import DEAD_LETTER_TOPICS

DEAD = "messages-dead"
PATH = f"/admin/v1/dead-letters/{DEAD}"
ADDED: list[tuple[str, str | bytes | None]] = [
    ("dead-reason", b"not an event"),
    ("dead-topic", b"messages"),
    ("dead-partition", b"3"),
    ("dead-offset", b"9"),
]


@pytest.fixture
def connection(kafka: str, space: Namespace) -> KafkaConfig:
    found = KafkaConfig(bootstrap_servers=kafka, topic_prefix=space.topic_prefix)
    make_topic(found, DEAD, partitions=2)
    make_topic(found, "messages")
    return found


@pytest.fixture
def dead_letters(
    connection: KafkaConfig, use_cases: AsyncFixture[UseCaseEnv]
) -> AsyncFixture[tuple[ConsoleApp, KafkaPublisher]]:
    """The console with the dead-letter topics of the test."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[ConsoleApp, KafkaPublisher]]:
        publisher = KafkaPublisher(connection)
        async with use_cases.open() as env:
            topics = KafkaDeadLetterTopics(connection, publisher)
            marks = DynamoDeadLetterMarks(env.client)
            made = ConsoleApp(env, dead_letters=DeadLetters(topics, marks, env.clock, DEAD_LETTER_TOPICS))
            yield made, publisher
        await publisher.close()

    return AsyncFixture(opened)


def produce(connection: KafkaConfig, count: int, value: bytes = b"not an event", partition: int = 0) -> None:
    producer = Producer(connection.admin_config())
    for number in range(count):
        producer.produce(
            connection.topic(DEAD), b"%d" % number + value, b"key", partition=partition, headers=ADDED
        )
    producer.flush(30)


async def listed(caller: ConsoleCaller, limit: int = 2) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    query = f"?limit={limit}"
    while query:
        page = (await caller("GET", PATH + query)).json()
        assert len(page["letters"]) <= limit
        found += [(each["partition"], each["offset"]) for each in page["letters"]]
        query = f"?limit={limit}&cursor={page['cursor']}" if "cursor" in page else ""
    return found


async def waiting(caller: ConsoleCaller) -> dict[str, int]:
    topics = (await caller("GET", "/admin/v1/dead-letters")).json()["topics"]
    return {each["topic"]: each["waiting"] for each in topics}


async def test_dead_letters_are_listed_by_pages_without_their_content(
    dead_letters: tuple[ConsoleApp, KafkaPublisher], connection: KafkaConfig
) -> None:
    viewer = await dead_letters[0].caller(Role.VIEWER)
    assert await listed(viewer) == []
    produce(connection, 3)
    produce(connection, 2, partition=1)
    assert await listed(viewer) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert await waiting(viewer) == {DEAD: 5, "notifications-dead": 0, "offline-dead": 0, "media-dead": 0}
    first = (await viewer("GET", PATH)).json()["letters"][0]
    assert (first["reason"], first["source"], first["key"]) == ("not an event", "messages/3/9", "key")
    assert (first["headers"], first["state"]) == ([], "waiting")
    assert "not an event" not in json.dumps({**first, "reason": ""})
    assert (await viewer("GET", f"{PATH}/0/9")).json()["code"] == Code.REQUEST_INVALID
    assert (await viewer("GET", f"{PATH}/7/0")).json()["code"] == Code.REQUEST_INVALID
    other = await viewer("GET", "/admin/v1/dead-letters/messages")
    assert (other.status_code, other.json()["code"]) == (400, Code.REQUEST_INVALID)


async def test_content_is_recorded_and_shown_as_text_or_base64(
    dead_letters: tuple[ConsoleApp, KafkaPublisher], connection: KafkaConfig
) -> None:
    console, _ = dead_letters
    operator = await console.caller(Role.OPERATOR)
    produce(connection, 1)
    produce(connection, 1, b"\xff" * 20_000)
    shown = (await operator("POST", f"{PATH}/0/0/content")).json()
    assert shown == {"encoding": "text", "content": "0not an event", "is_complete": True}
    shown = (await operator("POST", f"{PATH}/0/1/content")).json()
    assert (shown["encoding"], shown["is_complete"]) == ("base64", False)
    assert (await console.records(None))[0].after == {"read": f"{DEAD}/0/1"}


async def test_a_replay_publishes_the_original_record_once_and_a_drop_does_not(
    dead_letters: tuple[ConsoleApp, KafkaPublisher], connection: KafkaConfig
) -> None:
    console, publisher = dead_letters
    operator = await console.caller(Role.OPERATOR)
    original = Record(connection.topic("messages"), 3, 9, 0, b"acme#g1", b"\x93\xa1", (("trace", b"t1"),))
    await dead_letter_to(publisher, DEAD)(original, "not an event")
    (place,) = await listed(operator)
    path = f"{PATH}/{place[0]}/{place[1]}"
    produce(connection, 2, partition=1 - place[0])
    assert (await operator("POST", f"{path}/replay")).status_code == 204
    assert read_log(connection) == {0: [b"\x93\xa1"]}
    assert (await operator("GET", path)).json()["state"] == "replayed"
    for action in ("replay", "drop"):
        assert (await operator("POST", f"{path}/{action}")).json()["code"] == Code.NO_CHANGE
    dropped = f"{PATH}/{1 - place[0]}/0"
    assert (await operator("POST", f"{dropped}/drop")).status_code == 204
    assert read_log(connection) == {0: [b"\x93\xa1"]}
    assert await listed(operator) == [(1 - place[0], 1)]
    assert (await waiting(operator))[DEAD] == 1
    finished = (await console.records(None))[0]
    assert (finished.operation, finished.reason) == ("drop_dead_letter", "ticket 4711")
    assert finished.after == {"state": "dropped"}


async def test_a_replayed_record_has_its_key_and_headers_and_not_those_of_the_dead_letter(
    dead_letters: tuple[ConsoleApp, KafkaPublisher], connection: KafkaConfig
) -> None:
    console, publisher = dead_letters
    original = Record(connection.topic("messages"), 3, 9, 0, b"acme#g1", b"x", (("trace", b"t1"),))
    await dead_letter_to(publisher, DEAD)(original, "not an event")
    (letter,) = (await console.services.dead_letters.page(DEAD, 10)).letters
    assert (letter.key, letter.value, letter.headers) == (b"acme#g1", b"x", (("trace", b"t1"),))


async def test_a_replay_publishes_to_the_topic_that_the_record_came_from(
    dead_letters: tuple[ConsoleApp, KafkaPublisher], connection: KafkaConfig
) -> None:
    console, publisher = dead_letters
    operator = await console.caller(Role.OPERATOR)
    for topic in ("offline-dead", "offline", "push-retries", "push-reads"):
        make_topic(connection, topic)
    for topic in ("push-retries", "offline", "push-reads"):
        original = Record(connection.topic(topic), 0, 0, 0, b"acme#ben", topic.encode(), ())
        await dead_letter_to(publisher, "offline-dead")(original, "not an event")
    for offset in range(3):
        path = f"/admin/v1/dead-letters/offline-dead/0/{offset}/replay"
        assert (await operator("POST", path)).status_code == 204
    for topic in ("offline", "push-retries", "push-reads"):
        assert read_log(connection, topic) == {0: [topic.encode()]}


async def test_a_mark_does_not_hide_a_record_of_a_topic_that_was_created_again(
    dead_letters: tuple[ConsoleApp, KafkaPublisher], connection: KafkaConfig
) -> None:
    console, _ = dead_letters
    operator = await console.caller(Role.OPERATOR)
    produce(connection, 1)
    assert (await operator("POST", f"{PATH}/0/0/drop")).status_code == 204
    assert await listed(operator) == []
    name = connection.topic(DEAD)
    with AdminClient(connection.admin_config()) as admin:
        admin.delete_topics([name])[name].result(60)
    await _created_again(connection)
    produce(connection, 1)
    assert await listed(operator) == [(0, 0)]
    assert (await waiting(operator))[DEAD] == 1


async def _created_again(connection: KafkaConfig) -> None:
    """Kafka deletes a topic some time after it has answered."""
    async with asyncio.timeout(60):
        while True:
            try:
                make_topic(connection, DEAD, partitions=2)
            except KafkaException:
                await asyncio.sleep(0.2)
            else:
                return


def test_the_command_line_lists_replays_and_drops(
    connection: KafkaConfig, tables: Tables, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {
        "TIDINGS_INSTALLATION": "development",
        "TIDINGS_DYNAMO_ENDPOINT": tables.url,
        "TIDINGS_DYNAMO_REGION": REGION,
        "TIDINGS_DYNAMO_TABLE_PREFIX": tables.prefix,
        "TIDINGS_KAFKA_BOOTSTRAP_SERVERS": connection.bootstrap_servers,
        "TIDINGS_KAFKA_TOPIC_PREFIX": connection.topic_prefix,
    }

    def run(*words: str) -> str:
        done = CliRunner().invoke(tidings, ["--reason", "ticket 9", "dead-letter", *words], env=environ)
        return done.stdout if done.exception is None else f"{done.exception}"

    produce(connection, 3)
    assert [line.split() for line in run("list").splitlines()[1:]] == [
        [DEAD, "messages", "3"],
        ["notifications-dead", "notifications", "0"],
        ["offline-dead", "offline", "0"],
        ["media-dead", "media", "0"],
    ]
    assert f"There are more: --from {DEAD}/0/2" in run("list", DEAD, "--limit", "2")
    assert len(run("list", DEAD, "--from", f"{DEAD}/0/2").splitlines()) == 2
    assert "not an event" in run("show", f"{DEAD}/0/0")
    assert "published again" in run("replay", f"{DEAD}/0/0")
    assert "was dropped" in run("drop", f"{DEAD}/0/1")
    assert "has been dropped already" in run("drop", f"{DEAD}/0/1")
    assert "is not the position" in run("show", "17")
    assert f"{DEAD}/0/2" in run("list", DEAD)
    assert f"{DEAD}/0/1" not in run("list", DEAD)
    assert read_log(connection) == {0: [b"0not an event"]}
    recorded = CliRunner().invoke(tidings, ["audit", "list", "--json"], env=environ)
    newest = next(each for each in json.loads(recorded.stdout)["records"] if each.get("outcome") == "ok")
    assert (newest["operation"], newest["target"]) == ("dead-letter drop", f"letter/{DEAD}/0/1")
    assert newest["reason"] == "ticket 9"
