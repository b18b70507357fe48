import asyncio
import json
import logging
import os
import pty
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider

from tidings.kernel import security
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret, SecurityEventKind
from tidings.platform.telemetry import logs
from tidings.platform.telemetry.logs import LogOptions, LogSink, ProcessIdentity

pytestmark = pytest.mark.usefixtures("untouched_logging")


class Stream:
    """An unbuffered file that takes a few bytes at a time, as a pipe may."""

    def __init__(self) -> None:
        self.text = b""

    def write(self, data: memoryview) -> int:
        self.text += data[:100]
        time.sleep(0)  # lets another thread in, as a system call does
        return len(data[:100])

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def stream() -> Stream:
    stream = Stream()
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(), stream=stream)
    return stream


def test_a_line_has_time_event_and_process(stream: Stream) -> None:
    logs.get_logger("here").info("sent", sequence=7)
    (line,) = stream.lines
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "event": "sent",
        "process": "sample",
        "instance": "one",
        "source": "here",
        "sequence": 7,
    }


def test_ids_bound_outside_are_on_every_line_inside_tasks_included(stream: Stream) -> None:
    async def work() -> None:
        with logs.bind_context(request_id="r1", tenant="acme"):
            await asyncio.create_task(inner())
        logs.get_logger("here").info("after")

    async def inner() -> None:
        logs.get_logger("here").info("inside")

    asyncio.run(work())
    inside, after = stream.lines
    assert (inside["request_id"], inside["tenant"]) == ("r1", "acme")
    assert "request_id" not in after


def test_the_current_span_is_on_the_line(stream: Stream) -> None:
    with TracerProvider(shutdown_on_exit=False).get_tracer("t").start_as_current_span("work") as span:
        logs.get_logger("here").info("inside")
    context = span.get_span_context()
    assert stream.lines[0]["trace_id"] == f"{context.trace_id:032x}"
    assert stream.lines[0]["span_id"] == f"{context.span_id:016x}"


def test_lines_of_libraries_have_the_same_format(stream: Stream) -> None:
    logging.getLogger("botocore.auth").warning("signed %s", Secret("hunter2"), extra={"password": "hunter2"})
    logging.getLogger("botocore.auth").info("not shown")
    (signed,) = stream.lines
    assert (signed["event"], signed["level"], signed["source"]) == ("signed ***", "warning", "botocore.auth")
    assert signed["process"] == "sample"


def test_an_invalid_log_call_of_a_library_is_still_logged(stream: Stream) -> None:
    record = logging.makeLogRecord({"name": "odd", "levelname": "WARNING", "msg": "%d", "args": ("x",)})
    (handler,) = (
        each for each in logging.getLogger().handlers if isinstance(each, logs._StandardLibraryHandler)
    )
    handler.handle(record)
    assert stream.lines[0]["event"] == "%d <arguments do not match>"


def test_an_exception_is_structured_without_its_locals(stream: Stream) -> None:
    def fail() -> None:
        word = "hunter2"
        raise ValueError(f"token={word}")

    try:
        try:
            fail()
        except ValueError as error:
            raise TidingsError(Code.TABLES_FAILED, "no tables", details={"secret": "hunter2"}) from error
    except TidingsError:
        logs.get_logger("here").exception("failed")
    (line,) = stream.lines
    assert [part["exc_type"] for part in line["exception"]] == ["TidingsError", "ValueError"]
    assert [frame["name"] for frame in line["exception"][1]["frames"]][-1] == "fail"
    assert line["error_code"] == "tables_failed"
    assert "hunter2" not in stream.text.decode()


def test_an_uncaught_exception_in_a_thread_is_a_line(stream: Stream) -> None:
    def fail() -> None:
        raise RuntimeError("gone")

    thread = threading.Thread(target=fail, name="poller")
    thread.start()
    thread.join()
    assert stream.lines[0]["event"] == "uncaught exception in a thread"
    assert stream.lines[0]["thread"] == "poller"
    assert stream.lines[0]["exception"][0]["exc_value"] == "gone"


def test_a_field_of_the_caller_does_not_push_out_the_ones_that_every_line_has(stream: Stream) -> None:
    logs.get_logger("here").info("sent", **{f"field{n}": "x" * 1_900 for n in range(60)})
    assert list(stream.lines[0])[:5] == ["time", "level", "event", "process", "instance"]
    assert len(stream.text) < 20_000


def test_events_below_the_level_are_not_written() -> None:
    stream = Stream()
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(level="warning"), stream=stream)
    logs.get_logger("here").info("hidden")
    logs.get_logger("here").warning("shown")
    assert [line["event"] for line in stream.lines] == ["shown"]


def test_the_console_format_is_readable_and_masked_too() -> None:
    stream = Stream()
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(format="console"), stream=stream)
    try:
        int("password=hunter2")
    except ValueError:
        logs.get_logger("here").exception("failed", token=Secret("hunter2"))
    text = stream.text.decode()
    assert "failed" in text
    assert "Traceback" in text
    assert "hunter2" not in text


