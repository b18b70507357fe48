"""Check Kafka: does it answer, does it support the group protocol, are the topics as declared, how large is the lag."""

import socket
import struct
from collections.abc import Iterator
from time import monotonic

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tidings.app.settings.model import KafkaSettings
from tidings.app.wiring.schema import topics_kafka_config, topics_plan
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.errors import TidingsError
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.topics.control_plane import TopicControlPlane
from tidings.schema.topics.model import TOPICS

_API_VERSIONS, _VERSION_0, _NO_CLIENT_ID = 18, 0, -1
_CONSUMER_GROUP_HEARTBEAT = 68
_TIMEOUT_S = 3.0
BEHIND = 10_000
"""A lag of more records than this is reported."""
LONG_SESSION_S = 10.0
_SESSION = "group.consumer.session.timeout.ms"
_NO_KAFKA = (
    "Without Kafka no message is lost, but pushes are late: the relay publishes unprocessed messages again."
)


def check_kafka(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings.kafka
    if settings.bootstrap_servers is None:
        todo = "`tidings engines start`, or `tidings dev`; or set kafka.bootstrap_servers."
        yield Finding("kafka", CheckState.WRONG, "kafka.bootstrap_servers is not set", _NO_KAFKA, todo)
        return
    if not _open_ports(settings.bootstrap_servers):
        todo = "`tidings engines status` shows whether it runs here; otherwise check the address and the network."
        found = f"no answer at {settings.bootstrap_servers}"
        yield Finding("kafka", CheckState.WRONG, found, _NO_KAFKA, todo)
        return
    link = topics_kafka_config(settings)
    try:
        yield from _cluster(link, settings)
    except TidingsError as error:
        yield Finding("kafka", CheckState.WRONG, error.message, _NO_KAFKA, error.hint)


def _open_ports(servers: str) -> list[str]:
    found = []
    for server in servers.split(","):
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _TIMEOUT_S).close()
        except OSError:
            continue
        found.append(server)
    return found


def _cluster(link: KafkaConfig, settings: KafkaSettings) -> Iterator[Finding]:
    plane = TopicControlPlane(link)
    brokers = plane.brokers()
    began = monotonic()
    plane.brokers()
    took_ms = (monotonic() - began) * 1000
    yield ok(
        "kafka",
        f"{link.bootstrap_servers} answers in {took_ms:.0f} ms, {brokers} broker{'s' * (brokers > 1)}",
    )
    if settings.group_protocol == "consumer":
        yield _version(settings)
        yield _session(link)
    yield from _topics(plane, settings)
    yield from _lag(link)


def _version(settings: KafkaSettings) -> Finding:
    if settings.security_protocol != "plaintext":
        return skipped("kafka version", "not checked over TLS or SASL")
    first = (settings.bootstrap_servers or "").split(",")[0]
    if _CONSUMER_GROUP_HEARTBEAT in supported_calls(first):
        return ok("kafka version", "4 or newer: it supports KIP-848 groups")
    return Finding(
        "kafka version",
        CheckState.WRONG,
        f"{first} does not support KIP-848 groups: it is older than 4.0, or they are disabled",
        "Delivery uses such a group, because classic groups deliver twice at each rebalance.",
        "Run Kafka 4 or newer, or allow `group.coordinator.rebalance.protocols=classic,consumer`; or set "
        'kafka.group_protocol = "classic".',
    )


def _session(link: KafkaConfig) -> Finding:
    """Check the session timeout of KIP-848 groups, which the brokers set, not the members."""
    try:
        admin = AdminClient(link.admin_config())
        broker = next(iter(admin.list_topics(timeout=_TIMEOUT_S).brokers))
        asked = ConfigResource(ResourceType.BROKER, str(broker))
        (answer,) = admin.describe_configs([asked], request_timeout=_TIMEOUT_S).values()
        session_s = int(answer.result()[_SESSION].value) / 1000
    except (KafkaException, KeyError) as error:
        return skipped("kafka session", f"could not be read: {error}")
    if session_s <= LONG_SESSION_S:
        return ok("kafka session", f"a process that died is replaced after {session_s:g} s")
    return Finding(
        "kafka session",
        CheckState.WARNING,
        f"{_SESSION} is {session_s * 1000:.0f}",
        f"When a delivery process dies, the chats of its partitions get no pushes for {session_s:g} s.",
        f"Set {_SESSION}=6000 at the brokers, and group.consumer.min.session.timeout.ms no higher.",
    )


