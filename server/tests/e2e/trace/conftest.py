"""A longer deadline: whole installations are slow on a busy machine."""

import pytest
from e2e.delivery.connected_device import Names

DEADLINE_S = 600.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "e2e/trace" in item.nodeid:
            item.add_marker(pytest.mark.deadline(DEADLINE_S))


@pytest.fixture
def names() -> Names:
    return Names()
