from dataclasses import replace
from typing import override

import pytest
from structlog.testing import capture_logs
from unit.platform.lifecycle.parts import FakeComponent, StillClock

from tidings.platform.lifecycle.component import Health
from tidings.platform.lifecycle.process_status import ComponentState, Phase, ProcessStatus
from tidings.platform.telemetry.metrics import Metrics

HEALTHY = Health(ok=True, reason="", since=StillClock().now())
UNHEALTHY = Health(ok=False, reason="no broker answered for 12 s", since=StillClock().now())


@pytest.fixture
def kafka() -> FakeComponent:
    return FakeComponent("kafka", [])


@pytest.fixture
def board(kafka: FakeComponent) -> ProcessStatus:
    board = ProcessStatus(StillClock(), Metrics())
    board.declare([kafka])
    board.mark(kafka, ComponentState.STARTED)
    board.enter(Phase.RUNNING)
    return board


def test_ready_means_that_all_components_are_healthy(board: ProcessStatus, kafka: FakeComponent) -> None:
    kafka.reported_health = UNHEALTHY
    board.publish()
    assert not board.report.is_ready
    assert board.report.components[0].reason == "no broker answered for 12 s"


@pytest.mark.parametrize("phase", Phase)
def test_only_a_running_process_can_be_ready(board: ProcessStatus, phase: Phase) -> None:
    board.enter(phase)
    assert board.report.is_ready is (phase is Phase.RUNNING)


def test_a_component_that_does_not_gate_readiness_is_only_reported(
    board: ProcessStatus, kafka: FakeComponent
) -> None:
    kafka.reported_health = UNHEALTHY
    kafka.gates_readiness = False
    board.publish()
    assert board.report.is_ready
    assert not board.report.components[0].ok


def test_a_component_that_is_not_started_is_never_ok(board: ProcessStatus, kafka: FakeComponent) -> None:
    kafka.reported_health = HEALTHY
    board.mark(kafka, ComponentState.STOPPING)
    assert not board.report.is_ready
    assert board.report.components[0].reason == "stopping"


def test_failure_and_recovery_are_reported_once_each(board: ProcessStatus, kafka: FakeComponent) -> None:
    with capture_logs() as lines:
        for health in (HEALTHY, UNHEALTHY, replace(UNHEALTHY, reason="still"), HEALTHY, HEALTHY):
            kafka.reported_health = health
            board.publish()
    assert [(line["event"], line["component"]) for line in lines] == [
        ("component is not well", "kafka"),
        ("component is well again", "kafka"),
    ]
    assert lines[0]["reason"] == "no broker answered for 12 s"


@pytest.mark.parametrize(("gone_s", "reports"), [(0.0, 0), (1.9, 0), (2.1, 1)])
def test_a_component_that_just_started_has_a_grace_time(
    kafka: FakeComponent, gone_s: float, reports: int
) -> None:
    clock = StillClock()
    board = ProcessStatus(clock, Metrics())
    board.declare([kafka])
    kafka.reported_health = UNHEALTHY
    with capture_logs() as lines:
        board.mark(kafka, ComponentState.STARTED)
        clock.gone_s = gone_s
        board.publish()
        board.publish()
    assert len(lines) == reports
    assert not board.report.components[0].ok


def test_health_and_readiness_are_metrics(kafka: FakeComponent) -> None:
    metrics = Metrics()
    board = ProcessStatus(StillClock(), metrics)
    board.declare([kafka])
    board.mark(kafka, ComponentState.STARTED)
    board.enter(Phase.RUNNING)
    assert 'tidings_component_ok{component="kafka"} 1.0\n' in metrics.render().decode()
    kafka.reported_health = UNHEALTHY
    board.publish()
    page = metrics.render().decode()
    assert 'tidings_component_ok{component="kafka"} 0.0\n' in page
    assert "tidings_process_ready 0.0\n" in page


def test_a_reason_never_shows_a_secret(board: ProcessStatus, kafka: FakeComponent) -> None:
    kafka.reported_health = replace(UNHEALTHY, reason="can't reach redis://app:hunter2@cache")
    board.publish()
    assert board.report.components[0].reason == "can't reach redis://***@cache"


def test_a_component_whose_health_check_fails_is_not_healthy() -> None:
    class Confused(FakeComponent):
        @override
        def health(self) -> Health:
            raise RuntimeError("where am I")

    confused = Confused("kafka", [])
    board = ProcessStatus(StillClock(), Metrics())
    board.declare([confused])
    board.mark(confused, ComponentState.STARTED)
    assert board.report.components[0].reason == "health check failed: RuntimeError: where am I"
