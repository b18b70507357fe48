"""Send runs of events to endpoints, one event at a time for each chat, and record every attempt."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.kernel.fair_shares import FairSlots
from tidings.webhooks import rules
from tidings.webhooks.endpoints import delivery_of
from tidings.webhooks.model import Attempt, Delivery, Endpoint, EndpointName, QueuedItem, WebhookEvent
from tidings.webhooks.ports import DeliveryLog, WebhookTransport

_log = logging.getLogger(__name__)

MAX_RUN_S = 5.0
"""A worker starts no further event of a run after this time. With the request in flight, it ends within its claim."""
_CLAIM_MARGIN_S = 5.0
_MAX_BUFFERED = 10_000
_FLUSH_S = 0.5
_FLUSH_COUNT = 100


@dataclass(slots=True)
class WebhookStats:
    """Counters of a process."""

    delivered: int = 0
    failed: int = 0
    """Attempts that failed."""
    given_up: int = 0
    """Events whose last attempt failed."""
    queued: int = 0
    """Runs that were put into the queue."""
    unlogged: int = 0
    """Attempts that are missing in the delivery log."""
    disabled: int = 0


@dataclass(slots=True)
class EventRun:
    """Events of one chat for one endpoint, in order. `attempts`: failed attempts of the first one so far.

    The run covers entries up to `last`, also those without an event for the endpoint.
    """

    endpoint: Endpoint
    events: Sequence[WebhookEvent]
    last: int
    attempts: int = 0
    sent: int = 0
    failure: Attempt | None = None
    failed_ms: int = 0
    next_ms: int | None = None

    @property
    def unsent(self) -> int:
        """The sequence of the first event that is not delivered."""
        return self.events[self.sent].sequence if self.sent < len(self.events) else self.last + 1

    def settled(self, item: QueuedItem, now_ms: int) -> QueuedItem | None:
        """Return what is left of the queued item that this run belongs to."""
        if self.failure is not None:
            return rules.after_failure(item, self.unsent, self.failure, self.failed_ms, self.next_ms)
        return rules.rest_of(item, self.unsent, now_ms)


class DeliveryRecorder:
    """Writes the delivery log in the background. A failure loses entries of the log, never an event."""

    def __init__(self, log: DeliveryLog, stats: WebhookStats) -> None:
        self._log = log
        self._stats = stats
        self._buffer: deque[Delivery] = deque()
        self._has_many = asyncio.Event()

    def record(self, delivery: Delivery) -> None:
        if len(self._buffer) >= _MAX_BUFFERED:
            self._buffer.popleft()
            self._stats.unlogged += 1
        self._buffer.append(delivery)
        if len(self._buffer) >= _FLUSH_COUNT:
            self._has_many.set()

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_many.wait(), _FLUSH_S)
            self._has_many.clear()
            await self.flush()

    async def flush(self) -> None:
        while self._buffer:
            batch = [self._buffer.popleft() for _ in range(min(_FLUSH_COUNT, len(self._buffer)))]
            try:
                await self._log.add(batch)
            except TidingsError as error:
                self._stats.unlogged += len(batch)
                _log.warning("%s attempts are missing in the delivery log: %s", len(batch), error)


@dataclass(frozen=True, slots=True, kw_only=True)
class SendOptions:
    """`max_concurrent`: requests of this process to one endpoint at the same time."""

    timeout_s: float = 15.0
    max_concurrent: int = 8


class EventSender:
    def __init__(
        self,
        transport: WebhookTransport,
        recorder: DeliveryRecorder,
        clock: Clock,
        stats: WebhookStats,
        options: SendOptions,
    ) -> None:
        self._transport = transport
        self._recorder = recorder
        self._clock = clock
        self._stats = stats
        self._options = options
        self.max_concurrent = options.max_concurrent
        self.claim_ms = round((MAX_RUN_S + options.timeout_s + _CLAIM_MARGIN_S) * 1000)
        """How long a worker may take for a run or a queue that it has claimed."""
        self.slots: FairSlots[EndpointName] = FairSlots(each=options.max_concurrent)

    async def send(self, run: EventRun, until: float) -> None:
        """Send the events of a run until one fails or the time has passed. Updates the run after each."""
        for event in run.events[run.sent :]:
            if self._clock.monotonic() >= until:
                return
            attempt = await self._post(run.endpoint, event)
            now_ms = self._clock.now_ms()
            attempts = run.attempts + 1 if run.sent == 0 else 1
            if not attempt.is_ok:
                self._note_failure(run, event, attempt, now_ms, attempts)
                return
            self._stats.delivered += 1
            self._recorder.record(
                delivery_of(run.endpoint.name, event, attempt, now_ms, attempts=attempts, next_ms=None)
            )
            run.sent += 1

    async def _post(self, endpoint: Endpoint, event: WebhookEvent) -> Attempt:
        now_ms = self._clock.now_ms()
        valid = rules.valid_secrets(endpoint, now_ms)
        headers = rules.signed_headers(valid, event.id, now_ms, event.body)
        return await self._transport.post(
            endpoint.settings.url, event.body, headers, timeout_s=self._options.timeout_s
        )

    def _note_failure(
        self, run: EventRun, event: WebhookEvent, attempt: Attempt, now_ms: int, attempts: int
    ) -> None:
        delay_ms = rules.retry_delay_ms(attempts, attempt.retry_after_ms, random.random)
        run.failure, run.failed_ms = attempt, now_ms
        run.next_ms = None if delay_ms is None else now_ms + delay_ms
        self._stats.failed += 1
        self._stats.given_up += delay_ms is None
        self._recorder.record(
            delivery_of(run.endpoint.name, event, attempt, now_ms, attempts=attempts, next_ms=run.next_ms)
        )
