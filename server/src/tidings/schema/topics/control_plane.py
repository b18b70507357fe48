"""Kafka's control plane: looks at topics and changes them, one call at a time. Decides nothing."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

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
from tidings.schema.reconcile import ChangeKind, PollPolicy, ProgressEvent
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

# the first question also waits for the connection, and for nothing if nobody is there
_METADATA_S = 6.0
_ANSWER_S = 15.0
_NO_LEADER = -1
_UNREACHABLE = frozenset(
    {
        KafkaError._TRANSPORT,  # noqa: SLF001 - their public names
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
        self._where = connection.bootstrap_servers
        self._config = connection.admin_config()
        self._admin = AdminClient(self._config)

    def brokers(self) -> int:
        return len(self._metadata().brokers)

    def observe(self, names: Iterable[str]) -> dict[str, ObservedTopic]:
        """The named topics that are there, and all others under the prefix but Kafka's own."""
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
        new = NewTopic(want.name, want.partitions, want.replicas, config=topic_settings(want))
        with self._telling(want.name):
            try:
                _result(self._admin.create_topics([new], request_timeout=_ANSWER_S))
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise

    def change(self, want: DesiredTopic, change: TopicChange) -> None:
        with self._telling(want.name):
            if change.aspect is TopicAspect.PARTITIONS:
                more = NewPartitions(want.name, want.partitions)
                _result(self._admin.create_partitions([more], request_timeout=_ANSWER_S))
            elif change.setting is not None:
                self._set(want.name, *change.setting)

    def empty(self, names: Iterable[str]) -> None:
        """What stands in these topics now is deleted; the topics, and what groups have committed, stay."""
        named, metadata = set(names), self._metadata()
        ends = [
            TopicPartition(name, number, OFFSET_END)
            for name, topic in metadata.topics.items()
            if name in named
            for number in topic.partitions
        ]
        with self._telling("the records"):
            _result(self._admin.delete_records(ends, request_timeout=_ANSWER_S))

    def working(self) -> dict[str, int]:
        """How many members each group under the prefix has, of those that have any."""
        with self._telling("the groups"):
            listed = self._admin.list_consumer_groups(request_timeout=_ANSWER_S).result().valid or []
            names = [each.group_id for each in listed if each.group_id.startswith(self.prefix)]
            told = self._admin.describe_consumer_groups(names, request_timeout=_ANSWER_S) if names else {}
            found = {name: len(future.result().members or []) for name, future in told.items()}
        return {name: count for name, count in found.items() if count}

    def is_known_everywhere(self, wants: Iterable[DesiredTopic]) -> bool:
        expected = {want.name: want.partitions for want in wants}
        return all(self._tells_of(expected, broker) for broker in self._metadata().brokers.values())

    def _tells_of(self, expected: dict[str, int], broker: BrokerMetadata) -> bool:
        """A fresh client knows one broker, so that is the one which answers."""
        address = f"{broker.host}:{broker.port}"
        with self._telling(address), AdminClient({**self._config, "bootstrap.servers": address}) as admin:
            topics = admin.list_topics(timeout=_METADATA_S).topics
        return all(
            name in topics and len(topics[name].partitions) == count for name, count in expected.items()
        )

    def _set(self, name: str, setting: str, value: str) -> None:
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=[entry])
        _result(self._admin.incremental_alter_configs([resource], request_timeout=_ANSWER_S))

    def _metadata(self, topic: str | None = None) -> ClusterMetadata:
        with self._telling("the cluster"):
            return self._admin.list_topics(topic, timeout=_METADATA_S)

    def _read(self, topics: Iterable[TopicMetadata]) -> Iterator[ObservedTopic]:
        there = [topic for topic in topics if topic.error is None and topic.topic is not None]
        told = self._settings([str(topic.topic) for topic in there])
        for topic in there:
            name = str(topic.topic)
            if name in told:
                yield ObservedTopic(name, tuple(_read_partitions(topic)), told[name])

    def _settings(self, names: list[str]) -> dict[str, dict[str, str]]:
        """A topic that went away between two calls is left out."""
        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        told: dict[str, dict[str, str]] = {}
        with self._telling("the cluster"):
            answers = self._admin.describe_configs(resources, request_timeout=_ANSWER_S)
            for resource, future in answers.items():
                try:
                    entries = future.result()
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise
                else:
                    told[resource.name] = {entry.name: entry.value or "" for entry in entries.values()}
        return told

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except KafkaException as error:
            raise self._told(what, error.args[0]) from error

    def _told(self, what: str, error: KafkaError) -> TidingsError:
        if error.code() in _UNREACHABLE:
            return TidingsError(
                Code.ENGINE_UNREACHABLE,
                f"Kafka at {self._where} does not answer: {error_text(error)}",
                hint="Is it running (`tidings engines status`)? Are kafka.security_protocol and kafka.sasl_… right?",
            )
        return TidingsError(
            Code.TOPICS_FAILED,
            f"{what}: {error_text(error)}",
            hint="What was done before stands; apply can be repeated. Three copies need three brokers.",
        )


