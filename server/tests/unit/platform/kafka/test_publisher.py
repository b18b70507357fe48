"""Faults that no broker produces on demand: fatal errors, a full queue in librdkafka, a failing thread."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from tidings.platform.kafka.config import KafkaConfig, LibrdkafkaConfig
from tidings.platform.kafka.errors import UnknownOutcomeError
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.publisher import KafkaPublisher, PublisherTuning

type Deliver = Callable[[KafkaError | None, Any], None]


class Answer:
    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 7


class FakeProducer:
    """A fake of librdkafka's producer that answers when the test says so."""

    def __init__(self, config: LibrdkafkaConfig) -> None:
        self.config = config
        self.waiting: list[tuple[bytes, Deliver]] = []
        self.raises: list[BaseException] = []
        self._calls: list[Callable[[], None]] = []
        self._wake = threading.Event()

    def produce(self, _topic: str, value: bytes, _key: bytes, headers: object, on_delivery: Deliver) -> None:
        assert headers == []
        if self.raises:
            raise self.raises.pop(0)
        self.waiting.append((value, on_delivery))

    def poll(self, timeout: float) -> int:
        self._wake.wait(timeout)
        self._wake.clear()
        calls, self._calls = self._calls, []
        for call in calls:
            call()
        return len(calls)

    def purge(self) -> None:
        self.answer(KafkaError(KafkaError._PURGE_QUEUE))

    def __len__(self) -> int:
        return len(self.waiting) + len(self._calls)

    def answer(self, error: KafkaError | None = None) -> None:
        """Answer all waiting messages in the next `poll`."""
        waiting, self.waiting = self.waiting, []
        self.in_poll(*(lambda deliver=deliver: deliver(error, Answer()) for _, deliver in waiting))

    def in_poll(self, *calls: Callable[[], None]) -> None:
        self._calls += calls
        self._wake.set()


class Factory:
    def __init__(self) -> None:
        self.made: list[FakeProducer] = []

    def __call__(self, config: LibrdkafkaConfig) -> Producer:
        self.made.append(FakeProducer(config))
        return cast("Producer", self.made[-1])

    async def another(self, count: int) -> FakeProducer:
        async with asyncio.timeout(5):
            while len(self.made) < count:  # noqa: ASYNC110 - made by a timer of the publisher
                await asyncio.sleep(0.01)
        return self.made[-1]


@asynccontextmanager
async def fake_publisher(**tuning: Any) -> AsyncIterator[tuple[Factory, KafkaPublisher]]:
    """A publisher whose producers are fakes that the factory has made."""
    factory = Factory()
    publisher = KafkaPublisher(KafkaConfig(bootstrap_servers="x:1"), PublisherTuning(**tuning), make=factory)
    async with asyncio.timeout(10):
        yield factory, publisher


def values(producer: FakeProducer) -> list[bytes]:
    return [value for value, _ in producer.waiting]


def fatal(producer: FakeProducer) -> None:
    error = KafkaError(KafkaError._FATAL, "fenced", True)  # noqa: FBT003 - its own order
    producer.in_poll(lambda: producer.config["error_cb"](error))


def delivery_is_fatal(producer: FakeProducer) -> None:
    producer.answer(KafkaError(KafkaError._FATAL))


def produce_is_fatal(producer: FakeProducer) -> None:
    producer.raises.append(KafkaException(KafkaError(KafkaError._FATAL)))


@pytest.mark.parametrize("strike", [fatal, delivery_is_fatal, produce_is_fatal])
async def test_after_a_fatal_error_messages_in_flight_are_unknown_and_a_new_producer_continues(
    strike: Callable[[FakeProducer], None],
) -> None:
    async with fake_publisher() as (factory, publisher):
        first = factory.made[0]
        before = publisher.send("t", b"k", b"before")
        strike(first)
        struck = publisher.send("t", b"k", b"struck")
        with pytest.raises(UnknownOutcomeError):
            await before
        assert not publisher.health().is_ok
        meanwhile = [publisher.send("t", b"k", b"%d" % n) for n in range(3)]
        second = await factory.another(2)
        sent = [value for value in values(second) if value != b"struck"]
        assert sent == [b"0", b"1", b"2"]
        second.answer()
        assert [(await answer).offset for answer in meanwhile] == [7, 7, 7]
        (outcome,) = await asyncio.gather(struck, return_exceptions=True)
        assert isinstance(outcome, RecordMetadata | UnknownOutcomeError)
        assert publisher.health().is_ok
        assert await publisher.close(1) == 0
        assert len(factory.made) == 2


async def test_a_failing_thread_leaves_no_caller_waiting() -> None:
    async with fake_publisher() as (factory, publisher):
        answer = publisher.send("t", b"k", b"v")

        def break_it() -> None:
            raise RuntimeError("a defect in a callback")

        factory.made[0].in_poll(break_it)
        with pytest.raises(UnknownOutcomeError):
            await answer
        await factory.another(2)
        await publisher.close(1)


async def test_messages_wait_in_order_while_librdkafka_is_full() -> None:
    async with fake_publisher() as (factory, publisher):
        producer = factory.made[0]
        answers = [publisher.send("t", b"k", b"0")]
        producer.raises.append(BufferError("full"))
        answers += [publisher.send("t", b"k", b"%d" % n) for n in (1, 2)]
        assert values(producer) == [b"0"]
        producer.answer()
        await answers[0]
        assert values(producer) == [b"1", b"2"]
        producer.answer()
        await asyncio.gather(*answers)
        assert await publisher.close(1) == 0


async def test_closing_while_the_producer_is_renewed_refuses_waiting_messages_and_creates_no_other() -> None:
    async with fake_publisher() as (factory, publisher):
        fatal(factory.made[0])
        before = publisher.send("t", b"k", b"v")
        with pytest.raises(UnknownOutcomeError):
            await before
        waiting = publisher.send("t", b"k", b"w")
        assert await publisher.close(0.05) == 0
        with pytest.raises(Exception, match="closing"):
            await waiting
        assert len(factory.made) == 1
