"""A pytest plugin: write the CPU time and duration of every test, if a gate measures them."""

import json
import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

FOLDER_VARIABLE = "GATE_TEST_TIMES"
"""Environment variable with the folder that each worker writes its file to."""


class _TestTimes:
    """Measures the tests of one worker. Fixtures of a file count for the test that needs them first."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"{os.getpid()}.jsonl").open("w", buffering=1)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        cpu, started = time.process_time(), time.time()
        result = yield
        line = {
            "test": item.nodeid,
            "cpu_s": round(time.process_time() - cpu, 4),
            "started": started,
            "seconds": round(time.time() - started, 4),
        }
        self._file.write(json.dumps(line) + "\n")
        return result


def pytest_configure(config: pytest.Config) -> None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        config.pluginmanager.register(_TestTimes(Path(folder)))
