"""Rate limits in the settings of a tenant."""

from typing import Annotated

from msgspec import Meta, Struct


class RateLimit(Struct, frozen=True, kw_only=True):
    """A token bucket: `per_s` tokens per second, and at most `burst` at once."""

    per_s: Annotated[float, Meta(gt=0, le=1_000_000)]
    burst: Annotated[int, Meta(ge=1, le=1_000_000)]


class RateOverrides(Struct, frozen=True, kw_only=True):
    """Limits of a tenant; `None` means the installation's limit. `user`, `address` and `chat` apply to each of them."""

    tenant: RateLimit | None = None
    user: RateLimit | None = None
    address: RateLimit | None = None
    chat: RateLimit | None = None
    """Chats that a user creates."""
    code: RateLimit | None = None
    """One-time codes sent by SMS in the whole tenant."""