def in_a_terminal(form: str, **environment: str) -> str:
    """Return the output of a process on a terminal."""
    leader, follower = pty.openpty()
    code = (
        "from tidings.platform.telemetry import logs; from tidings.platform.telemetry.logs import ProcessIdentity; "
        f"logs.configure_logs(ProcessIdentity('sample', 'one'), logs.LogOptions(format={form!r})); logs.get_logger('here').info('seen')"
    )
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | environment
    subprocess.run([sys.executable, "-c", code], stdout=follower, env=environ, check=True)
    written = os.read(leader, 10_000).decode()
    os.close(leader)
    os.close(follower)
    return written


def test_colours_are_for_terminals_whose_user_wants_them() -> None:
    assert "\x1b[" in in_a_terminal("console")
    assert "\x1b[" not in in_a_terminal("console", NO_COLOR="1")
    stream = Stream()
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(format="console"), stream=stream)
    logs.get_logger("here").info("seen")
    assert b"\x1b[" not in stream.text


def test_the_format_follows_the_output_unless_it_is_set() -> None:
    assert not in_a_terminal("auto").startswith("{")
    assert in_a_terminal("json").startswith("{")
    stream = Stream()
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(format="auto"), stream=stream)
    logs.get_logger("here").info("seen")
    assert stream.lines[0]["event"] == "seen"


reserved = st.sampled_from(
    [
        *("time", "timestamp", "level", "process", "instance", "source", "tenant", "trace_id", "logger"),
        *("exception", "stack", "stack_info", "exc_info", "exc_type", "details", "error_code", "_record"),
    ]
)
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(),
    st.lists(st.text()),
    st.dictionaries(st.text(), st.text()),
)


@pytest.mark.parametrize("form", ["json", "console"])
@given(
    fields=st.dictionaries(st.one_of(reserved, st.text(min_size=1)), anything, max_size=4), event=st.text()
)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_field_of_a_caller_breaks_the_line(form: Any, fields: dict[str, Any], event: str) -> None:
    fields.pop("event", None)
    fields.pop("self", None)
    stream = Stream()
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(format=form), stream=stream)
    logs.get_logger("here").info(event, **fields)
    assert stream.text.endswith(b"\n")
    if form == "json":
        assert stream.lines[0]["process"] == "sample"


def test_a_closed_reader_loses_lines_without_failing_the_caller() -> None:
    class Gone:
        def write(self, _: memoryview, /) -> int:
            raise BrokenPipeError

    sink = LogSink(Gone())
    sink.info(b"one")
    sink.info(b"two")
    assert sink.lost == 2


def test_lines_of_many_threads_stay_whole(stream: Stream) -> None:
    def write(name: str) -> None:
        for number in range(50):
            logs.get_logger(name).info("x" * 150, number=number)

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stream.lines) == 200


@pytest.mark.parametrize(("level", "is_shown"), [("debug", True), ("info", False)])
def test_our_own_lines_of_the_standard_library_follow_our_own_level(
    stream: Stream, level: logs.Level, *, is_shown: bool
) -> None:
    logs.configure_logs(
        ProcessIdentity("sample", "one"), LogOptions(level=level, library_level="error"), stream=stream
    )
    logging.getLogger("tidings.accounts.verification_keys").debug("ours")
    logging.getLogger("tidings.kafka").warning("librdkafka's")
    logging.getLogger("botocore").warning("theirs")
    assert [line["event"] for line in stream.lines] == (["ours"] if is_shown else [])


def test_a_security_event_is_a_line_with_its_fields_at_the_highest_level_too(stream: Stream) -> None:
    logs.configure_logs(
        ProcessIdentity("sample", "one"), LogOptions(level="error", library_level="error"), stream=stream
    )
    security.record_security_event(SecurityEventKind.SESSIONS_ENDED, tenant="acme", user="anna", subject="s1")
    (line,) = stream.lines
    assert (line["event"], line["level"], line["source"]) == ("sessions_ended", "info", "tidings.security")
    assert (line["tenant"], line["user"], line["subject"]) == ("acme", "anna", "s1")


def test_refused_credentials_are_bounded_for_each_address_and_the_rest_is_counted(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.configure_logs(ProcessIdentity("sample", "one"), LogOptions(), stream=stream)
    now = [1000.0]
    monkeypatch.setattr(security, "monotonic", lambda: now[0])
    for place in ("192.0.2.200", "192.0.2.201"):
        security.ADDRESS.set(place)
        for _ in range(25):
            security.record_security_event(SecurityEventKind.CREDENTIAL_REJECTED, reason="no such key")
    assert len(stream.lines) == 2 * security.MAX_PER_WINDOW
    now[0] += security.WINDOW_S
    security.record_security_event(SecurityEventKind.CREDENTIAL_REJECTED, reason="no such key")
    assert stream.lines[-1]["omitted"] == 25 - security.MAX_PER_WINDOW
