"""The installation's topics as they stand beside the declaration."""

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.kafka.connection import Connection
from tidings.run.options import connection_to
from tidings.run.settings.model import KafkaSettings
from tidings.topics import diff
from tidings.topics.control import ControlPlane
from tidings.topics.declaration import RETIRED, TOPICS
from tidings.topics.model import Size, wanted


def connection(settings: KafkaSettings) -> Connection:
    try:
        return connection_to(settings)
    except ValueError as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "kafka.bootstrap_servers is not set, so there is nothing to look at",
            hint="Run `tidings engines start`, or set kafka.bootstrap_servers.",
        ) from error


def plane_of(settings: KafkaSettings) -> ControlPlane:
    return ControlPlane(connection(settings))


def plan_of(plane: ControlPlane, settings: KafkaSettings, *, allow_reorder: bool = False) -> diff.Plan:
    """Blocks: librdkafka."""
    brokers, size = plane.brokers(), Size(settings.partitions)
    wants = [wanted(topic, plane.prefix, size, brokers) for topic in TOPICS]
    retired = [plane.prefix + name for name in RETIRED]
    seen = plane.observe(want.name for want in wants)
    return diff.plan(wants, seen, retired=retired, allow_reorder=allow_reorder)
