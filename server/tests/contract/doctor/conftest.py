"""An installation that is well, to be bent by a test; and what the doctor says of it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.engines import Dynamo, Space
from fixtures.tables import Tables, make_tables

from tidings.platform.kafka.connection import Connection
from tidings.run.doctor.examine import CHECKS, case_of
from tidings.run.doctor.model import Finding, State
from tidings.run.settings.load import Loaded, load
from tidings.run.topics import plan_of, plane_of
from tidings.topics.apply import apply

type Examine = Callable[..., list[Finding]]


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., Loaded]:
    """Settings as an environment gives them, in an empty directory."""

    def make(**environment: str) -> Loaded:
        given = {f"TIDINGS_{name}": value for name, value in environment.items()}
        return load({"TIDINGS_TESTING": "1", "TIDINGS_INSTALLATION": "development", **given}, tmp_path)

    return make


@pytest.fixture
def examine(loaded: Callable[..., Loaded]) -> Examine:
    """`examine("redis", REDIS_URL=…)`: what one check finds."""

    def run(check: str, *admin: str, **environment: str) -> list[Finding]:
        return list(CHECKS[check](case_of(loaded(**environment), admin)))

    return run


def only(findings: list[Finding], check: str, state: State) -> Finding:
    """The one of this check that is not well, and it is in this state."""
    found = [each for each in findings if each.check == check and each.state not in (State.OK, State.SKIPPED)]
    assert [each.state for each in found] == [state], findings
    assert found[0].why
    assert found[0].todo
    return found[0]


def states(findings: list[Finding]) -> dict[str, State]:
    return {each.check: each.state for each in findings}


@pytest.fixture(scope="module")
def bent_tables(dynamo_local: Dynamo) -> Iterator[Tables]:
    """Of this file's tests alone: they may be bent, each test its own."""
    yield from make_tables(dynamo_local, Space().table_prefix)


@pytest.fixture
def topics(kafka: str, space: Space, loaded: Callable[..., Loaded]) -> dict[str, str]:
    """Settings that lead to topics as declared."""
    given = {"KAFKA_BOOTSTRAP_SERVERS": kafka, "KAFKA_TOPIC_PREFIX": space.topic_prefix}
    settings = loaded(**given).settings.kafka
    plane = plane_of(settings)
    apply(plane, plan_of(plane, settings), lambda _: None)
    return given


@pytest.fixture
def link(topics: dict[str, str]) -> Connection:
    return Connection(
        bootstrap_servers=topics["KAFKA_BOOTSTRAP_SERVERS"], topic_prefix=topics["KAFKA_TOPIC_PREFIX"]
    )
