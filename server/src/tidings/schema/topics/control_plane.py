"""Kafka's control plane: describe and change topics, and apply a plan."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import OFFSET_END, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    BrokerMetadata,
    ClusterMetadata,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.kafka.errors import error_text
from tidings.schema.plan import ChangeKind
from tidings.schema.reconcile import PollPolicy, ProgressEvent, Reconciler
from tidings.schema.topics.diff import (
    ObservedPartition,
    ObservedTopic,
    TopicAspect,
    TopicChange,
    TopicPlan,
    TopicsPlan,
    plan_topic,
    topic_settings,
)
from tidings.schema.topics.model import DesiredTopic

if TYPE_CHECKING:
    from concurrent.futures import Future

# The first request also waits for the connection.
_METADATA_S = 6.0
_ANSWER_S = 15.0
_NO_LEADER = -1
_LEADERS_S = 30.0
_LEADERS_POLL_S = 0.2
_NO_LEADER_YET = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)
_UNREACHABLE = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001 - public names of the library
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._AUTHENTICATION,  # noqa: SLF001
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.REQUEST_TIMED_OUT,
    }
)


class TopicControlPlane:
    """The topics of one installation."""

    def __init__(self, connection: KafkaConfig) -> None:
        self.prefix = connection.topic_prefix
        self._servers = connection.bootstrap_servers
        self._config = connection.admin_config()
        self._admin = AdminClient(self._config)

    def brokers(self) -> int:
        return len(self._metadata().brokers)

    def observe(self, names: Iterable[str]) -> dict[str, ObservedTopic]:
        """Return the named topics that exist, and all others under the prefix except Kafka's own."""
        named, metadata = set(names), self._metadata()
        found = [
            topic
            for name, topic in metadata.topics.items()
            if name in named or (name.startswith(self.prefix) and not name.startswith("__"))
        ]
        return {seen.name: seen for seen in self._read(found)}

    def describe(self, name: str) -> ObservedTopic | None:
        topic = self._metadata(name).topics.get(name)
        return next(iter(self._read([topic] if topic else [])), None)

    def create(self, want: DesiredTopic) -> None:
        with self._translate_errors(want.name):
            create_when_unfenced(lambda: self._create(want), POLL_POLICY)

    def _create(self, want: DesiredTopic) -> None:
        new = NewTopic(want.name, want.partitions, want.replicas, config=topic_settings(want))
        try:
            _result(self._admin.create_topics([new], request_timeout=_ANSWER_S))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def change(self, want: DesiredTopic, _: ObservedTopic, change: TopicChange) -> bool:
        with self._translate_errors(want.name):
            if change.aspect is TopicAspect.PARTITIONS:
                more = NewPartitions(want.name, want.partitions)
                _result(self._admin.create_partitions([more], request_timeout=_ANSWER_S))
            elif change.setting is not None:
                self._set(want.name, *change.setting)
        return True

    def empty(self, names: Iterable[str]) -> None:
        """Delete the records of these topics. The topics and the committed offsets of groups remain.

        Waits for the leaders of new partitions: a broker learns of them some time after `topics apply` has ended.
        """
        named, deadline = set(names), time.monotonic() + _LEADERS_S
        while True:
            try:
                _result(self._admin.delete_records(self._ends(named), request_timeout=_ANSWER_S))
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER_YET or time.monotonic() > deadline:
                    raise self._error("delete records", error.args[0]) from error
                time.sleep(_LEADERS_POLL_S)
            else:
                return

    def _ends(self, named: set[str]) -> list[TopicPartition]:
        return [
            TopicPartition(name, number, OFFSET_END)
            for name, topic in self._metadata().topics.items()
            if name in named
            for number in topic.partitions
        ]

    def working(self) -> dict[str, int]:
        """Return the number of members of each consumer group under the prefix that has any."""
        with self._translate_errors("list consumer groups"):
            listed = self._admin.list_consumer_groups(request_timeout=_ANSWER_S).result().valid or []
            names = [each.group_id for each in listed if each.group_id.startswith(self.prefix)]
            groups = self._admin.describe_consumer_groups(names, request_timeout=_ANSWER_S) if names else {}
            found = {name: len(future.result().members or []) for name, future in groups.items()}
        return {name: count for name, count in found.items() if count}

    def is_known_everywhere(self, wants: Iterable[DesiredTopic]) -> bool:
        """Tell whether each broker knows the topics and all their partitions."""
        expected = {want.name: want.partitions for want in wants}
        return all(self._is_known_by(expected, broker) for broker in self._metadata().brokers.values())

    def _is_known_by(self, expected: dict[str, int], broker: BrokerMetadata) -> bool:
        """Ask one broker, with a new client that knows no other."""
        address = f"{broker.host}:{broker.port}"
        with (
            self._translate_errors(address),
            AdminClient({**self._config, "bootstrap.servers": address}) as admin,
        ):
            topics = admin.list_topics(timeout=_METADATA_S).topics
        return all(
            name in topics and len(topics[name].partitions) == count for name, count in expected.items()
        )

    def _set(self, name: str, setting: str, value: str) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        _result(self._admin.incremental_alter_configs([resource], request_timeout=_ANSWER_S))

    def _metadata(self, topic: str | None = None) -> ClusterMetadata:
        with self._translate_errors("read the cluster's metadata"):
            return self._admin.list_topics(topic, timeout=_METADATA_S)

    def _read(self, topics: Iterable[TopicMetadata]) -> Iterator[ObservedTopic]:
        existing = [topic for topic in topics if topic.error is None and topic.topic is not None]
        settings = self._settings([str(topic.topic) for topic in existing])
        for topic in existing:
            name = str(topic.topic)
            if name in settings:
                yield ObservedTopic(name, tuple(_read_partitions(topic)), settings[name])

    def _settings(self, names: list[str]) -> dict[str, dict[str, str]]:
        """Return the settings by topic, without topics that were deleted meanwhile."""
        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        settings: dict[str, dict[str, str]] = {}
        with self._translate_errors("read the cluster's metadata"):
            answers = self._admin.describe_configs(resources, request_timeout=_ANSWER_S)
            for resource, future in answers.items():
                try:
                    entries = future.result()
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise
                else:
                    settings[resource.name] = {entry.name: entry.value or "" for entry in entries.values()}
        return settings

    @contextmanager
    def _translate_errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise self._error(what, error.args[0]) from error

    def _error(self, what: str, error: KafkaError) -> TidingsError:
        if error.code() in _UNREACHABLE:
            return TidingsError(
                Code.ENGINE_UNREACHABLE,
                f"Kafka at {self._servers} does not answer: {error_text(error)}",
                hint="Check that it runs (`tidings engines status`), and kafka.security_protocol and kafka.sasl_….",
            )
        return TidingsError(
            Code.TOPICS_FAILED,
            f"{what}: {error_text(error)}",
            hint="Earlier changes remain, and apply can be repeated. Three copies need three brokers.",
        )


