"""Publish messages: each is acknowledged by all in-sync replicas, or fails with one of three errors.

Messages of one key keep their order. An acknowledged message is in the log exactly once (idempotent producer); `errors`
describes the other outcomes. One publisher per process is enough.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Producer

from tidings.platform.kafka.config import KafkaConfig, KafkaHealth, KafkaHealthTracker, LibrdkafkaConfig, log
from tidings.platform.kafka.errors import NotAcceptedError, RejectedError, error_text, from_delivery, is_fatal
from tidings.platform.kafka.producer_thread import (
    DeliveryReport,
    ProducerThread,
    QueuedRecord,
    RecordMetadata,
    Waiter,
)
from tidings.platform.kafka.records import Headers, Record

_RENEW_AFTER_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherTuning:
    """Up to `max_in_flight` messages wait for brokers, and `max_waiting` more wait in a queue, each at most `wait_s`."""

    max_in_flight: int = 50_000
    max_waiting: int = 10_000
    wait_s: float = 5.0
    delivery_timeout_s: float = 30.0
    request_timeout_s: float = 10.0
    """After that a broker counts as unresponsive, and the same bytes are sent over a new connection."""
    linger_ms: float = 0.5
    max_message_bytes: int = 1_500_000
    """More than topics accept, so that a dead letter has room for its reason. The broker enforces the topic's limit."""


