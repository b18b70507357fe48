"""Compare the installation's topics with the declaration."""

from tidings.app.settings.model import KafkaSettings
from tidings.app.wiring.options import kafka_config_for
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.topics import diff
from tidings.schema.topics.control_plane import TopicControlPlane
from tidings.schema.topics.model import RETIRED, TOPICS, InstallationSize, desired_topic


def topics_kafka_config(settings: KafkaSettings) -> KafkaConfig:
    try:
        return kafka_config_for(settings)
    except ValueError as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "kafka.bootstrap_servers is not set, so there is nothing to look at",
            hint="Run `tidings engines start`, or set kafka.bootstrap_servers.",
        ) from error


def topics_control_plane(settings: KafkaSettings) -> TopicControlPlane:
    return TopicControlPlane(topics_kafka_config(settings))


def topics_plan(
    plane: TopicControlPlane, settings: KafkaSettings, *, allow_reorder: bool = False
) -> diff.TopicsPlan:
    """Blocks: librdkafka."""
    brokers, size = plane.brokers(), InstallationSize(settings.partitions)
    wants = [desired_topic(topic, plane.prefix, size, brokers) for topic in TOPICS]
    retired = [plane.prefix + name for name in RETIRED]
    seen = plane.observe(want.name for want in wants)
    return diff.plan_topics(wants, seen, retired=retired, allow_reorder=allow_reorder)
