"""Run the decoder in a process of its own, without credentials, and end it after a time."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from tidings.media.model import MediaFacts

TIMEOUT_S = 30.0
_decode = msgspec.json.Decoder(MediaFacts).decode


def decoder_command(path: Path, out: Path, *, strips_metadata: bool) -> list[str]:
    # -I: neither the working directory nor PYTHON… variables can add code.
    mode = "strip" if strips_metadata else "keep"
    return [sys.executable, "-I", "-m", "tidings.media.decoder", str(path), str(out), mode]


async def run_decoder(
    path: Path, out: Path, *, strips_metadata: bool, timeout_s: float = TIMEOUT_S
) -> MediaFacts:
    """Return the facts of a file. A decoder that fails, exceeds its limits or hangs gives facts with a `reason`."""
    child = await asyncio.create_subprocess_exec(
        *decoder_command(path, out, strips_metadata=strips_metadata),
        env={"PATH": os.defpath},
        cwd=out,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            code = await child.wait()
    except TimeoutError:
        code = -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    if code == 0:
        with suppress(OSError, msgspec.DecodeError):
            return _decode((out / "facts.json").read_bytes())
    return MediaFacts(reason="the file cannot be processed within the limits")
