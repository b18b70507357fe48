"""Fixtures that all test suites of the workspace share."""

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no mistake of a test: none fails because drawing or trying an example took long.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

pytest_plugins = [
    "fixtures.engines",
    "fixtures.tables",
    "fixtures.use_cases",
    "fixtures.accounts_env",
    "fixtures.loops",
    "fixtures.delivery_env",
    "fixtures.redis_cluster",
    "fixtures.gateway_process",
    "fixtures.installation_processes",
    "fixtures.gateway_env",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--examples", type=int, default=4, help="of each operation, by chance, for schemathesis")
