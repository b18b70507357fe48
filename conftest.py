"""Fixtures that all test suites of the workspace share."""

from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tidings.engines import dynoxide
from tidings.engines.jars import default_cache

# A busy machine must not fail a test: examples have no deadline.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("short", settings.get_profile("full"), max_examples=25)

ROOT = Path(__file__).parent
SLOW = ("server/tests/e2e", "server/tests/faults", "server/tests/load", "bench/tests/test_parts.py")
"""Suites that the fast gate leaves out, with these exceptions, one for each flow."""
FLOWS = {
    "conftest.py",
    "test_first_minute.py",
    "test_run_api.py",
    "test_run_delivery.py",
    "test_run_gateway.py",
    "test_run_notifications.py",
}
ADAPTER_SUITES = {"dynamo", "messages", "relay", "schema"}
"""Contract suites of the adapters that depend on conditions, transactions or streams of DynamoDB."""
PROCESS_TESTS = {"test_outages.py", "test_repair.py", "test_run_relay.py"}
"""Tests of these suites that start processes. The adapters under them have tests of their own."""

pytest_plugins = [
    "tools.gate.pytest_times",
    "fixtures.loops",  # first: other fixtures import it
    "fixtures.engines",
    "fixtures.fork_server",
    "fixtures.tables",
    "fixtures.use_cases",
    "fixtures.search",
    "fixtures.clamd",
    "fixtures.media_env",
    "fixtures.accounts_env",
    "fixtures.console_app",
    "fixtures.delivery_env",
    "fixtures.redis_cluster",
    "fixtures.gateway_process",
    "fixtures.gateway_env",
    "fixtures.export_env",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--examples", type=int, default=2, help="number of random requests per operation for schemathesis"
    )
    parser.addoption("--fast", action="store_true", help="run the suites of the fast gate")
    parser.addoption("--long", action="store_true", help="run also the tests that the gates leave out")
    parser.addoption(
        "--engines",
        choices=["all", "adapters", "one"],
        default="all",
        help="run tests on all engines, on DynamoDB Local for adapter suites and the fastest otherwise, or on the fastest",
    )


def pytest_configure(config: pytest.Config) -> None:
    # By default, structlog draws each traceback with the source and the local variables of every frame, which takes a
    # second of CPU. Tests log thousands of expected errors.
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])
    settings.load_profile("full" if config.option.long else "short")
    if config.option.fast:
        config.option.engines = "one"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.option.fast or collection_path.is_dir():
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    is_flow = path.startswith("server/tests/e2e/") and collection_path.name in FLOWS
    return True if path.startswith(SLOW) and not is_flow else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect long tests, and second engines where the gate does not need them. Run slow suites first.

    A slow file that starts last keeps one worker busy while the others have ended.
    """
    deselected = {item for item in items if not config.option.long and item.get_closest_marker("long")}
    if config.option.engines != "all":
        has_reference = config.option.engines == "adapters"
        deselected.update(item for item in items if _is_repeated(item, has_reference=has_reference))
    config.hook.pytest_deselected(items=list(deselected))
    items[:] = [item for item in items if item not in deselected]
    items.sort(key=lambda item: not item.path.relative_to(ROOT).as_posix().startswith(SLOW))


def _is_repeated(item: pytest.Item, *, has_reference: bool) -> bool:
    """Return whether the gate runs the test on another engine only.

    dynoxide needs a fraction of the CPU of DynamoDB Local, and tantivy of OpenSearch. The adapters are tested on
    DynamoDB Local, the reference, if `has_reference`.
    """
    call = getattr(item, "callspec", None)
    if call is None:
        return False
    needs_reference = has_reference and _is_adapter_test(item.path)
    dynamo = "dynoxide" if dynoxide.is_installed(default_cache()) and not needs_reference else "local"
    engines = {call.params.get("dynamo"), call.params.get("tables")} & {"dynoxide", "local"}
    return bool(engines - {dynamo}) or any(value == "opensearch" for value in call.params.values())


def _is_adapter_test(path: Path) -> bool:
    return path.parent.name in ADAPTER_SUITES and path.name not in PROCESS_TESTS
