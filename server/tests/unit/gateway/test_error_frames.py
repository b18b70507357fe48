"""Error frames: the texts that a device receives, and the details that it does not."""

import logging

import pytest

from tidings.gateway.error_frames import ERROR_TEXTS, HIDDEN, OPERATORS_ONLY, error_frame
from tidings.kernel.errors import Code, TidingsError


@pytest.mark.parametrize("code", ERROR_TEXTS)
def test_a_device_gets_the_code_with_its_page_and_whether_to_try_again(code: Code) -> None:
    error = TidingsError(code, "in words", hint="do this", details={"retry_after_ms": 5})
    body = error_frame(error)
    assert (body.code, body.retryable, body.retry_after_ms) == (code, error.retryable, 5)
    assert body.docs == f"/errors/{code}", "the path of the page that the REST API serves"


@pytest.mark.parametrize("error", [*(TidingsError(code, "s3cret") for code in HIDDEN), ValueError("s3cret")])
def test_errors_for_operators_are_logged_and_sent_as_internal(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        body = error_frame(error)
    assert (body.code, body.message) == (Code.INTERNAL, OPERATORS_ONLY)
    assert caplog.records[0].exc_info is not None


def test_the_reason_of_unavailable_keys_is_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    body = error_frame(TidingsError(Code.KEYS_UNAVAILABLE, "arn:aws:kms:s3cret does not answer"))
    assert "s3cret" not in body.message
    assert "s3cret" in caplog.text
