"""One HTTP/1.1 connection: a request goes out whole, its answer comes back whole, then the next one may go.

What is not a whole answer to our request ends the connection: it is never used again half-read. Knows nothing
of DynamoDB, of signing or of trying again.
"""

import asyncio
from collections.abc import Callable
from typing import cast, override

import httptools

from tidings.platform.dynamo.errors import NotSentError

BUFFER_BYTES = 64 * 1024
NEVER = float("inf")


class HttpConnection(asyncio.BufferedProtocol):
    """`status`, `headers` and `body()` are the last answer's, until the next `send`.

    `deadline` is when the owner's clock should call `expire`: the call in flight is late, or idleness too long.
    `is_reusable` after a whole answer that does not say it is the last one.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        on_lost: Callable[["HttpConnection"], None],
        max_answer_bytes: int,
    ) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.deadline = NEVER
        self.is_closed = False
        self.is_reusable = False
        self._loop = loop
        self._on_lost = on_lost
        self._max_answer_bytes = max_answer_bytes
        # Somebody waits for an answer exactly while there is one of these.
        self._waiter: asyncio.Future[str | None] | None = None
        self._is_answered = False
        self._received_bytes = 0
        self._chunks: list[bytes] = []
        self._view = memoryview(bytearray(BUFFER_BYTES))
        # The parser looks these up once: a header or a chunk costs no Python call.
        self.on_header = self.headers.__setitem__
        self.on_body = self._chunks.append
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None

    def send(self, request: bytes, deadline: float) -> asyncio.Future[str | None]:
        """Done with None when the answer is whole, or with why there will be none.

        A caller that stops waiting must call `abort`.
        """
        if self._transport is None or self.is_closed:
            raise NotSentError("the connection was closed before anything was sent")
        self.headers.clear()
        self._chunks.clear()
        self._received_bytes = 0
        self._is_answered = self.is_reusable = False
        self.deadline = deadline
        self._waiter = waiter = self._loop.create_future()
        self._transport.write(request)
        return waiter

    def body(self) -> bytes:
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)

    def expire(self) -> None:
        self._end("no answer in time")

    def abort(self) -> None:
        """At once, without a goodbye: nothing that is still under way can be read or sent afterwards."""
        self._end("the call was given up")

    def _end(self, reason: str) -> None:
        self.is_closed = True
        self.is_reusable = False
        self.deadline = NEVER
        self._wake(reason)
        if self._transport is not None:
            self._transport.abort()

    def _wake(self, failure: str | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(failure)

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        where = "before an answer" if not self._received_bytes else "in the middle of the answer"
        self._end(f"the connection was lost {where}" + (f" ({exc})" if exc else ""))
        self._on_lost(self)

    @override
    def eof_received(self) -> None:
        # Known at once, so that the pool does not hand it out before connection_lost comes.
        if self._waiter is None:
            self.is_closed = True
            self.is_reusable = False

    @override
    def get_buffer(self, sizehint: int) -> memoryview:
        # Not the bytearray: asyncio's TLS slices what it gets and reads into the slice, which must not be a copy.
        return self._view

    @override
    def buffer_updated(self, nbytes: int) -> None:
        if self._waiter is None:
            self._end("something came that was not asked for")
            return
        self._received_bytes += nbytes
        if self._received_bytes > self._max_answer_bytes:
            self._end("the answer is larger than any of DynamoDB's")
            return
        try:
            self._parser.feed_data(self._view[:nbytes])
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._end(f"the answer is not HTTP ({error})")
            return
        if self._is_answered:
            self._wake(None)

    def on_message_begin(self) -> None:
        if self._is_answered:
            raise httptools.HttpParserError("a second answer to one request")

    def on_message_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self.is_reusable = self._parser.should_keep_alive()
        self._is_answered = True
