"""Which event loop the process runs on: uvloop, or the standard one where uvloop does not install."""

import asyncio
from collections.abc import Callable

from tidings.platform.telemetry import logs

log = logs.get_logger(__name__)

type LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def loop_factory() -> LoopFactory:
    try:
        import uvloop  # noqa: PLC0415 - it may be missing, and then only this call is to notice
    except ImportError:
        log.warning("uvloop is not installed: the standard loop runs, which is slower")
        return asyncio.new_event_loop
    return uvloop.new_event_loop
