"""What every body has in common."""

from msgspec import Struct


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Either way. What has its default is not sent; what is not known here is ignored."""


class Ok(Body, frozen=True, kw_only=True):
    """The answer that says nothing but yes."""


class ErrorBody(Body, frozen=True, kw_only=True):
    """What went wrong. `retryable`: the same request can succeed later, after `retry_after_ms` if it is given.

    `docs`: the path of a page about `code` at the REST API of the same installation.
    """

    code: str
    message: str
    retryable: bool = False
    hint: str = ""
    docs: str = ""
    retry_after_ms: int | None = None
    request_id: int | None = None
