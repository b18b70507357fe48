"""Settings of signs: receipts, typing, presence."""

from typing import Annotated

from msgspec import Meta, Struct


class EphemeralSettings(Struct, frozen=True, kw_only=True):
    """Receipts, typing, presence: what is told to whoever looks. The same in every process."""

    receipts_within_s: Annotated[
        float,
        Meta(
            description="Of a chat receipts are told at most once in such a time, however many members acked.",
            gt=0,
            le=5,
        ),
    ] = 0.2
    max_subscriptions: Annotated[
        int, Meta(description="So many chats and users one device may look at.", ge=1, le=10_000)
    ] = 500
    presence_hold_s: Annotated[
        float,
        Meta(
            description="So long a user is without a route before anybody is told that he is offline; "
            "longer than a reconnect takes.",
            gt=0,
            le=600,
        ),
    ] = 10.0
