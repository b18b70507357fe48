"""Every error code has a status, and errors reveal no internals."""

from pathlib import Path

import msgspec
import pytest
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from tidings.api import openapi
from tidings.api.problems import STATUS, from_http_exception, problem_response, to_validation_error
from tidings.api.schemas.accounts import RequestCodeBody
from tidings.api.schemas.chats import CreateDirectBody
from tidings.kernel.errors import Code, TidingsError

ROOT = Path(__file__).parents[4]


def test_every_code_has_a_status() -> None:
    assert STATUS.keys() == set(Code)
    assert all(400 <= status <= 599 for status in STATUS.values())


@pytest.mark.parametrize("code", list(Code))
def test_a_retryable_code_has_a_temporary_status(code: Code) -> None:
    """Retryable errors have the status 408, 429, 503 or 409; errors with another status are not retryable."""
    if TidingsError(code, "").retryable and code is not Code.ENGINE_FETCH_FAILED:
        assert STATUS[code] in {408, 409, 429, 503}


@pytest.mark.parametrize("code", [code for code, status in STATUS.items() if status >= 500])
def test_an_internal_error_is_returned_without_details(code: Code) -> None:
    error = TidingsError(code, "the table tidings-users is at 10.0.0.7", hint="look at 10.0.0.7")
    response = problem_response(error, "r1", "/")
    assert b"10.0.0.7" not in response.body
    assert b"tidings-users" not in response.body
    assert msgspec.json.decode(response.body)["request_id"] == "r1"


def test_the_retry_time_is_in_the_header_and_in_the_body() -> None:
    error = TidingsError(Code.RATE_LIMITED, "slowly", details={"retry_after_ms": 1_200})
    response = problem_response(error, "r1", "/")
    assert (response.status_code, response.headers["retry-after"]) == (429, "2")
    assert msgspec.json.decode(response.body)["retry_after_ms"] == 1_200


def test_retry_times_of_an_overload_are_spread() -> None:
    waits = {
        msgspec.json.decode(problem_response(TidingsError(Code.OVERLOADED, ""), "r", "/").body)[
            "retry_after_ms"
        ]
        for _ in range(20)
    }
    assert len(waits) > 1


def test_errors_have_their_location_and_do_not_repeat_the_input() -> None:
    faults: list[dict[str, object]] = [
        {"loc": ("body", "mentions", 3), "msg": "too long", "input": "secret"},
        {"loc": ("query", "a/b~c"), "msg": "no such"},
    ]
    error = to_validation_error(faults)
    assert error.details["errors"] == [
        {"location": "body", "pointer": "/mentions/3", "detail": "too long"},
        {"location": "query", "pointer": "/a~1b~0c", "detail": "no such"},
    ]
    assert "secret" not in str(error)
    assert len(to_validation_error(faults * 50).details["errors"]) == 20  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "sent", "message"),
    [
        (
            CreateDirectBody,
            {"type": "direct", "user": "ben", "colour": "red"},
            "Unknown field.",
        ),
        (CreateDirectBody, {"type": "direct"}, "This field is required."),
        (CreateDirectBody, {"type": "direct", "user": "ben#1"}, "none of `#`, `*`, `/`"),
        (RequestCodeBody, {"tenant": "acme", "phone": "0151 123"}, "such as +4915123456789"),
    ],
)
def test_common_mistakes_have_plain_messages(
    model: type[CreateDirectBody | RequestCodeBody], sent: dict[str, str], message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(sent)
    assert message in to_validation_error(caught.value.errors()).message


def test_an_unknown_path_refers_to_the_api_description() -> None:
    assert "/openapi.json" in from_http_exception(HTTPException(404)).hint
    assert from_http_exception(HTTPException(400)).hint == ""


def test_the_package_carries_the_page_of_error_codes() -> None:
    copy, source = ROOT / openapi.COPY, ROOT / openapi.SOURCE
    assert copy.read_text() == source.read_text(), f"run: cp {openapi.SOURCE} {openapi.COPY}"


def test_every_code_is_explained() -> None:
    assert all(openapi.explain_error_code(code) for code in Code)
