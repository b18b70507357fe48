"""Inboxes on both DynamoDB engines."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from fixtures.engines import Namespace
from fixtures.notifications import NotificationEnv, open_notification_env
from fixtures.tables import Tables

type OpenInboxes = Callable[[], AbstractAsyncContextManager[NotificationEnv]]


@pytest.fixture
def open_inboxes(tables: Tables, space: Namespace, tmp_path: Path) -> OpenInboxes:
    """Return a function that opens the services of a tenant with the inbox `default`."""
    return lambda: open_notification_env(tables, space.tenant, tmp_path / "tidings.key")
