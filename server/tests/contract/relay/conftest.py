"""An installation of a test's own, on both DynamoDB engines."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.engines import Dynamo
from fixtures.relay_processes import RelayProcesses, relay_processes


@pytest.fixture
def env(dynamo: Dynamo, kafka: str, valkey: str, tmp_path: Path) -> Iterator[RelayProcesses]:
    with relay_processes(dynamo, kafka, valkey, tmp_path) as made:
        yield made
