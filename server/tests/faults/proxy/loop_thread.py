"""An asyncio loop in a thread of its own, so that tests of any kind and other processes can reach what runs in it."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, final

type Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@final
class LoopThread:
    """Runs until `stop`. Its methods are for other threads; inside the loop they would wait for themselves."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._keep)
        self._failures: list[Exception] = []
        self._tasks: set[asyncio.Task[object]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def call[T](self, coroutine: Coroutine[Any, Any, T], *, timeout_s: float = 30) -> T:
        """Run it in the loop and wait for what it returns or raises."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("called from the proxy's own thread, which would wait for itself")
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout_s)

    def soon(self, callback: Callable[[], object]) -> None:
        """Run it in the loop before long; once the loop is closed there is nothing left to tell."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(callback)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """In the loop: run it on its own; if it fails, `stop` raises that."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def serving(self, serve: Serve) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        """`serve` as asyncio.start_server wants it; left to itself, that trips over cancelled tasks in 3.12.1."""
        return lambda reader, writer: self.spawn(serve(reader, writer))

    def cpu_s(self) -> float:
        """CPU seconds that this thread alone has used: a measure that other load does not blur."""
        assert self._thread.ident is not None
        return time.clock_gettime(time.pthread_getcpuclockid(self._thread.ident))

    def stop(self) -> None:
        """Cancel what still runs, and raise what failed unseen: a test must not pass over a broken predicate."""
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
    await asyncio.sleep(0)  # aborted transports close their sockets in the loop's next turn