def _result[K](futures: dict[K, "Future[object]"]) -> None:
    for future in futures.values():
        future.result()


def _read_partitions(topic: TopicMetadata) -> Iterator[ObservedPartition]:
    for number in sorted(topic.partitions):
        part = topic.partitions[number]
        yield ObservedPartition(part.leader != _NO_LEADER, len(part.replicas), len(part.isrs))


PACE = PollPolicy(timeout_s=120, effect_s=120, longest_pause_s=2)


class TopicsApi(Protocol):
    """The topics of one installation."""

    def describe(self, name: str) -> ObservedTopic | None:
        """The topic as it stands now, or None. May be seconds behind."""

    def create(self, want: DesiredTopic) -> None:
        """Ask for the topic; returns before it stands. One that is there by now is no error."""

    def change(self, want: DesiredTopic, change: TopicChange) -> None:
        """Ask for one change; returns before every broker knows of it."""

    def is_known_everywhere(self, wants: Iterable[DesiredTopic]) -> bool:
        """Whether each broker by itself tells of the topics and all their partitions."""


def refuse_topic_destruction(plan: TopicsPlan) -> None:
    if not plan.refused:
        return
    raise TidingsError(
        Code.TOPICS_DESTRUCTIVE,
        "\n".join(
            ["This would destroy or reorder, and is not done:", *(f"  - {lost}" for lost in plan.refused)]
        ),
        hint="`tidings topics plan` shows the difference. Kafka is filled again from DynamoDB, so topics under "
        "another kafka.topic_prefix are a way out too.",
        details={"refused": list(plan.refused)},
    )


def apply_topics(
    cluster: TopicsApi, plan: TopicsPlan, tell: Callable[[ProgressEvent], None], pace: PollPolicy = PACE
) -> None:
    """All missing topics are asked for first, so that they are made at the same time."""
    refuse_topic_destruction(plan)
    missing = list(_with(ChangeKind.CREATE, plan))
    for entry in missing:
        tell(ProgressEvent(entry.name, "creating"))
        cluster.create(_declared(entry))
    todo = [*missing, *_with(ChangeKind.CHANGE, plan)]
    for entry in todo:
        _TopicRun(cluster, _declared(entry), tell, pace).reconcile()
    if todo:
        _await_everywhere(cluster, [_declared(entry) for entry in todo], pace)


def _await_everywhere(cluster: TopicsApi, wants: list[DesiredTopic], pace: PollPolicy) -> None:
    """A client asks any broker, and one that has not heard yet would say that there is no such topic."""
    for _ in pace.attempts(pace.timeout_s):
        if cluster.is_known_everywhere(wants):
            return
    raise TidingsError(
        Code.TOPICS_FAILED,
        f"Not every broker knows of the topics after {pace.timeout_s:.0f} s",
        hint="Is a broker down or cut off? What was begun goes on by itself; apply again.",
    )


@dataclass(frozen=True, slots=True)
class _TopicRun:
    cluster: TopicsApi
    want: DesiredTopic
    report: Callable[[ProgressEvent], None]
    poll_policy: PollPolicy

    def reconcile(self) -> None:
        while change := next(iter(self._differences(self._wait_until_applied())), None):
            self._report_step(f"{change.aspect}: {change.before} → {change.after}")
            self.cluster.change(self.want, change)
            self._await_made(change)
        self._report_step("done")

    def _differences(self, seen: ObservedTopic) -> tuple[TopicChange, ...]:
        # what may be reordered was decided with the plan; a refusal here would come half-way
        return plan_topic(self.want, seen, allow_reorder=True).changes

    def _await_made(self, change: TopicChange) -> None:
        for _ in self.poll_policy.attempts(self.poll_policy.timeout_s):
            if change not in self._differences(self._wait_until_applied()):
                return
        raise TidingsError(
            Code.TOPICS_FAILED,
            f"{self.want.name}: {change.aspect} was set to {change.after} and is still {change.before}",
            hint="The brokers accepted the change and do not show it. Apply again.",
        )

    def _wait_until_applied(self) -> ObservedTopic:
        for _ in self.poll_policy.attempts(self.poll_policy.timeout_s):
            seen = self.cluster.describe(self.want.name)
            if seen is not None and seen.is_stable:
                return seen
            self._report_step("waiting until every partition has its leader and its copies")
        raise TidingsError(
            Code.TOPICS_FAILED,
            f"{self.want.name}: not every partition has its leader and its copies after "
            f"{self.poll_policy.timeout_s:.0f} s",
            hint="Is a broker down? What was begun goes on by itself; apply again.",
        )

    def _report_step(self, doing: str) -> None:
        self.report(ProgressEvent(self.want.name, doing))


def _with(verdict: ChangeKind, plan: TopicsPlan) -> Iterable[TopicPlan]:
    return (entry for entry in plan.topics if entry.verdict is verdict)


def _declared(entry: TopicPlan) -> DesiredTopic:
    if entry.desired is None:
        raise AssertionError(f"{entry.name} is not declared, so there is nothing to make of it")
    return entry.desired
