"""Trace a message through the processes: `send`, `append`, `publish`, `deliver` and `push`, one span each.

The context travels as W3C `traceparent`: in a header of the Kafka record, then in the push to the gateway. A record has
one header for each traced message of its batch. A process that exports no spans uses no part of this module.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, override

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, get_current_span, set_span_in_context

from tidings.bus.model import Push
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.messages.model import CommittedEvent, Entry, IdempotencyKey, SideWrites
from tidings.messages.ports import AppendOutcome
from tidings.messages.sender import Content, MessageSender, SendResult
from tidings.messages.store import DynamoMessageLog, KafkaCommitPublisher
from tidings.platform.kafka.producer_thread import RecordMetadata
from tidings.platform.kafka.records import Batch, Headers
from tidings.platform.telemetry.tracing import SpanAttributes, Tracing, traceparent_of

HEADER: Final = "traceparent"


class MessageTraces:
    """The traced messages that this process sends or delivers at the moment."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing
        self._sending: dict[tuple[ChatKey, IdempotencyKey], Context] = {}
        self.delivering: dict[ChatKey, tuple[str, ...]] = {}
        """`traceparent` of the deliveries in progress, which their pushes carry."""

    @contextmanager
    def send(self, chat: ChatKey, key: IdempotencyKey) -> Iterator[None]:
        """Open the span of a send: a child of the HTTP request, or the root of a trace that starts at a socket."""
        is_root = not get_current_span().get_span_context().is_valid
        kind = SpanKind.SERVER if is_root else SpanKind.INTERNAL
        with self._tracing.span("send", kind=kind, attributes=_attributes(chat)) as span:
            if traceparent_of(span) is None:
                yield
                return
            # Group commit: another sender's task may append and publish this message, so the context is found by key.
            context = self._sending[chat, key] = set_span_in_context(span)
            try:
                yield
            finally:
                if self._sending.get((chat, key)) is context:
                    del self._sending[chat, key]

    @contextmanager
    def append(self, chat: ChatKey, entries: Sequence[Entry]) -> Iterator[None]:
        """Open a span for each traced message of a batch."""
        with ExitStack() as spans:
            for sequence, parent in self._traced(chat, entries):
                attributes = {
                    **_attributes(chat),
                    "tidings.sequence": sequence,
                    "tidings.batch": len(entries),
                }
                spans.enter_context(
                    self._tracing.span("append", kind=SpanKind.CLIENT, parent=parent, attributes=attributes)
                )
            yield

    def publish(self, chat: ChatKey, entries: Sequence[Entry]) -> list[Span]:
        """Start a span for each traced message of a record. End them when Kafka has answered."""
        return [
            self._tracing.start("publish", SpanKind.PRODUCER, parent, _attributes(chat))
            for _, parent in self._traced(chat, entries)
        ]

    @contextmanager
    def deliver(self, batch: Batch[CommittedEvent]) -> Iterator[None]:
        """Continue the traces of a batch's records. Republished records have no trace."""
        spans: list[tuple[ChatKey, Span]] = []
        for event in batch.events:
            for parent in self._parents(event.record.headers):
                chat = event.body.key
                attributes = {**_attributes(chat), "tidings.partition": batch.partition}
                span = self._tracing.start("deliver", SpanKind.CONSUMER, parent, attributes)
                spans.append((chat, span))
                self.delivering[chat] = (*self.delivering.get(chat, ()), *_traceparents([span]))
        try:
            yield
        finally:
            for chat, span in spans:
                self.delivering.pop(chat, None)
                span.end()

    @contextmanager
    def push(self, push: Push) -> Iterator[None]:
        """Open the span of a push, from the bus to the sockets of its devices, in each of its traces."""
        devices = sum(len(part.devices) for part in push.parts)
        with ExitStack() as spans:
            for traceparent in push.traces:
                attributes = {**_attributes(push.key), "tidings.devices": devices}
                if parent := self._tracing.extract(traceparent):
                    spans.enter_context(
                        self._tracing.span(
                            "push", kind=SpanKind.CONSUMER, parent=parent, attributes=attributes
                        )
                    )
            yield

    def _traced(self, chat: ChatKey, entries: Sequence[Entry]) -> Iterator[tuple[int, Context]]:
        if self._sending:
            for entry in entries:
                if parent := self._sending.get((chat, entry.key)):
                    yield entry.sequence, parent

    def _parents(self, headers: Headers) -> Iterator[Context]:
        for name, value in headers:
            parent = self._tracing.extract(value.decode("latin-1")) if name == HEADER and value else None
            if parent is not None:
                yield parent


def make_traces(tracing: Tracing) -> MessageTraces | None:
    return MessageTraces(tracing) if tracing.is_on else None


class TracedMessageSender[S](MessageSender[S]):
    """Opens a span around each send."""

    traces: MessageTraces

    @override
    async def send(
        self,
        chat: ChatKey,
        sender: UserId,
        client_key: ClientKey,
        content: Content,
        *,
        after: int | None = None,
        content_type: str | None = None,
        ttl_s: int | None = None,
    ) -> SendResult:
        with self.traces.send(chat, IdempotencyKey(sender, client_key)):
            return await super().send(
                chat, sender, client_key, content, after=after, content_type=content_type, ttl_s=ttl_s
            )


class TracedMessageLog(DynamoMessageLog):
    """Opens a span around each append."""

    traces: MessageTraces

    @override
    async def append(
        self,
        chat: ChatKey,
        entries: Sequence[Entry],
        side_writes: SideWrites | None = None,
        *,
        is_keyed: bool = False,
    ) -> AppendOutcome:
        with self.traces.append(chat, entries):
            return await super().append(chat, entries, side_writes, is_keyed=is_keyed)


class TracedCommitPublisher(KafkaCommitPublisher):
    """Adds the contexts of traced messages to the records, and opens a span until Kafka has answered."""

    traces: MessageTraces

    @override
    def send_event(self, event: CommittedEvent, headers: Headers = ()) -> "asyncio.Future[RecordMetadata]":
        spans = self.traces.publish(event.key, event.entries)
        own = tuple((HEADER, each.encode()) for each in _traceparents(spans))
        delivered = super().send_event(event, (*headers, *own))
        if spans:
            delivered.add_done_callback(_end(spans))
        return delivered


def _end(spans: Iterable[Span]) -> "Callable[[asyncio.Future[RecordMetadata]], None]":
    def end(_: "asyncio.Future[RecordMetadata]") -> None:
        for span in spans:
            span.end()

    return end


def _traceparents(spans: Iterable[Span]) -> Iterator[str]:
    return (text for span in spans if (text := traceparent_of(span)))


def _attributes(chat: ChatKey) -> SpanAttributes:
    return {"tidings.tenant": chat.tenant, "tidings.chat": chat.chat}
