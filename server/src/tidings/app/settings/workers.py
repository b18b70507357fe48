"""Settings of inboxes and their jobs."""

from typing import Annotated

from msgspec import Meta, Struct


class InboxesSettings(Struct, frozen=True, kw_only=True):
    """Inboxes: what `tidings run api`, `tidings run notifications` and the command line do with sends and recalls."""

    job_retention_days: Annotated[
        int,
        Meta(
            description="How long jobs can be looked at. Their users stay as long as the notifications of the inbox do: a recall "
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


Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]


class RelaySettings(Struct, frozen=True, kw_only=True):
    """The relay, `tidings run relay`. The same in every process."""

    audit_delay_s: Annotated[
        Seconds,
        Meta(
            description="How long a commit may go without being handled, before the relay looks whether the consumers' "
            "lag explains it; if it does not, it is published again."
        ),
    ] = 5.0
    max_backoff_s: Annotated[
        Seconds,
        Meta(description="Tries for one chat come further and further apart, and never further than this."),
    ] = 300.0
    max_attempts: Annotated[
        Count,
        Meta(
            description="What was published and consumed so often and is still not handled is given up: somebody is told, "
            "and the chat's next entry tries again. Tries while Kafka is away don't count."
        ),
    ] = 12
    lease_s: Annotated[
        float,
        Meta(
            description="A shard whose reader has not been heard of for so long goes to another process.",
            ge=1,
        ),
    ] = 15.0
    read_every_s: Annotated[
        float,
        Meta(
            description="Between two reads of a shard. The stream allows five reads a second, for all who read it.",
            ge=0.4,
        ),
    ] = 0.5
    idle_every_s: Annotated[
        float,
        Meta(
            description="Longest time between two reads of a shard that has nothing new. Each empty read doubles the "
            "wait, from `read_every_s` up to this. DynamoDB Streams charges for empty reads too.",
            ge=0.4,
        ),
    ] = 5.0
    discover_every_s: Annotated[Seconds, Meta(description="How often the stream's shards are listed.")] = 10.0
    max_backlog: Annotated[
        Count,
        Meta(description="So many commits of a shard may wait to be handled; then it is read no further."),
    ] = 20_000


class EphemeralSettings(Struct, frozen=True, kw_only=True):
    """Receipts, typing, presence: what is told to whoever looks. The same in every process."""

    receipt_flush_s: Annotated[
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
    presence_grace_s: Annotated[
        float,
        Meta(
            description="So long a user is without a route before anybody is told that he is offline; "
            "longer than a reconnect takes.",
            gt=0,
            le=600,
        ),
    ] = 10.0
