"""Wire the dead letters for the console and for commands."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidings.app.settings.loader import load
from tidings.app.settings.model import Settings
from tidings.app.wiring.engine_clients import open_tables
from tidings.app.wiring.options import kafka_config, validate_settings
from tidings.dead_letters.service import DeadLetters
from tidings.dead_letters.store import DynamoDeadLetterMarks, KafkaDeadLetterTopics
from tidings.kernel.clock import Clock, SystemClock
from tidings.platform.dynamo.client import DynamoClient
from tidings.platform.kafka.publisher import KafkaPublisher
from tidings.schema.topics.model import DEAD_LETTER_TOPICS


def build_dead_letters(
    settings: Settings, client: DynamoClient, publisher: KafkaPublisher, clock: Clock
) -> DeadLetters:
    topics = KafkaDeadLetterTopics(kafka_config(settings), publisher)
    return DeadLetters(topics, DynamoDeadLetterMarks(client), clock, DEAD_LETTER_TOPICS)


@asynccontextmanager
async def open_dead_letters() -> AsyncIterator[DeadLetters]:
    settings = load().settings
    validate_settings(settings, [kafka_config])
    publisher = KafkaPublisher(kafka_config(settings))
    try:
        async with open_tables(settings.dynamo) as client:
            yield build_dead_letters(settings, client, publisher, SystemClock())
    finally:
        await publisher.close()
