"""`tidings topics` on a real broker, through the command line."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from contract.kafka.harness import make_topic

from tidings.cli.schema import topics
from tidings.kernel.errors import TidingsError
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.topics import control_plane
from tidings.schema.topics.control_plane import TopicControlPlane
from tidings.schema.topics.model import MESSAGES, TOPICS

COUNT = len(TOPICS)


class Cli:
    """Run the command in this process. Return its exit code and output, with the code of an error."""

    def __init__(self, connection: KafkaConfig) -> None:
        self._environ = {
            "TIDINGS_KAFKA_BOOTSTRAP_SERVERS": connection.bootstrap_servers,
            "TIDINGS_KAFKA_TOPIC_PREFIX": connection.topic_prefix,
        }

    def __call__(self, *words: str, partitions: str = "small") -> tuple[int, str]:
        environ = self._environ | {"TIDINGS_KAFKA_PARTITIONS": partitions}
        done = CliRunner().invoke(topics, list(words), env=environ)
        if isinstance(done.exception, TidingsError):
            return 1, f"{done.exception.message}\n[{done.exception.code}]"
        if done.exception is not None:
            raise done.exception
        return done.exit_code, done.output


@pytest.fixture(autouse=True)
def _nothing_else_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tidings(connection: KafkaConfig) -> Cli:
    return Cli(connection)


def test_plan_apply_and_check_agree(tidings: Cli, connection: KafkaConfig) -> None:
    code, text = tidings("plan")
    assert (code, text.count("  create  ")) == (0, COUNT)
    assert "1 copy (declared 3)" in text
    code, text = tidings("check")
    assert (code, text.count(": missing")) == (1, COUNT)
    assert "[topics_drift]" in text
    code, text = tidings("apply")
    assert code == 0, text
    assert f"ok: {COUNT} of {COUNT} topics created or changed" in text
    assert f"ok: 0 of {COUNT} topics created or changed" in tidings("apply")[1]
    assert tidings("check") == (0, f"ok: {COUNT} topics as declared\n")
    seen = TopicControlPlane(connection).describe(connection.topic("messages"))
    assert seen is not None
    assert len(seen.partitions) == MESSAGES.partitions.small
    assert seen.settings["retention.ms"] == str(MESSAGES.retention_s * 1000)


def test_drift_is_found_and_repaired_and_partitions_are_added_only_if_allowed(
    tidings: Cli, connection: KafkaConfig
) -> None:
    assert tidings("apply")[0] == 0
    set_topic(connection, "retention.ms", "1000")
    code, text = tidings("check")
    assert (code, "retention:" in text) == (1, True)
    assert tidings("apply")[0] == 0
    code, text = tidings("apply", partitions="medium")
    assert (code, "[topics_destructive]" in text) == (1, True)
    assert tidings("check")[0] == 0, "nothing of a refused plan was done"
    assert tidings("apply", "--allow-reorder", partitions="medium")[0] == 0
    assert tidings("check", partitions="medium")[0] == 0
    code, text = tidings("apply")
    assert (code, "can't remove partitions" in text) == (1, True)


def test_a_foreign_topic_with_the_prefix_is_not_changed(tidings: Cli, connection: KafkaConfig) -> None:
    make_topic(connection, "somebody-elses")
    assert tidings("apply")[0] == 0
    assert tidings("check")[0] == 0
    assert "not declared, left alone" in tidings("plan")[1]
    assert TopicControlPlane(connection).describe(connection.topic("somebody-elses")) is not None


def test_an_unreachable_broker_is_reported_as_a_tidings_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "_METADATA_S", 0.5)
    code, text = Cli(KafkaConfig(bootstrap_servers="127.0.0.1:9"))("check")
    assert (code, "[engine_unreachable]" in text) == (1, True)
    assert "127.0.0.1:9 does not answer" in text


@pytest.mark.long
def test_on_three_brokers_there_are_three_copies(at_trio: KafkaConfig) -> None:
    tidings = Cli(at_trio)
    code, text = tidings("apply")
    assert code == 0, text
    plane = TopicControlPlane(at_trio)
    found = [plane.describe(at_trio.topic(topic.name)) for topic in TOPICS]
    assert [seen and (seen.replicas, seen.settings["min.insync.replicas"]) for seen in found] == [
        (3, "2")
    ] * COUNT
    assert tidings("check")[0] == 0


def set_topic(connection: KafkaConfig, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, connection.topic("messages"), incremental_configs=[entry])
    with AdminClient(connection.admin_config()) as admin:
        for future in admin.incremental_alter_configs([resource]).values():
            future.result(10)