def _result[K](futures: dict[K, "Future[object]"]) -> None:
    for future in futures.values():
        future.result()


def _read_partitions(topic: TopicMetadata) -> Iterator[ObservedPartition]:
    for number in sorted(topic.partitions):
        part = topic.partitions[number]
        yield ObservedPartition(part.leader != _NO_LEADER, len(part.replicas), len(part.isrs))


POLL_POLICY = PollPolicy(timeout_s=120, effect_s=120, longest_pause_s=2)
_UNFENCED_S = 30.0


def create_when_unfenced(create: Callable[[], None], policy: PollPolicy) -> None:
    """Retry while the controller has fenced all brokers: a broker that has just started, or was slow to answer.

    Kafka reports this as an invalid replication factor, like a factor above the number of brokers.
    """
    failed: KafkaException | None = None
    for _ in policy.attempts(_UNFENCED_S):
        try:
            create()
        except KafkaException as error:
            kafka_error = error.args[0]
            is_invalid = kafka_error.code() == KafkaError.INVALID_REPLICATION_FACTOR
            if not is_invalid or "fenced" not in kafka_error.str():
                raise
            failed = error
        else:
            return
    if failed is not None:
        raise failed


def apply_topics(
    plane: TopicControlPlane,
    plan: TopicsPlan,
    on_progress: Callable[[ProgressEvent], None],
    policy: PollPolicy = POLL_POLICY,
) -> None:
    """Make the topics as declared, and wait until every broker knows them.

    A client can ask any broker, and one without the new metadata would answer that the topic does not exist.
    """

    def replan(want: DesiredTopic, seen: ObservedTopic) -> TopicPlan:
        # The plan has decided whether records may be reordered. A refusal here would leave the plan half applied.
        return plan_topic(want, seen, allow_reorder=True)

    Reconciler(plane, replan, _not_ready, on_progress, policy).apply(plan)
    changed = [want for kind in (ChangeKind.CREATE, ChangeKind.CHANGE) for _, want in plan.having(kind)]
    if not changed:
        return
    for _ in policy.attempts(policy.timeout_s):
        if plane.is_known_everywhere(changed):
            return
    raise TidingsError(
        Code.TOPICS_FAILED,
        f"Not every broker knows the topics after {policy.timeout_s:.0f} s",
        hint=plan.kind.failed_hint,
    )


def _not_ready(seen: ObservedTopic | None) -> str:
    is_ready = seen is not None and seen.is_stable
    return "" if is_ready else "not every partition has its leader and its copies"
