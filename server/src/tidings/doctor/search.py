"""Check search: whether the index answers, when it was purged, and whether its volume must be encrypted."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from tidings.app.settings import Settings
from tidings.app.settings.workers import SearchSettings
from tidings.app.wiring.search import opensearch_options, search_engine
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.clock import Clock
from tidings.kernel.errors import TidingsError
from tidings.search.store.opensearch import OpenSearchOptions, open_opensearch

_PROBE_S: Final = 5.0
_MOUNTS: Final = Path("/proc/mounts")
_ENCRYPTED_PREFIXES: Final = ("/dev/mapper/luks", "/dev/mapper/crypt")


def check_search(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings
    try:
        engine = search_engine(settings)
    except ValueError as error:
        yield Finding(
            "search",
            CheckState.WRONG,
            str(error),
            "`tidings run search` and `tidings run api` do not start.",
            "",
        )
        return
    if engine == "none":
        yield skipped("search", "needs search.engine")
        return
    if engine == "opensearch":
        unreachable = asyncio.run(_probe(opensearch_options(settings), context.clock))
        yield unreachable or _opensearch(settings.search)
    else:
        yield _directory(settings)


async def _probe(options: OpenSearchOptions, clock: Clock) -> Finding | None:
    """Return what is wrong with OpenSearch, or None."""
    try:
        async with open_opensearch(replace(options, timeout_s=_PROBE_S), clock) as index:
            await index.tenants()
    except TidingsError as error:
        return Finding(
            "search",
            CheckState.WRONG,
            f"{options.url}: {error.message}",
            "Searches fail, and new messages wait in Kafka.",
            "Check `search.url`, `search.username` and `search.password`, and that OpenSearch runs.",
        )
    return None


def _opensearch(wanted: SearchSettings) -> Finding:
    return Finding(
        "search",
        CheckState.WARNING,
        f"the index at {wanted.url} has words of encrypted messages",
        "It is as safe as the volumes and users of OpenSearch, which Tidings cannot see.",
        "Encrypt its volumes, and let only Tidings read the index.",
    )


def _directory(settings: Settings) -> Finding:
    directory = settings.search.directory.absolute()
    if not directory.is_dir():
        return Finding(
            "search",
            CheckState.WARNING,
            f"there is no index in {directory}",
            "Searches fail until `tidings run search` has run on this machine.",
            "Start it, then run `tidings search rebuild TENANT` for each tenant with search.",
        )
    if is_encrypted(directory):
        return ok("search", f"the index is in {directory}, on an encrypted volume")
    if settings.installation == "production":
        return Finding(
            "search",
            CheckState.WARNING,
            f"the index in {directory} has words of encrypted messages",
            "It is as safe as its volume. Tidings cannot see whether that is encrypted.",
            "Encrypt the volume (EBS or LUKS), and leave the directory out of backups.",
        )
    return ok("search", f"the index is in {directory}")


def is_encrypted(directory: Path, mounts: Path = _MOUNTS) -> bool:
    """Return whether the volume of the directory is known to be encrypted: dm-crypt with a usual name, eCryptfs or gocryptfs.

    Encryption below the machine, as of EBS, cannot be seen here.
    """
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return False
    here = [line for line in lines if directory.is_relative_to(line[1])]
    device, _, kind, *_ = max(here, key=lambda line: len(line[1]), default=["", "", ""])
    return device.startswith(_ENCRYPTED_PREFIXES) or kind in ("ecryptfs", "fuse.gocryptfs")
