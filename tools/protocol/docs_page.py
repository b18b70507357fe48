"""Make the tables and examples of `docs/reference/protocol.md`; its prose is written by hand."""

import re
from collections.abc import Callable, Iterable
from itertools import chain

from tidings.gateway.error_frames import ERROR_TEXTS
from tidings.gateway.protocol_state import ALLOWED, ConnectionLimits, ConnectionState
from tidings.kernel.errors import TidingsError
from tidings_wire import fields
from tidings_wire.close_codes import TEXTS
from tidings_wire.frames.registry import PUSHES, REQUESTS
from tools.protocol.samples.requests import REQUESTS as REQUEST_SAMPLES
from tools.protocol.samples.to_device import ANSWERS
from tools.protocol.samples.to_device import PUSHES as PUSH_SAMPLES

_PART = re.compile(r"(<!-- (golden|table): ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_TO_SERVER = {one.name: one for one in REQUEST_SAMPLES}
_TO_DEVICE = {one.name: one for one in chain(ANSWERS, PUSH_SAMPLES)}


def render_page(text: str) -> str:
    """Return the page with every marked part generated again."""

    def part(found: re.Match[str]) -> str:
        begin, form, names, end = found.groups()
        content = _frames(names.split()) if form == "golden" else _TABLES[names]()
        return f"{begin}{content}\n{end}"

    return _PART.sub(part, text)


def _frames(names: Iterable[str]) -> str:
    return "\n".join(["```", *map(_frame, names), "```"])


def _frame(name: str) -> str:
    arrow, one = ("→", _TO_SERVER[name]) if name in _TO_SERVER else ("←", _TO_DEVICE[name])
    return f"{arrow} {one.data.decode()}"


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _first_line(body: type) -> str:
    return (body.__doc__ or "").strip().partition("\n")[0]


def _requests() -> str:
    rows = (
        (
            f"`{kind.name}`",
            "required" if kind.needs_id else "optional",
            _first_line(kind.body),
        )
        for kind in REQUESTS
    )
    return _table(("request", "`id`", "description"), rows)


def _pushes() -> str:
    return _table(("push", "description"), ((f"`{kind.name}`", _first_line(kind.body)) for kind in PUSHES))


def _states() -> str:
    states = [state for state in ConnectionState if state is not ConnectionState.CLOSED]
    rows = ([f"`{k.name}`", *("yes" if k.name in ALLOWED[s] else "" for s in states)] for k in REQUESTS)
    return _table(("request", *states), rows)


def _close_codes() -> str:
    rows = (
        (code.value, f"`{code.name.lower()}`", "yes" if code.is_reconnect else "no", text)
        for code, text in TEXTS.items()
    )
    return _table(("code", "name", "reconnect", "reason"), rows)


def _error_codes() -> str:
    errors = (TidingsError(code, "") for code in ERROR_TEXTS)
    rows = ((f"[`{e.code}`](errors.md#{e.code})", "yes" if e.retryable else "") for e in errors)
    return _table(("code", "retryable"), rows)


def _limits() -> str:
    limits = ConnectionLimits()
    rows = (
        ("size of a frame", f"{fields.MAX_FRAME_BYTES:,} bytes", "close 4502"),
        ("nesting of a frame", f"{fields.MAX_FRAME_DEPTH} levels", "`request_invalid`"),
        ("objects and lists in a frame", f"{fields.MAX_FRAME_CONTAINERS:,}", "`request_invalid`"),
        (
            "time from opening the connection to authentication",
            f"{limits.authenticate_within_s:g} s",
            "close 4003, or 4005",
        ),
        ("requests in flight", limits.in_flight, "`rate_limited`"),
        (
            "frames",
            f"{limits.frames_per_s} per second, burst of {limits.burst}",
            f"`rate_limited`; after {limits.burst} more: close 4004",
        ),
        (
            "invalid frames",
            f"{limits.faults}, and one more every {limits.fault_every_s:g} s",
            "close 4501",
        ),
        ("`typing` of a chat", f"once every {limits.typing_every_s:g} s", "answered, not forwarded"),
        ("positions in a frame", f"{fields.MAX_POSITIONS:,}", "`request_invalid`; send parts"),
        ("watermarks in an `ack`", fields.MAX_WATERMARKS, "`request_invalid`"),
        ("silence after a heartbeat", f"{limits.pong_within_s:g} s", "close 4001"),
    )
    return _table(("what", "limit", "beyond it"), rows)


_TABLES: dict[str, Callable[[], str]] = {
    "requests": _requests,
    "pushes": _pushes,
    "states": _states,
    "close_codes": _close_codes,
    "error_codes": _error_codes,
    "limits": _limits,
}
