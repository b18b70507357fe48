"""What every body has in common."""

from msgspec import Struct


class ResponseBody(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """From the server. What has its default is not sent."""


class RequestBody(
    Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """From a device. What the server does not know is refused, not ignored."""


class Ok(ResponseBody, frozen=True, kw_only=True):
    """The answer that says nothing but yes."""


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
