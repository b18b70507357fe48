"""An asyncio event loop in its own thread, so that synchronous tests and other processes can use servers in it."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, final

type Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@final
class LoopThread:
    """Run an event loop until `stop`. Call its methods from other threads; inside the loop they would deadlock."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._keep)
        self._failures: list[Exception] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call[T](self, coroutine: Coroutine[Any, Any, T], *, timeout_s: float = 30) -> T:
        """Run a coroutine in the loop, and return its result or raise its error."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("called from the proxy's own thread, which would deadlock")
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout_s)

    def soon(self, callback: Callable[[], object]) -> None:
        """Schedule a callback in the loop. Does nothing after the loop is closed."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(callback)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Start a task; call it in the loop. `stop` raises its error."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def serving(self, serve: Serve) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """Adapt `serve` for `asyncio.start_server`, which handles cancelled tasks wrongly in Python 3.12.1."""
        return lambda reader, writer: self.spawn(serve(reader, writer))

    def cpu_s(self) -> float:
        """Return the CPU seconds of this thread alone, which other load does not affect."""
        assert self._thread.ident is not None
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))

    def stop(self) -> None:
        """Cancel running tasks and raise their unobserved errors: a test must not pass with a broken predicate."""
        if self.loop.is_closed():
            return
        self.call(_cancel_the_rest())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
        if self._failures:
            raise ExceptionGroup(f"in the thread {self._thread.name}", self._failures)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._failures.append(error)

    def _keep(self, _: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        error = context.get("exception")
        self._failures.append(error if isinstance(error, Exception) else RuntimeError(context["message"]))


async def _cancel_the_rest() -> None:
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next iteration
