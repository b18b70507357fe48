"""A blocked event loop is visible from outside, logged, and ends the process."""

import signal
import time

from contract.telemetry.running import eventually, running


def test_a_blocked_loop_fails_livez_and_the_process_logs_its_stack_and_exits() -> None:
    with running(on_usr1="block", warn_s=0.3, exit_s=1.0) as process:
        process.wait_for("process started")
        assert process.get("/livez")[0] == 200
        process.popen.send_signal(signal.SIGUSR1)
        body = process.wait_for_status("/livez", 503)
        assert body["reason"].startswith("the event loop is blocked for ")
        status, ready = process.get("/readyz")
        assert status == 503
        assert ready["problems"][0].startswith("the event loop is blocked for ")
        assert process.get("/metrics")[0] == 200
        assert process.exit_code() == 70
        (line,) = process.events("event loop is blocked: ending the process")
        assert "sample_process.py" in line["stuck_at"][-1]
        assert line["stuck_at"][-1].endswith(" block")


def test_a_loop_that_recovers_in_time_continues() -> None:
    with running(on_usr1="block a little", warn_s=0.3, exit_s=30) as process:
        process.wait_for("process started")
        process.popen.send_signal(signal.SIGUSR1)
        process.wait_for("event loop is blocked")
        process.wait_for_status("/livez", 200)
        process.wait_for_status("/readyz", 200)
        process.popen.terminate()
        assert process.exit_code() == 0


def test_code_that_never_releases_the_gil_is_ended_with_its_stack_on_stderr() -> None:
    with running(on_usr1="hold the interpreter", warn_s=0.2, exit_s=0.5) as process:
        process.wait_for("process started")
        process.popen.send_signal(signal.SIGUSR1)
        assert process.exit_code() == -signal.SIGPROF
        assert "in hold_the_interpreter" in process.stderr


def test_a_process_that_was_suspended_is_not_ended_on_waking() -> None:
    with running(warn_s=0.4, exit_s=1.0) as process:
        process.wait_for("process started")
        process.popen.send_signal(signal.SIGSTOP)
        suspended_at = time.monotonic()
        eventually(lambda: time.monotonic() > suspended_at + 1.5 or None, "time beyond `exit_s`")
        process.popen.send_signal(signal.SIGCONT)
        turns = len(process.events("turned"))
        eventually(lambda: len(process.events("turned")) > turns + 5 or None, "further turns")
        assert process.get("/livez")[0] == 200


def test_a_log_reader_that_does_not_read_ends_the_process_too() -> None:
    """The pipe fills up, the next line blocks the loop, and the watchdog can't write either."""
    with running(warn_s=0.2, exit_s=0.5, is_read=False) as process:
        assert process.exit_code(30) == 70
