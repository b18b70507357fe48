"""An installation of a test's own, on both DynamoDB engines."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.engines import Dynamo
from fixtures.relay_house import RelayHouse, relay_house


@pytest.fixture
def house(dynamo: Dynamo, kafka: str, valkey: str, tmp_path: Path) -> Iterator[RelayHouse]:
    with relay_house(dynamo, kafka, valkey, tmp_path) as made:
        yield made