class KafkaPublisher:
    """A producer that is replaced after a fatal error. Create it in the running event loop."""

    def __init__(
        self,
        connection: KafkaConfig,
        tuning: PublisherTuning | None = None,
        *,
        make: Callable[[LibrdkafkaConfig], Producer] = Producer,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._tuning = tuning or PublisherTuning()
        self._config = producer_config(connection, self._tuning)
        self._prefix = connection.topic_prefix
        self._make = make
        self._health = KafkaHealthTracker("publisher")
        self._in_flight = 0
        self._queue: deque[tuple[float, QueuedRecord]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._is_closing = False
        self._fatal_error = ""
        self._drained = asyncio.Event()
        self._renewal: asyncio.TimerHandle | None = None
        self._ends: set[asyncio.Task[int]] = set()
        self._producer: ProducerThread | None = None
        self._open_producer()

    def send(
        self, topic: str, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> asyncio.Future[RecordMetadata]:
        """Send a message and return a future of its position in the log. Messages are sent in the order of the calls.

        The future raises `NotAcceptedError`, `RejectedError` or `UnknownOutcomeError`. Cancelling it does not cancel the
        message.
        """
        waiter: Waiter = self._loop.create_future()
        message = QueuedRecord(self._prefix + topic, key, value, list(headers), waiter)
        if self._queue or self._is_closing or not self._produce(message):
            self._enqueue(message)
        return waiter

    def health(self) -> KafkaHealth:
        status = self._health.status()
        if status.is_ok and self._fatal_error:
            return KafkaHealth(is_ok=False, reason=f"nothing acknowledged since: {self._fatal_error}")
        return status

    @property
    def in_flight(self) -> int:
        """Return the number of messages without an answer, including queued ones."""
        return self._in_flight + len(self._queue)

    async def close(self, timeout_s: float = 10.0) -> int:
        """Wait for answers, then close. Returns how many messages had none; those fail with `UnknownOutcomeError`."""
        self._is_closing = True
        await self._drain(timeout_s)
        self._refuse_queue(lambda _: True, "the publisher is closing")
        if self._renewal is not None:
            self._renewal.cancel()
        producer, self._producer = self._producer, None
        unanswered = await producer.end() if producer else 0
        await asyncio.gather(*self._ends)
        return unanswered

    def _on_delivered(self, lot: list[DeliveryReport]) -> None:
        """Handle delivery reports."""
        self._in_flight -= len(lot)
        for waiter, error, message in lot:
            if error is not None:
                self._settle_error(waiter, error)
            elif not waiter.done():  # It may have been cancelled.
                waiter.set_result(RecordMetadata(message.partition() or 0, message.offset() or 0))
        if lot[-1][1] is None:
            self._health.answered()
            self._fatal_error = ""
        self._advance_queue()
        if not self.in_flight:
            self._drained.set()

    def _replace(self, producer: ProducerThread, why: str) -> None:
        """Replace the producer after a fatal error. Messages in flight fail with `UnknownOutcomeError`, queued ones wait."""
        if producer is not self._producer:
            return
        log.error("publisher: fatal error, replacing the producer: %s", why)
        self._fatal_error = why
        self._producer = None
        end = self._loop.create_task(producer.end())
        self._ends.add(end)
        end.add_done_callback(self._ends.discard)
        self._renewal = self._loop.call_later(_RENEW_AFTER_S, self._open_producer)

    def _open_producer(self) -> None:
        self._producer = ProducerThread(
            self._config, self._health, self._on_delivered, self._replace, self._make
        )
        self._advance_queue()

    async def _drain(self, timeout_s: float) -> None:
        if self.in_flight:
            self._drained.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), timeout_s)

    def _produce(self, message: QueuedRecord) -> bool:
        """Hand a message to librdkafka. Returns False if its queue is full; the message must wait then."""
        if self._producer is None or self._in_flight >= self._tuning.max_in_flight:
            return False
        try:
            self._producer.produce(message)
        except BufferError:
            return False
        except KafkaException as error:
            return self._on_produce_error(message, error.args[0])
        self._in_flight += 1
        return True

    def _on_produce_error(self, message: QueuedRecord, error: KafkaError) -> bool:
        if is_fatal(error) and self._producer is not None:
            self._replace(self._producer, error_text(error))
            return False
        if not message.waiter.done():
            message.waiter.set_exception(RejectedError(error_text(error)))
        return True

    def _settle_error(self, waiter: Waiter, error: KafkaError) -> None:
        if is_fatal(error) and self._producer is not None:
            self._replace(self._producer, error_text(error))
        outcome = from_delivery(error)
        if isinstance(outcome, RejectedError):
            self._health.answered()
        else:
            self._health.failed(error_text(error))
        if not waiter.done():
            waiter.set_exception(outcome)

    def _enqueue(self, message: QueuedRecord) -> None:
        if self._is_closing or len(self._queue) >= self._tuning.max_waiting:
            why = "the publisher is closing" if self._is_closing else f"{self.in_flight} messages are waiting"
            message.waiter.set_exception(NotAcceptedError(f"not accepted: {why}"))
            return
        self._queue.append((self._loop.time() + self._tuning.wait_s, message))
        self._set_alarm()

    def _advance_queue(self) -> None:
        while self._queue:
            message = self._queue[0][1]
            if not message.waiter.done() and not self._produce(message):
                return
            self._queue.popleft()

    def _set_alarm(self) -> None:
        if self._queue and self._alarm is None:
            self._alarm = self._loop.call_at(self._queue[0][0], self._expire)

    def _expire(self) -> None:
        self._alarm = None
        now = self._loop.time()
        self._refuse_queue(lambda due: due <= now, f"no room within {self._tuning.wait_s:g} s")
        self._set_alarm()

    def _refuse_queue(self, is_over: Callable[[float], bool], why: str) -> None:
        while self._queue and is_over(self._queue[0][0]):
            _, message = self._queue.popleft()
            if not message.waiter.done():
                message.waiter.set_exception(NotAcceptedError(why))


def producer_config(connection: KafkaConfig, tuning: PublisherTuning) -> LibrdkafkaConfig:
    return {
        **connection.config(),
        "acks": "all",
        # Off by default in librdkafka. Without it, a retry after a lost answer writes the message twice.
        "enable.idempotence": True,
        "linger.ms": tuning.linger_ms,
        "compression.type": "lz4",
        # Choose the same partition for a key as the Java client and most others.
        "partitioner": "murmur2_random",
        "delivery.timeout.ms": int(tuning.delivery_timeout_s * 1000),
        "socket.timeout.ms": int(tuning.request_timeout_s * 1000),
        "queue.buffering.max.messages": tuning.max_in_flight + 1,
        "queue.buffering.max.kbytes": 131_072,
        "message.max.bytes": tuning.max_message_bytes,
        # A topic's size limit applies to a whole batch, so batches are much smaller than it.
        "batch.size": 500_000,
        "statistics.interval.ms": 2_000,
    }


REASON, TOPIC, PARTITION, OFFSET = "dead-reason", "dead-topic", "dead-partition", "dead-offset"
MAX_REASON_CHARS = 500

type DeadLetterPublisher = Callable[[Record, str], Awaitable[object]]


def dead_letter_to(publisher: KafkaPublisher, topic: str) -> DeadLetterPublisher:
    """Return a function that publishes a record to the dead-letter topic and returns when it is acknowledged."""

    async def publish(record: Record, reason: str) -> None:
        headers = (*record.headers, *_reason_headers(record, reason))
        await publisher.send(topic, record.key, record.value, headers)

    return publish


def _reason_headers(record: Record, reason: str) -> Headers:
    return (
        (REASON, reason[:MAX_REASON_CHARS].encode()),
        (TOPIC, record.topic.encode()),
        (PARTITION, str(record.partition).encode()),
        (OFFSET, str(record.offset).encode()),
    )
