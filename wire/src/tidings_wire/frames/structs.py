"""The base classes of frame bodies."""

from msgspec import Struct


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The body of a frame. A field with its default value is not sent."""


class ResponseBody(Body, frozen=True, kw_only=True):
    """An answer or a push of the server. A client ignores unknown fields."""


class RequestBody(Body, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request of a device. The server refuses unknown fields."""


class Ok(ResponseBody, frozen=True, kw_only=True):
    """The answer to a request that succeeded and has no result."""


class ErrorBody(ResponseBody, frozen=True, kw_only=True):
    """An error. As a push, it is about a frame whose request the server could not identify.

    `retryable`: the same request can succeed later, after `retry_after_ms` if it is given.

    `docs`: the path of the page about `code` at the REST API of the same installation.

    `code` is stable. For a code that it does not know, a client decides by `retryable`.
    """

    code: str
    message: str
    retryable: bool = False
    hint: str = ""
    docs: str = ""
    retry_after_ms: int | None = None
    request_id: int | None = None
