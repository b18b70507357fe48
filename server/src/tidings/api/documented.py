"""What a route says about itself: its name, the errors it can answer with, the access patterns it uses."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from tidings.api import problems
from tidings.api.schemas.problems import Problem
from tidings.api.schemas.shape import ApiModel
from tidings.kernel.errors import Code

OF_ANY = (
    Code.REQUEST_INVALID,
    Code.RATE_LIMITED,
    Code.OVERLOADED,
    Code.INTERNAL,
)
OF_GUARDED = (*OF_ANY, Code.CREDENTIAL_INVALID, Code.CREDENTIAL_EXPIRED, Code.FORBIDDEN)
OF_BODIES = (Code.REQUEST_TOO_LARGE,)
OF_CHANGES = (
    Code.OUTCOME_UNKNOWN,
    Code.WRITE_CONFLICT,
    Code.IDEMPOTENCY_CONFLICT,
    Code.NOT_A_MEMBER,
    Code.CHAT_NOT_FOUND,
)
PATTERNS = "x-access-patterns"


def route_options(
    name: str,
    *refusals: Code,
    touches: Iterable[str],
    repeat: type[ApiModel] | None = None,
    is_open: bool = False,
    **more: object,
) -> dict[str, Any]:
    """Arguments for a router's decorator. `touches`: names of access patterns, as in the reference.

    `repeat`: what a repeat is answered with, by 200 where the first try is answered by 201.
    """
    codes = (*(OF_ANY if is_open else OF_GUARDED), *refusals)
    return {
        "operation_id": name,
        "responses": _responses(codes) | _repeat(repeat),
        "response_description": "Done.",
        "openapi_extra": {PATTERNS: sorted(touches)},
        "response_model_exclude_none": True,
        **more,
    }


def _repeat(model: type[ApiModel] | None) -> dict[int | str, dict[str, Any]]:
    return (
        {}
        if model is None
        else {200: {"model": model, "description": "Done before: the first answer again."}}
    )


def _responses(codes: Iterable[Code]) -> dict[int | str, dict[str, Any]]:
    ordered = sorted(set(codes), key=lambda code: (problems.STATUS[code], code))
    return {
        status: _response(list(group))
        for status, group in groupby(ordered, key=lambda code: problems.STATUS[code])
    }


def _response(codes: list[Code]) -> dict[str, Any]:
    examples = {code.value: {"$ref": f"#/components/examples/{code}"} for code in codes}
    return {
        "model": Problem,
        "description": ", ".join(f"`{code}`" for code in codes),
        "content": {problems.MEDIA_TYPE: {"examples": examples}},
    }


def examples() -> dict[str, Any]:
    """One of each code, which the routes that can answer with it refer to."""
    return {code.value: {"summary": problems.problem_title(code), "value": _example(code)} for code in Code}


def _example(code: Code) -> dict[str, object]:
    return {
        "type": f"/errors/{code}",
        "title": problems.problem_title(code),
        "status": problems.STATUS[code],
        "detail": "What was wrong, for people.",
        "code": code.value,
        "retryable": problems.is_retryable(code),
        "request_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    }
