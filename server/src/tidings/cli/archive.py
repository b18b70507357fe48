"""`tidings archive sweep | read | verify`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime

import click
import msgspec

from tidings.app.settings.loader import load
from tidings.app.wiring.archive import (
    ArchiveView,
    LocalArchive,
    archive_deps,
    build_archive_reader,
    open_local_archive,
)
from tidings.app.wiring.options import dynamo_endpoint, validate_settings
from tidings.cli.output import echo
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, TenantId
from tidings.messages.entry_json import entry_fields
from tidings.retention.archive.model import ArchiveDamagedError, ArchiveStats, ArchiveTotals
from tidings.retention.archive.sweeper import ArchiveSweeper

_CLOCK = SystemClock()


@click.group(name="archive")
def group() -> None:
    """Archive old messages: move them to the bucket now, read them back, verify the files."""


@group.command()
@click.option("--tenant", help="Sweep this tenant only.")
def sweep(tenant: str | None) -> None:
    """Archive messages now. `tidings run archive` does so every 6 hours."""

    async def act(archive: LocalArchive) -> ArchiveStats:
        sweeper = ArchiveSweeper(
            archive_deps(archive.client, archive.keys, archive.bucket, _CLOCK, epoch=archive.epoch)
        )
        await (sweeper.sweep(TenantId(tenant)) if tenant else sweeper.sweep_all())
        return sweeper.stats

    found = _run(act)
    for name, count in asdict(found).items():
        echo(f"{name}: {count}")
    if found.failed:
        raise click.exceptions.Exit(1)


@group.command()
@click.option("--tenant", required=True)
@click.option("--month", required=True, help="The month in which the messages were sent: YYYY-MM.")
@click.option("--chat", help="Read this chat only.  [default: all chats of the tenant]")
def read(tenant: str, month: str, chat: str | None) -> None:
    """Print archived messages, one JSON object in each line, decrypted with the keys that exist.

    The state is `archived`, or why there is no content: `redacted`, `expired`, `erased` or `unreadable`.
    """
    wanted = None if chat is None else ChatId(chat)
    _check_month(month)

    async def act(archive: LocalArchive) -> None:
        reader = build_archive_reader(archive.client, archive.bucket)
        view = ArchiveView(archive.client, archive.keys, _CLOCK, archive.epoch)
        async for found in reader.read(TenantId(tenant), month, wanted):
            line = {"chat": found.chat.chat, **entry_fields(found.chat, await view.show(found))}
            echo(msgspec.json.encode(line).decode())

    try:
        _run(act)
    except ArchiveDamagedError as error:
        raise click.ClickException(f"{error}. Run `tidings archive verify --tenant {tenant}`.") from error


@group.command()
@click.option("--tenant", required=True)
def verify(tenant: str) -> None:
    """Compare each file with its manifest: size, SHA-256, messages of each chat. Exits with 1 if one does not match."""

    async def act(archive: LocalArchive) -> tuple[ArchiveTotals, int]:
        reader = build_archive_reader(archive.client, archive.bucket)
        totals, problems = ArchiveTotals(), 0
        async for problem in reader.verify(TenantId(tenant), totals):
            problems += 1
            echo(problem.found, err=True)
        return totals, problems

    totals, problems = _run(act)
    for name, count in asdict(totals).items():
        echo(f"{name}: {count}")
    echo(f"damaged: {problems}")
    if problems:
        raise click.exceptions.Exit(1)


def _run[T](act: Callable[[LocalArchive], Awaitable[T]]) -> T:
    settings = load().settings
    validate_settings(settings, (dynamo_endpoint,))

    async def run() -> T:
        async with open_local_archive(settings, _CLOCK) as archive:
            return await act(archive)

    return asyncio.run(run())


def _check_month(month: str) -> None:
    try:
        datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    except ValueError:
        raise TidingsError(Code.REQUEST_INVALID, f"{month!r} is not a month. Write it as 2026-10.") from None
