"""Use cases being called: a task for each, none for who is idle. What comes of them goes back to who asked.

Bounded for each user over all his connections here; for each connection the connection itself does it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol, final

from msgspec import Struct

from tidings.gateway.dispatch import RequestHandler
from tidings.gateway.effects import HandleRequest
from tidings.gateway.serving import RequestContext
from tidings.gateway.traffic import RequestMetrics
from tidings.kernel.errors import Code
from tidings.wire.errors import ErrorBody, make_error_body
from tidings.wire.frames.table import REQUEST_BY_BODY

_RETRY_MS = 100


class RequestOwner(Protocol):
    @property
    def visit(self) -> RequestHandler: ...

    def answered(self, call: HandleRequest, body: Struct) -> None:
        """Also after its end, where it does nothing."""
        ...


@final
class RequestTasks:
    def __init__(
        self, measure: RequestMetrics, report: Callable[[str, BaseException], None], per_user: int
    ) -> None:
        self._measure = measure
        self._report = report
        self._per_user = per_user
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: dict[RequestContext, int] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def make(self, asker: RequestOwner, call: HandleRequest) -> None:
        caller = asker.visit.caller
        if caller is not None and self._busy.get(caller, 0) >= self._per_user:
            said = f"{self._per_user} requests of this user are in flight; wait for an answer."
            asker.answered(call, make_error_body(Code.RATE_LIMITED, said, retry_after_ms=_RETRY_MS))
            return
        self._count(caller, 1)
        task = asyncio.get_running_loop().create_task(self._run(asker, call, caller))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    async def wait_idle(self, within_s: float) -> int:
        """Waits for those that are on their way; what is not answered by then is cut off. How many were."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)
        late = list(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return len(late)

    async def _run(self, asker: RequestOwner, call: HandleRequest, caller: RequestContext | None) -> None:
        began = time.perf_counter()
        try:
            body = await asker.visit.answer(call.request)
        finally:
            self._count(caller, -1)
        kind = REQUEST_BY_BODY[type(call.request)].name
        self._measure.called(kind, time.perf_counter() - began, is_ok=not isinstance(body, ErrorBody))
        asker.answered(call, body)

    def _count(self, caller: RequestContext | None, more: int) -> None:
        if caller is not None:
            self._busy[caller] = self._busy.get(caller, 0) + more
            if not self._busy[caller]:
                del self._busy[caller]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report("an answer could not be given", error)
