"""An error as a frame tells it; the same fields as in REST's problems and on the command line."""

from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError


class ErrorBody(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What went wrong. As a push: with a frame whose request can't be told.

    `retryable`: the same request can succeed later, after `retry_after_ms` if it is given.

    `docs`: the path of the page of `code` at the REST API of the same installation.

    `code` is stable. A client meets codes that it does not know: then `retryable` tells what to do.
    """

    code: str
    message: str
    retryable: bool = False
    hint: str = ""
    docs: str = ""
    retry_after_ms: int | None = None
    request_id: int | None = None


def error_body(error: TidingsError, *, request_id: int | None = None) -> ErrorBody:
    """`request_id`: which request is meant, where the frame itself can't have its id."""
    after = error.details.get("retry_after_ms")
    return ErrorBody(
        code=error.code.value,
        message=error.message,
        retryable=error.retryable,
        hint=error.hint,
        docs=error.docs,
        retry_after_ms=after if isinstance(after, int) else None,
        request_id=request_id,
    )


def make_error_body(
    code: Code, message: str, *, hint: str = "", retry_after_ms: int | None = None
) -> ErrorBody:
    details = {} if retry_after_ms is None else {"retry_after_ms": retry_after_ms}
    return error_body(TidingsError(code, message, hint=hint, details=details))
