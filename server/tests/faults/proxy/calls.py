"""Record the requests that passed the proxy, for assertions."""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from faults.proxy.dynamo_request import Request
    from faults.proxy.event_log import ProxyEventLog
    from faults.proxy.fault import Fault


@dataclass(slots=True, eq=False)
class Call:
    """One request. Each field is set before the client can observe its effect.

    `applied` is False if the engine did not receive or rejected the request, and True if it answered 2xx. It is None
    until that is known, and permanently if the engine gave no answer.
    """

    operation: str
    tables: tuple[str, ...] = ()
    faults: tuple["Fault", ...] = ()
    applied: bool | None = False
    status: int | None = None
    is_copy: bool = False
    is_done: bool = False


@final
class CallLog:
    """Count calls, and keep them only if asked to record: a load test would fill the memory."""

    def __init__(self, board: "ProxyEventLog", *, records: bool) -> None:
        self._board = board
        self._records = records
        self._calls: list[Call] = []
        self._counts: Counter[str] = Counter()

    @property
    def calls(self) -> tuple[Call, ...]:
        if not self._records:
            raise RuntimeError("this proxy was created with record=False: read its `counts`")
        with self._board.reading:
            return tuple(self._calls)

    @property
    def counts(self) -> Counter[str]:
        with self._board.reading:
            return self._counts.copy()

    def open(self, request: "Request", *, is_copy: bool = False) -> Call:
        call = Call(request.operation, request.tables if self._records else (), is_copy=is_copy)
        with self._board:
            self._counts[call.operation] += 1
            if self._records:
                self._calls.append(call)
        return call

    def forget(self) -> None:
        with self._board:
            self._calls.clear()
            self._counts.clear()
