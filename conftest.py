"""Fixtures that all test suites of the workspace share."""

import pytest

pytest_plugins = [
    "fixtures.engines",
    "fixtures.tables",
    "fixtures.stage",
    "fixtures.door",
    "fixtures.loops",
    "fixtures.office",
    "fixtures.redis_cluster",
    "fixtures.gateway",
    "fixtures.post",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--examples", type=int, default=4, help="of each operation, by chance, for schemathesis")
