"""What every body has in common."""

from msgspec import Struct


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """From the server. What has its default is not sent."""


class Asked(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """From a device. What the server does not know is refused, not ignored."""


class Done(Body, frozen=True, kw_only=True):
    """The answer that says nothing but yes."""
