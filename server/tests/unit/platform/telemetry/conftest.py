"""Restore the global logging configuration after each test."""

import logging
import sys
import threading
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def untouched_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    own = {name: logging.getLogger(name).level for name in ("tidings", "tidings.security", "tidings.kafka")}
    config = structlog.get_config()
    yield
    for name, own_level in own.items():
        logging.getLogger(name).setLevel(own_level)
    root.handlers, root.level = handlers, level
    sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
    logging.captureWarnings(capture=False)
    structlog.configure(**config)
