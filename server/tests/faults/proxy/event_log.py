"""Where the proxy's thread notes what happened, and where other threads wait for it."""

import threading
from collections.abc import Callable
from typing import Self, final


@final
class ProxyEventLog:
    """`with board:` around a change wakes everybody who waits; `with board.reading:` only keeps changes out.

    The two must not be one: waiters read, and if reading woke others, two of them would wake each other for ever.
    """

    def __init__(self) -> None:
        self.reading = threading.Condition()

    def __enter__(self) -> Self:
        self.reading.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.reading.notify_all()
        self.reading.release()

    def wait(self, condition: Callable[[], bool], *, timeout_s: float, what: str) -> None:
        with self.reading:
            if not self.reading.wait_for(condition, timeout_s):
                raise TimeoutError(f"not within {timeout_s} s: {what}")
