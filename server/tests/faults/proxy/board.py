"""Where the proxy's thread notes what happened, and where other threads wait for it."""

import threading
from collections.abc import Callable
from typing import Self, final


@final
class Board:
    """`with board:` around a change wakes everybody who waits; conditions are read under the same lock."""

    def __init__(self) -> None:
        self._changed = threading.Condition()

    def __enter__(self) -> Self:
        self._changed.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._changed.notify_all()
        self._changed.release()

    def wait(self, condition: Callable[[], bool], *, timeout_s: float, what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, timeout_s):
                raise TimeoutError(f"not within {timeout_s} s: {what}")