def supported_calls(server: str) -> set[int]:
    """Return the API keys that a broker supports; Kafka does not return its version."""
    host, _, port = server.rpartition(":")
    request = struct.pack(">hhih", _API_VERSIONS, _VERSION_0, 1, _NO_CLIENT_ID)
    try:
        with socket.create_connection((host, int(port)), _TIMEOUT_S) as sock:
            sock.sendall(struct.pack(">i", len(request)) + request)
            (size,) = struct.unpack(">i", sock.recv(4, socket.MSG_WAITALL))
            body = sock.recv(size, socket.MSG_WAITALL)
    except (OSError, struct.error):
        return set()
    (count,) = struct.unpack_from(">i", body, 6)
    return {struct.unpack_from(">h", body, 10 + 6 * number)[0] for number in range(count)}


def _topics(plane: TopicControlPlane, settings: KafkaSettings) -> Iterator[Finding]:
    plan = topics_plan(plane, settings)
    missing = [line for line in plan.drift if line.endswith(": missing")]
    if missing:
        why = "Records for a missing topic are not delivered until the relay finds them."
        found = f"{len(missing)} of {len(TOPICS)} are missing"
        yield Finding("topics", CheckState.WRONG, found, why, "`tidings topics apply`.", missing)
    if other := [line for line in plan.drift if line not in missing]:
        why = "Too few partitions or copies, or another retention, show under load or in an outage."
        todo = "`tidings topics plan` shows what `tidings topics apply` would do."
        yield Finding("topics", CheckState.WARNING, f"{len(other)} things differ", why, todo, other)
    if not plan.drift:
        yield ok("topics", f"{len(TOPICS)} as declared")


def _lag(link: KafkaConfig) -> Iterator[Finding]:
    try:
        admin = AdminClient(link.admin_config())
        listed = admin.list_consumer_groups(request_timeout=_TIMEOUT_S).result()
        groups = [each.group_id for each in listed.valid if each.group_id.startswith(link.topic_prefix)]
        topics = [
            name
            for name in admin.list_topics(timeout=_TIMEOUT_S).topics
            if name.startswith(link.topic_prefix)
        ]
        behind = {group: consumer_lag(link, group, topics) for group in groups}
    except KafkaException as error:
        yield skipped("lag", f"could not be read: {error}")
        return
    late = {group: count for group, count in behind.items() if count >= BEHIND}
    if late:
        words = ", ".join(f"{group} by {count:,}" for group, count in late.items())
        why = "Records that are not consumed are not pushed: users see messages late."
        todo = "Start more of these processes, or find out what delays them: their logs and /readyz."
        yield Finding("lag", CheckState.WARNING, f"behind: {words} records", why, todo)
    elif groups:
        yield ok("lag", f"none far behind of {', '.join(groups)}")
    else:
        yield skipped("lag", "no groups yet")


def consumer_lag(link: KafkaConfig, group: str, topics: list[str]) -> int:
    """Return the lag of a group, read by a consumer that never joins.

    The admin client's call for it crashes the process when a coordinator dies.
    """
    consumer = Consumer({**link.admin_config(), "group.id": group})
    try:
        places = [
            TopicPartition(topic, number)
            for topic in topics
            for number in consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
        ]
        done = [part for part in consumer.committed(places, timeout=_TIMEOUT_S) if part.offset >= 0]
        return sum(consumer.get_watermark_offsets(part, timeout=_TIMEOUT_S)[1] - part.offset for part in done)
    finally:
        consumer.close()
