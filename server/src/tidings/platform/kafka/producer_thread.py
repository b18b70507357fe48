"""librdkafka's producer with the thread that polls its delivery reports. Part of the publisher.

After a fatal error the publisher ends it and creates another one.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial

import msgspec
from confluent_kafka import KafkaError, Message, Producer

from tidings.platform.kafka.config import KafkaHealthTracker, LibrdkafkaConfig
from tidings.platform.kafka.errors import error_text, is_fatal

_POLL_S = 0.1
_PURGE_S = 2.0

type Waiter = asyncio.Future["RecordMetadata"]
type DeliveryReport = tuple[Waiter, KafkaError | None, Message]


class RecordMetadata(msgspec.Struct, frozen=True, gc=False):
    """The position of an acknowledged message in the log."""

    partition: int
    offset: int


class QueuedRecord(msgspec.Struct, frozen=True):
    """A message and the future of its acknowledgement."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]
    waiter: Waiter


class ProducerThread:
    """A producer and its thread. The callbacks run in the event loop; after `on_fatal` it must be replaced."""

    def __init__(
        self,
        config: LibrdkafkaConfig,
        health: KafkaHealthTracker,
        on_delivered: Callable[[list[DeliveryReport]], None],
        on_fatal: Callable[["ProducerThread", str], None],
        make: Callable[[LibrdkafkaConfig], Producer] = Producer,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._health = health
        self._on_delivered = on_delivered
        self._on_fatal = on_fatal
        self._done: list[DeliveryReport] = []
        self._received = 0
        self._is_ending = threading.Event()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._producer = make({**config, "error_cb": self._on_error, "stats_cb": self._on_stats})
        self._thread = threading.Thread(target=self._run, name="kafka-publisher", daemon=True)
        self._thread.start()

    def produce(self, message: QueuedRecord) -> None:
        """Queue a message. Raises BufferError if librdkafka's queue is full, KafkaException if it rejects the message."""
        self._producer.produce(
            message.topic,
            message.value,
            message.key,
            headers=message.headers,
            on_delivery=partial(self._answered, message.waiter),
        )

    async def end(self) -> int:
        """Stop, and fail every message without an answer. Returns how many those were."""
        self._is_ending.set()
        return await asyncio.shield(self._ended)

    def _answered(self, waiter: Waiter, error: KafkaError | None, message: Message) -> None:
        self._done.append((waiter, error, message))

    def _run(self) -> None:
        try:
            self._take_answers()
        except Exception as error:  # noqa: BLE001 - without the thread, no message would ever be answered
            self._call_in_loop(self._on_fatal, self, repr(error))
            self._is_ending.wait()
        unanswered = self._give_up()
        self._call_in_loop(self._end_with, unanswered)
        del (
            self._producer
        )  # Destroyed in this thread: it joins threads, and the event loop must not wait for that.

    def _take_answers(self) -> None:
        while not self._is_ending.is_set():
            self._producer.poll(_POLL_S)
            self._report()

    def _give_up(self) -> int:
        self._producer.poll(0)
        unanswered = len(self._producer)
        self._producer.purge()
        deadline = time.monotonic() + _PURGE_S
        while len(self._producer) and time.monotonic() < deadline:
            self._producer.poll(_POLL_S)
        self._report()
        return unanswered

    def _report(self) -> None:
        """Pass all reports of one `poll` to the event loop with one wake-up. Their callbacks ran in this thread."""
        if self._done:
            lot, self._done = self._done, []
            self._call_in_loop(self._on_delivered, lot)

    def _end_with(self, unanswered: int) -> None:
        if not self._ended.done():
            self._ended.set_result(unanswered)

    def _on_error(self, error: KafkaError) -> None:
        self._health.failed(error_text(error))
        if is_fatal(error):
            self._call_in_loop(self._on_fatal, self, error_text(error))

    def _on_stats(self, stats: str) -> None:
        """Count received bytes as an answer and, while no message is in flight, an open connection too."""
        brokers = msgspec.json.decode(stats, type=_Stats).brokers.values()
        received = sum(broker.rx for broker in brokers)
        is_idle = not len(self._producer) and any(broker.state == "UP" for broker in brokers)
        if received > self._received or is_idle:
            self._health.answered()
        self._received = received

    def _call_in_loop[*Ts](self, what: Callable[[*Ts], object], *args: *Ts) -> None:
        with contextlib.suppress(RuntimeError):  # The event loop is closed.
            self._loop.call_soon_threadsafe(what, *args)


class _Broker(msgspec.Struct):
    state: str
    rx: int


class _Stats(msgspec.Struct):
    brokers: dict[str, _Broker]
