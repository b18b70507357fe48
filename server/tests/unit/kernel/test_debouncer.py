"""One flush per window, never two at a time, and none lost."""

import asyncio

from fixtures.loops import until

from tidings.kernel.debouncer import Debouncer


class Recorder:
    """Stores events and records what each flush takes. A flush waits for `may_finish`."""

    def __init__(self, window_s: float = 0.01) -> None:
        self.events: list[str] = []
        self.flushed: list[list[str]] = []
        self.errors: list[str] = []
        self.failures = 0
        self.may_finish = asyncio.Event()
        self.may_finish.set()
        self.debouncer = Debouncer(self.flush, window_s, lambda _, error: self.errors.append(str(error)))

    def add(self, event: str) -> None:
        self.events.append(event)
        self.debouncer.schedule()

    async def flush(self) -> None:
        events, self.events = self.events, []
        if self.failures:
            self.failures -= 1
            raise ValueError(events[0])
        self.flushed.append(events)
        await self.may_finish.wait()


async def test_events_of_one_window_are_flushed_together() -> None:
    recorder = Recorder()
    for event in ("a", "b", "c"):
        recorder.add(event)
    assert not recorder.flushed
    await until(lambda: recorder.debouncer.is_idle)
    assert recorder.flushed == [["a", "b", "c"]]


async def test_events_during_a_flush_wait_for_the_next() -> None:
    recorder = Recorder()
    recorder.may_finish.clear()
    recorder.add("a")
    await until(lambda: recorder.debouncer.is_flushing)
    recorder.add("b")
    await asyncio.sleep(0.03)
    recorder.add("c")
    assert recorder.flushed == [["a"]]
    recorder.may_finish.set()
    await until(lambda: recorder.debouncer.is_idle)
    assert recorder.flushed == [["a"], ["b", "c"]]


async def test_an_error_is_reported_and_does_not_end_the_debouncer() -> None:
    recorder = Recorder()
    recorder.failures = 1
    recorder.add("a")
    await until(lambda: recorder.errors == ["a"])
    recorder.add("b")
    await until(lambda: recorder.flushed == [["b"]])


async def test_wait_idle_flushes_before_the_window_ends() -> None:
    recorder = Recorder(window_s=3_600)
    recorder.add("a")
    await recorder.debouncer.wait_idle(5)
    assert recorder.flushed == [["a"]]
    assert recorder.debouncer.is_idle


async def test_wait_idle_flushes_events_that_arrived_during_a_flush() -> None:
    recorder = Recorder(window_s=3_600)
    recorder.may_finish.clear()
    recorder.add("a")
    waiting = asyncio.ensure_future(recorder.debouncer.wait_idle(5))
    await until(lambda: recorder.debouncer.is_flushing)
    recorder.add("b")
    await asyncio.sleep(0)
    recorder.may_finish.set()
    await waiting
    assert [event for events in recorder.flushed for event in events] == ["a", "b"]


async def test_wait_idle_cancels_a_flush_that_takes_too_long() -> None:
    recorder = Recorder()
    recorder.may_finish.clear()
    recorder.add("a")
    await until(lambda: recorder.debouncer.is_flushing)
    recorder.add("b")
    await recorder.debouncer.wait_idle(0.01)
    assert recorder.debouncer.is_idle
    assert recorder.flushed == [["a"]]
