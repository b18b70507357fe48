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
