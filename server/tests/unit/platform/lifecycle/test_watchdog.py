import threading
from typing import override

from structlog.testing import capture_logs

from tidings.platform.lifecycle.watchdog import CpuTimeKillSwitch, Watchdog, WatchdogOptions, format_stack

DEADLINE_S = 60.0


class Beats:
    count = 0


class Harmless(CpuTimeKillSwitch):
    """The real one would end the test run."""

    @override
    def start(self) -> None: ...

    @override
    def rearm(self, cpu_s: float) -> None:
        assert cpu_s > 0

    @override
    def stop(self) -> None: ...


def watch(beats: Beats, *, exit_s: float) -> tuple[Watchdog, list[int], threading.Event]:
    codes: list[int] = []
    has_left = threading.Event()

    def leave(code: int) -> None:
        codes.append(code)
        has_left.set()
        watchdog._stop.set()

    watchdog = Watchdog(lambda: beats.count, WatchdogOptions(warn_s=0.02, exit_s=exit_s), Harmless(), leave)
    watchdog.start()
    return watchdog, codes, has_left


def test_a_blocked_loop_ends_the_process_with_its_stack_in_the_log() -> None:
    with capture_logs() as lines:
        watchdog, codes, has_left = watch(Beats(), exit_s=0.1)
        assert has_left.wait(DEADLINE_S)
        watchdog.stop()
    assert codes == [70]
    assert [line["event"] for line in lines] == [
        "event loop is blocked",
        "event loop is blocked: ending the process",
    ]
    assert lines[0]["stuck_at"][-1].endswith(" wait")


def test_a_running_loop_does_not_end_the_process() -> None:
    beats = Beats()
    watchdog, codes, has_left = watch(beats, exit_s=1.0)
    for _ in range(40):
        beats.count += 1
        assert not has_left.wait(0.01)
    watchdog.stop()
    assert codes == []


def test_the_stack_of_a_finished_thread_is_empty() -> None:
    assert format_stack(1) == []
