"""Settings of inboxes and their jobs."""

from typing import Annotated

from msgspec import Meta, Struct


class InboxesSettings(Struct, frozen=True, kw_only=True):
    """Inboxes: what `tidings run api`, `tidings run notices` and the command line do with sends and recalls."""

    jobs_kept_days: Annotated[
        int,
        Meta(
            description="How long jobs can be looked at. Their users stay as long as the notices of the inbox do: a recall "
            "goes through them.",
            ge=1,
            le=3650,
        ),
    ] = 90
    broadcast_spread_s: Annotated[
        float,
        Meta(
            description="Devices that look at an inbox are told of a broadcast within such a time, each user at a moment "
            "of his own. Most of them then ask for counts: a full gateway of 50,000 devices and 30 s are 1,700 of these "
            "a second.",
            ge=0,
            le=600,
        ),
    ] = 30.0
