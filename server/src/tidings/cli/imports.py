"""`tidings import check | run | convert`."""

import asyncio
import csv
import time
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile

import click
import msgspec

from tidings.app.settings import Settings
from tidings.app.settings.loader import load
from tidings.app.wiring.imports import ProductChecks, open_import
from tidings.cli.output import echo
from tidings.imports.conversion import ConversionReport, UserIds
from tidings.imports.importer import Importer
from tidings.imports.matrix import MatrixConverter, decode_export
from tidings.imports.model import ImportLine, ImportStats, encode_line
from tidings.imports.reader import ImportFolder, ZipArchive, read_lines
from tidings.imports.slack import SlackConverter
from tidings.imports.validation import ImportReport, ImportValidator
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.lifecycle.process import loop_factory

_EVERY_S = 1.0

_FILES = click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
_FOLDER = click.option(
    "--files",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder of the files that messages name.  [default: the folder of the first FILE]",
)


@click.group(name="import")
def group() -> None:
    """Users, chats and messages of another system: convert an export, check a file, import it."""


@group.command()
@_FILES
@_FOLDER
def check(files: tuple[Path, ...], folder: Path | None) -> None:
    """Validate import files, and change nothing. Fails if a line cannot be imported."""
    _check(files, ProductChecks(ImportFolder(folder or files[0].parent)))


@group.command()
@_FILES
@_FOLDER
@click.option("--tenant", required=True, help="The tenant that receives the data.")
def run(files: tuple[Path, ...], folder: Path | None, tenant: str) -> None:
    """Validate import files, then import them into a tenant.

    Nothing is imported if a line is invalid. After an interruption, run the same command again: it continues.
    """
    importing = _run(load().settings, files, folder or files[0].parent, TenantId(tenant))
    asyncio.run(importing, loop_factory=loop_factory())


@group.group()
def convert() -> None:
    """Convert an export of another system to an import file."""


_SOURCE = click.option(
    "--source",
    help="A name for the system. Use the same name again for the same system.  [default: the name of the format]",
)
_OUT = click.option(
    "--out", type=click.File("wb"), default="-", help="The file that is written.  [default: stdout]"
)
_USERS = click.option(
    "--users",
    "mapping",
    type=click.File(),
    help="A CSV file with the id of a user in the export and in Tidings, in each line. Other ids are kept.",
)


@convert.command()
@click.argument("export", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_SOURCE
@_OUT
@_USERS
@click.option(
    "--files",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with downloaded files, each at ID/NAME. Other files become their name and address.",
)
def slack(
    export: Path, source: str | None, out: BinaryIO, mapping: Iterable[str] | None, folder: Path | None
) -> None:
    """Convert EXPORT, the ZIP file of a Slack workspace."""
    files = None if folder is None else ImportFolder(folder)
    try:
        with ZipFile(export) as file:
            ids = UserIds(_mapped(mapping))
            converter = SlackConverter(ZipArchive(file), source or "slack", ids, files)
            _write(converter.convert(), out)
    except (BadZipFile, msgspec.DecodeError, ValueError) as error:
        raise _no_export(export, "a Slack export", error) from error
    _print_conversion(converter.report)


@convert.command()
@click.argument("export", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--direct", is_flag=True, help="The room is the direct chat of its two members.")
@_SOURCE
@_OUT
@_USERS
def matrix(
    export: Path, source: str | None, out: BinaryIO, mapping: Iterable[str] | None, *, direct: bool
) -> None:
    """Convert EXPORT, the JSON file of a Matrix room as Element exports it."""
    try:
        decoded = decode_export(export.read_bytes())
    except msgspec.DecodeError as error:
        raise _no_export(export, "the JSON export of a Matrix room", error) from error
    ids = UserIds(_mapped(mapping))
    converter = MatrixConverter(decoded, source or "matrix", ids, is_direct=direct)
    _write(converter.convert(), out)
    _print_conversion(converter.report)


def _mapped(mapping: Iterable[str] | None) -> dict[str, str]:
    return {row[0]: row[1] for row in csv.reader(mapping or ()) if len(row) > 1}


def _write(lines: Iterable[ImportLine], out: BinaryIO) -> None:
    out.writelines(encode_line(line) for line in lines)


def _no_export(export: Path, kind: str, error: Exception) -> TidingsError:
    return TidingsError(Code.REQUEST_INVALID, f"{export} is not {kind}: {error}")


def _print_conversion(report: ConversionReport) -> None:
    echo(f"{report.users} users, {report.chats} chats, {report.messages} messages", err=True)
    for reason, count in sorted(report.left_out.items()):
        echo(f"left out: {count} {reason}", err=True)


async def _run(settings: Settings, files: tuple[Path, ...], folder: Path, tenant: TenantId) -> None:
    async with open_import(settings, tenant, folder) as tools:
        report = _check(files, tools.checks, tools.tenant.settings.max_members)
        progress = _Progress(report.counts.messages)
        importer = tools.open_importer(lambda: progress.show(importer), _print_wait)
        _print_stats(await importer.run(read_lines(files)))


def _check(files: tuple[Path, ...], checks: ProductChecks, max_members: int | None = None) -> ImportReport:
    validator = ImportValidator(checks, SystemClock().now_ms(), max_members=max_members)
    report = validator.validate(read_lines(files))
    counts = report.counts
    echo(
        f"{counts.users} users, {counts.chats} chats, {counts.members} members, {counts.messages} messages, "
        f"{counts.reactions} reactions, {counts.attachments} attachments"
    )
    for problem in report.problems:
        echo(str(problem), err=True)
    if report.problem_count:
        more = report.problem_count - len(report.problems)
        echo(f"{more} more problems are not shown." if more else "", err=True, nl=bool(more))
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{report.problem_count} problems. Nothing was imported.",
            hint="Correct the lines, and check the files again.",
        )
    echo("no problems")
    return report


def _print_wait() -> None:
    echo("Another import into this tenant runs or was interrupted. Waiting for up to 20 seconds.", err=True)


class _Progress:
    """Prints a line every second, at most."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._started_at = self._shown_at = time.monotonic()

    def show(self, importer: Importer) -> None:
        now = time.monotonic()
        if now - self._shown_at < _EVERY_S:
            return
        self._shown_at = now
        stats = importer.stats
        rate = stats.messages / (now - self._started_at)
        echo(f"{stats.messages} of {self._total} messages, {rate:.0f} a second", err=True, dim=True)


def _print_stats(stats: ImportStats) -> None:
    echo(f"users: {stats.users} created, {stats.users_known} existed")
    echo(
        f"chats: {stats.chats} imported, {stats.chats_known} were imported before, {stats.skipped_count} skipped"
    )
    echo(f"entries: {stats.entries} written; attachments: {stats.attachments} stored")
    for reason in stats.skipped:
        echo(reason, err=True)
