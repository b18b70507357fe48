"""A healthy installation that a test may break, and the findings of the doctor."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from failpoints.clock import OffsetClock
from fixtures.engines import Dynamo, Namespace
from fixtures.tables import Tables, make_tables

from tidings.app.settings.loader import LoadedSettings, load
from tidings.app.wiring.schema import topics_control_plane, topics_plan
from tidings.doctor.checks import CHECKS, make_context
from tidings.doctor.model import CheckState, Finding
from tidings.platform.kafka.config import KafkaConfig
from tidings.schema.topics.control_plane import apply_topics

type Examine = Callable[..., list[Finding]]


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., LoadedSettings]:
    """Settings as an environment gives them, in an empty directory."""

    def make(**environment: str) -> LoadedSettings:
        given = {f"TIDINGS_{name}": value for name, value in environment.items()}
        return load({"TIDINGS_INSTALLATION": "development", **given}, tmp_path)

    return make


@pytest.fixture
def examine(loaded: Callable[..., LoadedSettings]) -> Examine:
    """`examine("redis", REDIS_URL=…)` returns the findings of one check."""

    def run(check: str, *admin: str, clock_offset_s: float = 0, **environment: str) -> list[Finding]:
        context = make_context(loaded(**environment), admin)
        return list(CHECKS[check](replace(context, clock=OffsetClock(clock_offset_s))))

    return run


def only(findings: list[Finding], check: str, state: CheckState) -> Finding:
    """Return the only finding of a check that is not OK, and assert its state."""
    found = [
        each
        for each in findings
        if each.check == check and each.state not in (CheckState.OK, CheckState.SKIPPED)
    ]
    assert [each.state for each in found] == [state], findings
    assert found[0].why
    assert found[0].todo
    return found[0]


def states(findings: list[Finding]) -> dict[str, CheckState]:
    return {each.check: each.state for each in findings}


@pytest.fixture(scope="module")
def bent_tables(dynamo_local: Dynamo) -> Iterator[Tables]:
    """Servers that a test may reconfigure: each test starts its own."""
    yield from make_tables(dynamo_local, Namespace().table_prefix)


@pytest.fixture
def topics(kafka: str, space: Namespace, loaded: Callable[..., LoadedSettings]) -> dict[str, str]:
    """Settings that lead to topics as declared."""
    given = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "KAFKA_TOPIC_PREFIX": space.topic_prefix}
    settings = loaded(**given).settings.kafka
    plane = topics_control_plane(settings)
    apply_topics(plane, topics_plan(plane, settings), lambda _: None)
    return given


@pytest.fixture
def link(topics: dict[str, str]) -> KafkaConfig:
    return KafkaConfig(
        bootstrap_servers=topics["KAFKA_BOOTSTRAP_SERVERS"], topic_prefix=topics["KAFKA_TOPIC_PREFIX"]
    )
