"""Spans of two processes, through a header, into a real OTLP receiver; and a collector that fails."""

import socket
from collections.abc import Iterator

import pytest
from contract.telemetry.otlp import Receiver
from contract.telemetry.running import eventually, running

from tidings.kernel.security import Secret
from tidings.platform.lifecycle.run import configure_tracing
from tidings.platform.telemetry.logs import ProcessIdentity
from tidings.platform.telemetry.tracing import TracingOptions


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_spans_of_two_processes_are_one_trace_through_the_header(receiver: Receiver) -> None:
    with running(kind="api", otlp=receiver.endpoint) as api:
        carried = api.wait_for("carried")
        with running(kind="delivery", otlp=receiver.endpoint, traceparent=carried["traceparent"]) as delivery:
            line = delivery.wait_for("carried")
            sent = eventually(lambda: receiver.named("api work"), "span of the api")
            taken = eventually(lambda: receiver.named("delivery work"), "span of delivery")
    assert (sent.service, taken.service) == ("tidings-api", "tidings-delivery")
    assert taken.trace_id == sent.trace_id
    assert taken.parent_id == sent.span_id
    assert line["trace_id"] == carried["trace_id"] == sent.trace_id.hex()
    assert line["span_id"] == taken.span_id.hex()


def test_spans_that_wait_are_sent_by_the_stop(receiver: Receiver) -> None:
    with running(otlp=receiver.endpoint, export_every_s=600) as process:
        process.wait_for("carried")
        assert receiver.spans == []
        process.popen.terminate()
        assert process.exit_code() == 0
    assert receiver.named("sample work")


def test_the_headers_that_a_collector_wants_are_sent(receiver: Receiver) -> None:
    options = TracingOptions(endpoint=receiver.endpoint, ratio=1.0, headers={"X-Team": Secret("hunter2")})
    traced = configure_tracing(ProcessIdentity("api", "one"), options)
    with traced.span("work"):
        pass
    assert traced.close()
    assert {name.lower(): value for name, value in receiver.headers.items()}["x-team"] == "hunter2"


def test_a_refusing_collector_is_reported_and_does_not_affect_readiness(receiver: Receiver) -> None:
    receiver.status = 400
    with running(otlp=receiver.endpoint) as process:
        process.wait_for("component is not well", component="span_export")
        status, body = process.get("/readyz")
        assert status == 200
        assert "the collector took no spans" in body["components"]["span_export"]["reason"]
        assert "tidings_spans_dropped_total 1.0" in process.get("/metrics")[1]


def test_a_collector_that_never_answers_does_not_make_the_stop_unclean() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with running(otlp=endpoint, flush_s=0.3) as process:
            process.wait_for("carried")
            process.popen.terminate()
            assert process.exit_code() == 0
            assert process.events("spans were not sent in time")
