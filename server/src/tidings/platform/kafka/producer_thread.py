"""librdkafka's producer with the one thread that takes its answers. The publisher stands on it.

A pump that had a fatal error is ended and another one made; it is never mended.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

import msgspec
from confluent_kafka import KafkaError, Message, Producer

from tidings.platform.kafka.config import KafkaHealthTracker, LibrdkafkaConfig
from tidings.platform.kafka.errors import error_text, is_fatal

_POLL_S = 0.1
_PURGE_S = 2.0

type Waiter = asyncio.Future["RecordMetadata"]
type DeliveryReport = tuple[Waiter, KafkaError | None, Message]


class RecordMetadata(msgspec.Struct, frozen=True, gc=False):
    """Where an acknowledged message stands in the log."""

    partition: int
    offset: int


class QueuedRecord(msgspec.Struct, frozen=True):
    """A message and who waits for its answer."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]
    waiter: Waiter


class ProducerEvents(Protocol):
    """Whom a pump tells, always on the loop."""

    def on_delivered(self, lot: list[DeliveryReport]) -> None: ...

    def renew(self, pump: "ProducerThread", why: str) -> None: ...


class ProducerThread:
    def __init__(
        self,
        config: LibrdkafkaConfig,
        inbox_key: ProducerEvents,
        health: KafkaHealthTracker,
        make: Callable[[LibrdkafkaConfig], Producer] = Producer,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._owner = inbox_key
        self._health = health
        self._done: list[DeliveryReport] = []
        self._received = 0
        self._is_ending = threading.Event()
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._producer = make({**config, "error_cb": self._on_error, "stats_cb": self._on_stats})
        self._thread = threading.Thread(target=self._run, name="kafka-publisher", daemon=True)
        self._thread.start()

    def produce(self, message: QueuedRecord) -> None:
        """Raises BufferError if librdkafka has no room, KafkaException if it won't have the message."""
        self._producer.produce(
            message.topic,
            message.value,
            message.key,
            headers=message.headers,
            on_delivery=partial(self._answered, message.waiter),
        )

    async def end(self) -> int:
        """Stop waiting for answers: every message without one is told so. Returns how many those were."""
        self._is_ending.set()
        return await asyncio.shield(self._ended)

    def _answered(self, waiter: Waiter, error: KafkaError | None, message: Message) -> None:
        self._done.append((waiter, error, message))

    def _run(self) -> None:
        try:
            self._take_answers()
        except Exception as error:  # noqa: BLE001 - a pump whose thread ended would leave every waiter waiting
            self._tell(self._owner.renew, self, repr(error))
            self._is_ending.wait()
        unanswered = self._give_up()
        self._tell(self._end_with, unanswered)
        del self._producer  # destroyed here: it joins threads, which the loop must not wait for

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
        """One wake-up of the loop per drained lot. The callbacks ran in this thread, inside `poll`."""
        if self._done:
            lot, self._done = self._done, []
            self._tell(self._owner.on_delivered, lot)

    def _end_with(self, unanswered: int) -> None:
        if not self._ended.done():
            self._ended.set_result(unanswered)

    def _on_error(self, error: KafkaError) -> None:
        self._health.failed(error_text(error))
        if is_fatal(error):
            self._tell(self._owner.renew, self, error_text(error))

    def _on_stats(self, stats: str) -> None:
        """Something received is an answer; with nothing asked, a connection that stands is as good."""
        brokers = msgspec.json.decode(stats, type=_Stats).brokers.values()
        received = sum(broker.rx for broker in brokers)
        is_idle = not len(self._producer) and any(broker.state == "UP" for broker in brokers)
        if received > self._received or is_idle:
            self._health.answered()
        self._received = received

    def _tell[*Ts](self, what: Callable[[*Ts], object], *args: *Ts) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(what, *args)


class _Broker(msgspec.Struct):
    state: str
    rx: int


class _Stats(msgspec.Struct):
    brokers: dict[str, _Broker]
