"""The process `archive`: move the content of old messages to the bucket.

Any number may run: one of them sweeps. A process of its own, because Parquet needs 150 MB of libraries.
"""

import asyncio
from collections.abc import Sequence
from typing import NoReturn, override

from tidings.app.settings import Settings
from tidings.app.wiring import engine_clients
from tidings.app.wiring.archive import build_process_archive, require_archive
from tidings.app.wiring.media import s3_component, s3_options
from tidings.app.wiring.options import otlp_headers, process_options, validate_settings
from tidings.platform.lifecycle.component import Component, ManagedResource
from tidings.platform.lifecycle.run import ProcessContext, run_process
from tidings.platform.s3.client import S3Client

BUILDS = (*engine_clients.BUILDS, otlp_headers, s3_options)


def run_archive(settings: Settings) -> NoReturn:
    validate_settings(settings, BUILDS)
    require_archive(settings)
    run_process("archive", process_options(settings, "archive"), lambda host: compose(settings, host))


def compose(settings: Settings, host: ProcessContext) -> Sequence[Component]:
    engines = engine_clients.build_engines(settings, host)
    s3 = s3_component(settings)
    return [*engines.components, s3, ArchiveComponent(host, engines, s3)]


class ArchiveComponent(Component):
    """The running sweeper."""

    name = "archive"

    def __init__(
        self,
        host: ProcessContext,
        engines: engine_clients.EngineComponents,
        s3: ManagedResource[S3Client | None],
    ) -> None:
        self._host = host
        self._engines = engines
        self._s3 = s3
        self._sweeping: asyncio.Task[None] | None = None

    @override
    async def start(self) -> None:
        if self._s3.value is None:
            raise RuntimeError("the process needs media.endpoint")
        sweeper = build_process_archive(self._host, self._engines, self._s3.value)
        self._sweeping = self._host.tasks.spawn("archive", sweeper.run(is_waiting=False))

    @override
    async def stop(self) -> None:
        """End the sweep. The next one repeats what was not finished."""
        if self._sweeping is not None:
            await self._host.tasks.stop(self._sweeping)
