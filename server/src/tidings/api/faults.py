"""What the models find wrong with a request, as an error that points at each place."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tidings.api.schemas.ids import E164, PART, USER_PART
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import USER_ID_DESCRIPTION

MAX_FAULTS = 20
_PLACES = {"body", "query", "path", "header", "cookie"}
_FIELD_TEXTS = {
    "extra_forbidden": "There is nothing of this name here.",
    "missing": "It is missing.",
}
_FORMS = {
    PART: "It has printable ASCII characters only: no blanks, and none of `#`, `*`, `/`.",
    USER_PART: f"It has {USER_ID_DESCRIPTION}.",
    E164: "It is a phone number like +4915123456789: country code first, digits only.",
}
"""In place of the words of pydantic, where those tell a regular expression or speak of inputs."""


def to_validation_error(faults: Sequence[Mapping[str, Any]]) -> TidingsError:
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
    return {"place": place if is_known else "body", "pointer": pointer, "detail": _detail(fault)}


def _detail(fault: Mapping[str, Any]) -> str:
    form = fault.get("ctx", {}).get("pattern")
    found: str = _FIELD_TEXTS.get(fault.get("type", "")) or _FORMS.get(form) or fault["msg"]
    return found


def _pointer(steps: Iterable[object]) -> str:
    escaped = (str(step).replace("~", "~0").replace("/", "~1") for step in steps)
    return "".join(f"/{step}" for step in escaped)
