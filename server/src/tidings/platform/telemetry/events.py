"""What a log event goes through between the call and the line: stamped, masked, rendered."""

import sys
import traceback
from datetime import UTC, datetime
from typing import cast

import msgspec
import structlog.dev
from opentelemetry import trace
from structlog.contextvars import merge_contextvars
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from tidings.kernel.errors import TidingsError
from tidings.platform.telemetry.identity import ProcessIdentity
from tidings.platform.telemetry.masking import SizeLimits, mask_fields

# Every line has these where they are known; they come first, so that a bound never costs one of them.
_FIRST = ("time", "level", "event", "process", "instance", "request_id", "tenant", "trace_id", "span_id")
_MAX_FRAMES = 20


def json_processors(identity: ProcessIdentity, bounds: SizeLimits) -> list[Processor]:
    # locals are never shown: they hold what the code was working on, secrets included
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
    """After everything that adds a field, before everything that writes one."""

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
    """For people: the time of day, no ids of the process, colours on a terminal."""

    def __init__(self, *, has_colors: bool) -> None:
        self._render = structlog.dev.ConsoleRenderer(colors=has_colors, pad_event_to=40)

    def __call__(self, logger: WrappedLogger, method: str, event: EventDict) -> bytes:
        when: datetime = event.pop("time")
        event["timestamp"] = when.astimezone().strftime("%H:%M:%S.%f")[:-3]
        for name in ("process", "instance"):
            event.pop(name)
        for name in ("exception", "stack"):
            # the renderer takes these two for texts, and breaks if a caller's field has the name and is none
            if name in event and not isinstance(event[name], str):
                event[name] = str(event[name])
        return self._render(logger, method, event).encode()


def _traceback_text(exc_info: ExcInfo) -> str:
    return "".join(traceback.format_exception(*exc_info, limit=-6)).rstrip()
