"""Logs: one JSON object a line on stdout, from structlog and from the standard library alike.

Configured once per process, before anything else. What a line may hold is decided in `masking`.
"""

import logging
import os
import sys
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from io import FileIO
from typing import Any, Literal, Protocol, cast, override

import structlog
from structlog.contextvars import bound_contextvars
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from tidings.kernel.security import FIELDS
from tidings.kernel.security import LOGGER as SECURITY
from tidings.platform.telemetry.events import console_processors, json_processors
from tidings.platform.telemetry.identity import ProcessIdentity
from tidings.platform.telemetry.masking import SizeLimits

OWN = "tidings"
"""The parent of all loggers of Tidings."""
_LIBRARIES = ("tidings.kafka",)
"""Loggers under our name that carry the lines of a library."""

type Level = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """`library_level` is for what others wrote: their debug lines can hold requests with credentials.

    `format` `auto`: for people if stdout is a terminal, JSON otherwise.
    """

    format: Literal["auto", "json", "console"] = "json"
    level: Level = "info"
    library_level: Level = "warning"
    bounds: SizeLimits = field(default_factory=SizeLimits)


class LogStream(Protocol):
    """An unbuffered binary file."""

    def write(self, data: memoryview, /) -> int | None: ...


class LogSink:
    """Writes whole lines to a stream, at once, so that kill -9 loses none.

    A reader that went away costs the line and is counted; it does not fail the caller. A reader that is
    there and does not read blocks the caller: the watchdog ends such a process.
    """

    def __init__(self, stream: LogStream) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self.lost = 0

    def msg(self, line: bytes) -> None:
        with self._lock:
            try:
                self._write(memoryview(line + b"\n"))
            except (OSError, ValueError):
                self.lost += 1

    def _write(self, rest: memoryview) -> None:
        while rest:
            written = self._stream.write(rest)
            if not written:
                raise BlockingIOError("the stream takes nothing")
            rest = rest[written:]

    debug = info = warning = error = critical = msg


def configure_logs(
    identity: ProcessIdentity, options: LogOptions, *, stream: LogStream | None = None
) -> LogSink:
    """Take over structlog, the standard library's logging, warnings and uncaught exceptions."""
    is_terminal = stream is None and sys.stdout.isatty()
    sink = LogSink(stream or FileIO(sys.stdout.fileno(), "w", closefd=False))
    processors = _chain(identity, options, is_terminal=is_terminal)
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(options.level),
        logger_factory=lambda *_: sink,
        cache_logger_on_first_use=True,
    )
    _take_over_standard_library(_Foreign(sink, processors), options)
    _take_over_uncaught()
    return sink


def _chain(identity: ProcessIdentity, options: LogOptions, *, is_terminal: bool) -> list[Processor]:
    """Colours are for a terminal whose user has not set NO_COLOR (https://no-color.org)."""
    if options.format == "json" or (options.format == "auto" and not is_terminal):
        return json_processors(identity, options.bounds)
    return console_processors(
        identity, options.bounds, has_colors=is_terminal and not os.environ.get("NO_COLOR")
    )


def get_logger(name: str) -> FilteringBoundLogger:
    """The logger of a module: `log = logs.get_logger(__name__)`. May be called before `configure_logs`."""
    return cast("FilteringBoundLogger", structlog.get_logger(source=name))


def bind_context(**ids: str) -> AbstractContextManager[None]:
    """Put `request_id`, `tenant` or other ids on every line of what runs inside, tasks included."""
    return bound_contextvars(**ids)


class _Foreign(logging.Handler):
    """Lines of the standard library's logging, through the same processors into the same sink."""

    def __init__(self, sink: LogSink, processors: list[Processor]) -> None:
        super().__init__()
        self._sink = sink
        self._processors = processors

    @override
    def emit(self, record: logging.LogRecord) -> None:
        fields: EventDict = getattr(record, FIELDS, {})
        event: EventDict = {**fields, "event": _message(record), "source": record.name}
        if record.exc_info:
            event["exc_info"] = record.exc_info
        self._sink.msg(_process(self._processors, record.levelname.lower(), event))


def _process(processors: list[Processor], level: str, event: EventDict) -> bytes:
    done: Any = event
    for processor in processors:
        done = processor(None, level, done)
    line: bytes = done
    return line


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that don't fit are a fault of the library that logs
        return f"{record.msg} <arguments that don't fit>"


def _take_over_standard_library(handler: logging.Handler, options: LogOptions) -> None:
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(options.library_level.upper())
    # Modules outside `platform` log through the standard library: they are ours, not a library's.
    logging.getLogger(OWN).setLevel(options.level.upper())
    security = logging.getLogger(SECURITY)
    security.handlers = []
    security.setLevel(logging.INFO)
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(options.library_level.upper())
    logging.captureWarnings(capture=True)


def _take_over_uncaught() -> None:
    log = get_logger(__name__)

    def in_main(kind: type[BaseException], error: BaseException, _: object) -> None:
        if not issubclass(kind, KeyboardInterrupt):
            log.critical("uncaught exception", exc_info=error)

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not SystemExit:
            name = args.thread.name if args.thread else "?"
            log.critical("uncaught exception in a thread", thread=name, exc_info=args.exc_value)

    def unraisable(args: object) -> None:
        error, where = getattr(args, "exc_value", None), getattr(args, "object", None)
        log.error("exception that could not be raised", where=repr(where), exc_info=error)

    sys.excepthook = in_main
    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
