"""Structured logs: JSON or console lines with secrets masked, for structlog and the standard library's logging."""

import logging
import os
import secrets
import socket
import sys
import threading
import traceback
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from io import FileIO
from typing import Any, Literal, Protocol, cast, override

import msgspec
import structlog
import structlog.dev
from opentelemetry import trace
from structlog.contextvars import bound_contextvars, merge_contextvars
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, ExcInfo, FilteringBoundLogger, Processor, WrappedLogger

from tidings.kernel.errors import TidingsError
from tidings.kernel.security import FIELDS
from tidings.kernel.security import LOGGER as SECURITY
from tidings.platform.telemetry.masking import SizeLimits, mask_fields


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """The kind of a process, and an id that is new at each start. Part of every log line and span."""

    kind: str
    instance: str

    @property
    def version(self) -> str:
        """The installed version of Tidings."""
        return metadata.version("tidings")

    @classmethod
    def new(cls, kind: str) -> "ProcessIdentity":
        return cls(kind, f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}")


# Every line has these fields if they are known. They are first, so that a size limit never drops them.
_FIRST = ("time", "level", "event", "process", "instance", "request_id", "tenant", "trace_id", "span_id")
_MAX_FRAMES = 20


def json_processors(identity: ProcessIdentity, bounds: SizeLimits) -> list[Processor]:
    # Never show locals: they may contain secrets.
    stacks = ExceptionDictTransformer(show_locals=False, max_frames=_MAX_FRAMES, use_rich=False)
    return [*_shared(identity), ExceptionRenderer(stacks), _Clean(bounds), _render_json]


def console_processors(identity: ProcessIdentity, bounds: SizeLimits, *, has_colors: bool) -> list[Processor]:
    render = _RenderConsole(has_colors=has_colors)
    return [*_shared(identity), ExceptionRenderer(_traceback_text), _Clean(bounds), render]


def _shared(identity: ProcessIdentity) -> list[Processor]:
    return [merge_contextvars, _Stamp(identity), _add_error_code]


class _Stamp:
    def __init__(self, identity: ProcessIdentity) -> None:
        self._identity = identity

    def __call__(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        event["time"] = datetime.now(UTC)
        event["level"] = method
        event["process"] = self._identity.kind
        event["instance"] = self._identity.instance
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            event["trace_id"] = trace.format_trace_id(span.trace_id)
            event["span_id"] = trace.format_span_id(span.span_id)
        return event


class _Clean:
    """Mask and limit all fields. Runs after the processors that add fields and before the renderer."""

    def __init__(self, bounds: SizeLimits) -> None:
        self._bounds = bounds

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        first = {name: event.pop(name) for name in _FIRST if name in event}
        return cast("EventDict", mask_fields({**first, **event}, self._bounds))


def _add_error_code(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    error = event.get("exc_info")
    if error is True:
        error = event["exc_info"] = sys.exc_info()
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, TidingsError):
        event.update(error_code=error.code, retryable=error.retryable, details=error.details)
    return event


def _render_json(_: WrappedLogger, __: str, event: EventDict) -> bytes:
    return msgspec.json.encode(event)


class _RenderConsole:
    """Render for people: local time, no process ids, colours on a terminal."""

    def __init__(self, *, has_colors: bool) -> None:
        self._render = structlog.dev.ConsoleRenderer(colors=has_colors, pad_event_to=40)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> bytes:
        when: datetime = event.pop("time")
        event["timestamp"] = when.astimezone().strftime("%H:%M:%S.%f")[:-3]
        for name in ("process", "instance"):
            event.pop(name)
        for name in ("exception", "stack"):
            # The renderer expects texts in these two fields. A caller's field of the same name may be another type.
            if name in event and not isinstance(event[name], str):
                event[name] = str(event[name])
        return self._render(logger, method, event).encode()


def _traceback_text(exc_info: ExcInfo) -> str:
    return "".join(traceback.format_exception(*exc_info, limit=-6)).rstrip()


OWN = "tidings"
"""The parent of all loggers of Tidings."""
_LIBRARIES = ("tidings.kafka",)
"""Loggers under `OWN` that carry the lines of a library."""

type Level = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """`library_level`: for libraries, whose debug lines can contain requests with credentials.

    `format` `auto` means `console` if stdout is a terminal, else `json`.
    """

    format: Literal["auto", "json", "console"] = "json"
    level: Level = "info"
    library_level: Level = "warning"
    bounds: SizeLimits = field(default_factory=SizeLimits)


class LogStream(Protocol):
    """An unbuffered binary file."""

    def write(self, data: memoryview, /) -> int | None: ...


class LogSink:
    """Write whole lines to a stream, unbuffered, so that kill -9 loses none.

    If the reader has closed the stream, the line is lost and counted, and the caller does not fail. If the reader does
    not read, the caller blocks, and the watchdog ends the process.
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
                raise BlockingIOError("the stream accepts no data")
            rest = rest[written:]

    debug = info = warning = error = critical = msg


def configure_logs(
    identity: ProcessIdentity, options: LogOptions, *, stream: LogStream | None = None
) -> LogSink:
    """Configure structlog, the standard library's logging, warnings and uncaught exceptions."""
    is_terminal = stream is None and sys.stdout.isatty()
    sink = LogSink(stream or FileIO(sys.stdout.fileno(), "w", closefd=False))
    processors = _chain(identity, options, is_terminal=is_terminal)
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(options.level),
        logger_factory=lambda *_: sink,
        cache_logger_on_first_use=True,
    )
    _take_over_standard_library(_StandardLibraryHandler(sink, processors), options)
    _take_over_uncaught()
    return sink


def _chain(identity: ProcessIdentity, options: LogOptions, *, is_terminal: bool) -> list[Processor]:
    """Return the processors. Colours are used on a terminal unless NO_COLOR is set (https://no-color.org)."""
    if options.format == "json" or (options.format == "auto" and not is_terminal):
        return json_processors(identity, options.bounds)
    return console_processors(
        identity, options.bounds, has_colors=is_terminal and not os.environ.get("NO_COLOR")
    )


def get_logger(name: str) -> FilteringBoundLogger:
    """Return the logger of a module. May be called before `configure_logs`."""
    return cast("FilteringBoundLogger", structlog.get_logger(source=name))


def bind_context(**ids: str) -> AbstractContextManager[None]:
    """Add ids such as `request_id` or `tenant` to every line of the `with` block, including tasks started in it."""
    return bound_contextvars(**ids)


class _StandardLibraryHandler(logging.Handler):
    """Pass lines of the standard library's logging through the same processors to the same sink."""

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
    except Exception:  # noqa: BLE001 - a library may log arguments that do not match its format
        return f"{record.msg} <arguments do not match>"


def _take_over_standard_library(handler: logging.Handler, options: LogOptions) -> None:
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(options.library_level.upper())
    # Modules of Tidings outside `platform` use the standard library's logging. Their level is not a library's.
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
