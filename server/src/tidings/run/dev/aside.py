"""Something done in a thread meanwhile. Its result, or its error, is had when it is asked for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future


class BackgroundTask[T]:
    """A daemon: whoever is not interested any more leaves without waiting for it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        threading.Thread(target=self._run, args=(work,), name="aside", daemon=True).start()

    def result(self) -> T:
        return self._future.result()

    def _run(self, work: Callable[[], T]) -> None:
        try:
            self._future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again by who asks for the result
            self._future.set_exception(error)
