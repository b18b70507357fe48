"""Publish what users read, so that push workers remove notifications from their other devices."""

from contextlib import suppress

from tidings.app.wiring.engine_clients import EngineComponents
from tidings.app.wiring.push import make_has_providers
from tidings.delivery.model import WatermarkAdvanced
from tidings.delivery.ports import OnWatermarkAdvanced
from tidings.kernel.errors import TidingsError
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.platform.lifecycle.run import ProcessContext
from tidings.push.model import PushRead
from tidings.push.store.tasks import KafkaReadPublisher


def with_push_reads(
    on_advanced: OnWatermarkAdvanced,
    publisher: KafkaPublisher,
    host: ProcessContext,
    engines: EngineComponents,
) -> OnWatermarkAdvanced:
    """Return a callback that also publishes reads of users whose tenant has push providers. It never waits."""
    reads = KafkaReadPublisher(publisher)
    has_providers = make_has_providers(engines.dynamo.value, engines.keys.value, host.clock)

    async def publish(read: PushRead) -> None:
        with suppress(TidingsError):  # Without the table of keys, the notification stays until it is opened.
            if await has_providers(read.tenant):
                reads.publish(read)

    def advanced(advance: WatermarkAdvanced) -> None:
        on_advanced(advance)
        if advance.is_read and advance.read:
            tenant, chat = advance.chat
            read = PushRead(tenant=tenant, user=advance.user, chat=chat, sequence=advance.read)
            _ = host.tasks.spawn("push read", publish(read), may_end=True)

    return advanced
