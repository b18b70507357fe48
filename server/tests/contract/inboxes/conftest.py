"""Inboxes on both engines; a scene is played in a minute at most."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from fixtures.engines import Namespace
from fixtures.notifications import NotificationEnv, open_notification_env
from fixtures.tables import Tables

type Scene = Callable[[NotificationEnv], Coroutine[Any, Any, None]]
type Act = Callable[[Scene], None]


@pytest.fixture
def act(tables: Tables, space: Namespace, tmp_path: Path) -> Act:
    def run(scene: Scene) -> None:
        async def acted() -> None:
            async with open_notification_env(tables, space.tenant, tmp_path / "tidings.key") as notifications:
                await asyncio.wait_for(scene(notifications), 60)

        asyncio.run(acted())

    return run
