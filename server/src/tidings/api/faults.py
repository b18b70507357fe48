"""What the models find wrong with a request, as an error that points at each place."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidings.kernel.errors import Code, TidingsError

MAX_FAULTS = 20
_PLACES = {"body", "query", "path", "header", "cookie"}


def told_faults(faults: Sequence[Mapping[str, Any]]) -> TidingsError:
    """The values themselves are not repeated: they may be secrets, or long."""
    told = [_fault(fault) for fault in faults[:MAX_FAULTS]]
    first = told[0]
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    return TidingsError(
        Code.REQUEST_INVALID,
        f"{first['place']} {first['pointer'] or '/'}: {first['detail']}{more}",
        details={"errors": told},
    )


def _fault(fault: Mapping[str, Any]) -> dict[str, str]:
    place, *rest = fault["loc"] or ("body",)
    is_known = place in _PLACES
    pointer = _pointer(rest if is_known else fault["loc"])
    return {"place": place if is_known else "body", "pointer": pointer, "detail": fault["msg"]}


def _pointer(steps: Iterable[object]) -> str:
    escaped = (str(step).replace("~", "~0").replace("/", "~1") for step in steps)
    return "".join(f"/{step}" for step in escaped)
