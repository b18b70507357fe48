"""A real process is asked to stop, made to hang, killed and broken: order, deadlines, exit codes."""

import signal
import socket
from typing import Any

import psutil
import pytest
from contract.telemetry.running import Running, eventually, running

from tidings.platform.lifecycle.admin import AdminOptions, AdminServer


def order(process: Running, *events: str) -> list[tuple[str, str]]:
    lines = [line for line in process.lines if line["event"] in events]
    return [(line["event"], line.get("component", "")) for line in lines]


def nobody_listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) != 0


def test_a_signal_drains_then_stops_in_reverse_and_ends_with_0() -> None:
    with running() as process:
        process.wait_for("process started")
        assert process.get("/readyz")[0] == 200
        process.wait_for("turned")
        process.popen.terminate()
        assert process.exit_code() == 0
        assert order(
            process, "component started", "signal: draining, then stopping", "component stopped"
        ) == [
            ("component started", "span_export"),
            ("component started", "worker"),
            ("signal: draining, then stopping", ""),
            ("component stopped", "worker"),
            ("component stopped", "span_export"),
        ]
        assert process.lines[-1]["event"] == "process stopped"
        assert process.lines[-1]["exit_code"] == 0
        assert process.lines[0]["loop"] == "uvloop"
        assert nobody_listens(process.port)
        turned = process.events("turned")[0]
        assert (turned["request_id"], turned["tenant"], turned["password"]) == ("r-1", "acme", "***")
        assert "hunter2" not in str(process.lines)
        assert process.stderr == ""


def test_a_draining_process_is_alive_and_working_but_not_ready() -> None:
    with running(drain_s=30) as process:
        process.wait_for("process started")
        process.popen.terminate()
        body = process.wait_for_status("/readyz", 503)
        assert body["phase"] == "draining"
        assert process.get("/livez")[0] == 200
        turns = len(process.events("turned"))
        eventually(lambda: len(process.events("turned")) > turns or None, "further turn")
        process.popen.terminate()
        assert process.exit_code() == 75


def test_a_component_that_hangs_in_stop_costs_its_deadline_and_exit_code_75() -> None:
    with running(worker_stop="hang on", worker_stop_s=0.2) as process:
        process.wait_for("process started")
        process.popen.terminate()
        assert process.exit_code() == 75
        (line,) = process.events("component did not stop")
        assert (line["component"], line["reason"]) == ("worker", "not stopped within 0.2 s")
        assert ("component stopped", "span_export") in order(process, "component stopped")


def test_a_second_signal_does_not_wait() -> None:
    with running(worker_stop="hang", worker_stop_s=60, stop_s=60) as process:
        process.wait_for("process started")
        process.popen.terminate()
        process.wait_for("signal: draining, then stopping")
        process.popen.send_signal(signal.SIGINT)
        assert process.exit_code() == 75
        assert process.events("second signal: stopping at once")


def test_after_kill_9_no_process_is_left_and_its_port_is_free() -> None:
    with running() as first:
        first.wait_for("process started")
        port = first.port
        children = psutil.Process(first.popen.pid).children(recursive=True)
        first.popen.kill()
        assert first.exit_code() == -signal.SIGKILL
        assert children == []
        assert nobody_listens(port)
        assert first.lines, "what was logged before the kill is there"
    with running(admin_port=port) as second:
        second.wait_for("process started")
        assert second.port == port
        assert second.get("/livez")[0] == 200


@pytest.mark.parametrize(
    ("sample", "code", "event", "reason"),
    [
        (
            {"worker_start": "fail"},
            1,
            "component did not start",
            "RuntimeError: redis://***@cache:6379 said no",
        ),
        (
            {"settings_are_wrong": True},
            2,
            "cannot create the components",
            "kafka.bootstrap_servers: is missing",
        ),
    ],
)
def test_a_process_that_cannot_start_reports_why_and_exits(
    sample: dict[str, Any], code: int, event: str, reason: str
) -> None:
    with running(**sample) as process:
        assert process.exit_code() == code
        (line,) = process.events(event)
        assert reason in line["reason"]
        assert reason in process.lines[-1]["reason"], "the end of the log says why, too"
        assert "hunter2" not in str(process.lines)


def test_a_port_that_is_taken_is_a_failed_start() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        running(admin_port=taken.getsockname()[1]) as process,
    ):
        assert process.exit_code() == 1
        (line,) = process.events("cannot listen on the admin port")
        assert "ddress already in use" in line["reason"]


def test_a_default_port_in_use_is_replaced_by_a_free_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        admin = AdminServer(AdminOptions(port=port, may_move=True), {})
        admin.start()
        admin.stop()
    assert admin.port not in (0, port)


def test_a_task_that_dies_ends_the_process_with_70_and_is_named() -> None:
    with running(on_usr1="crash", drain_s=60) as process:
        process.wait_for("process started")
        process.popen.send_signal(signal.SIGUSR1)
        assert process.exit_code() == 70
        (line,) = process.events("crashed")
        assert (line["component"], line["reason"]) == (
            "task consumer",
            "RuntimeError: the consumer lost its mind",
        )
        assert line["exception"][0]["frames"][-1]["name"] == "fail"
        assert ("component stopped", "worker") in order(process, "component stopped")


def test_a_log_reader_that_closes_does_not_end_the_process() -> None:
    with running() as process:
        process.wait_for("process started")
        process.stop_reading()
        metric = "tidings_log_lines_dropped_total "
        eventually(lambda: metric + "0.0" not in process.get("/metrics")[1] or None, "lost line")
        assert process.get("/readyz")[0] == 200
        process.popen.terminate()
        assert process.exit_code() == 0
