"""Make attachments cheap, for runs with many of them: the steps are the same, the files are small."""

import asyncio
from pathlib import Path

from msgspec import convert

from tidings.api.schemas import media as schemas
from tidings.app.wiring import media as wiring
from tidings.media import service
from tidings.media.decoder import decode_file
from tidings.media.model import MediaFacts
from tidings.media.sandbox import run_decoder
from tidings.media.sniffing import HEAD_BYTES, sniff_type
from tidings.media.store import sweep_lease

PART_BYTES = 5 * 1024 * 1024
"""The smallest part that S3 accepts."""
LEASE_MS = 3_000


def use_small_files() -> None:
    service.SINGLE_BYTES = PART_BYTES  # type: ignore[attr-defined]  # of another module
    for module in (service, schemas):
        module.PART_BYTES = PART_BYTES  # type: ignore[attr-defined]  # see above
    sweep_lease.LEASE_MS = LEASE_MS
    wiring.run_decoder = _decode  # type: ignore[attr-defined,assignment]  # see above


async def _decode(path: Path, out: Path, *, strips_metadata: bool) -> MediaFacts:
    """Decode images as the worker does, and other files without a process, which would take most of the run's time."""
    if sniff_type((await asyncio.to_thread(path.read_bytes))[:HEAD_BYTES]).startswith("image/"):
        return await run_decoder(path, out, strips_metadata=strips_metadata)
    return convert(decode_file(path, out, strips_metadata=strips_metadata), MediaFacts)
