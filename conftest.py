"""Fixtures that all test suites of the workspace share."""

pytest_plugins = [
    "fixtures.engines",
    "fixtures.tables",
    "fixtures.stage",
    "fixtures.door",
    "fixtures.loops",
    "fixtures.redis_cluster",
    "fixtures.gateway",
]
