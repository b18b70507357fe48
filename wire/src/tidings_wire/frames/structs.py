"""What every body has in common."""

from msgspec import Struct


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The body of any frame. A field that has its default is not sent."""


class ResponseBody(Body, frozen=True, kw_only=True):
    """An answer or a push, from the server. A client ignores fields that it does not know."""


class RequestBody(Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From a device. What the server does not know is refused, not ignored."""


class Ok(ResponseBody, frozen=True, kw_only=True):
    """The answer that says nothing but yes."""


class ErrorBody(ResponseBody, frozen=True, kw_only=True):
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
