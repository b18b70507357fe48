"""State that the proxy's thread changes and other threads wait for."""

import threading
from collections.abc import Callable
from typing import Self, final


@final
class ProxyEventLog:
    """A lock that notifies waiters. Use `with board:` to change state and `with board.reading:` only to read it.

    Reading must not notify: waiters read, so two of them would wake each other forever.
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
