"""Settings of workers: inboxes, the relay, ephemeral events, webhooks and search."""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from tidings.kernel.security import Secret


class InboxesSettings(Struct, frozen=True, kw_only=True):
    """Inboxes: jobs of sends and recalls, and broadcasts."""

    job_retention_days: Annotated[
        int,
        Meta(
            description="How long jobs are shown after their start. A job that runs does not expire, and a paused one can be "
            "resumed for at least half of this time. Jobs of erasures are kept for at least 30 days. Recipients are kept as "
            "long as the notifications of the inbox, because a recall needs them.",
            ge=1,
            le=3650,
        ),
    ] = 90
    broadcast_spread_s: Annotated[
        float,
        Meta(
            description="Devices that have opened an inbox are notified of a broadcast within this time, each user at a random "
            "time. Most of them then request counts: 50,000 devices of a full gateway and 30 s are 1,700 requests a second.",
            ge=0,
            le=600,
        ),
    ] = 30.0


Seconds = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]


class RelaySettings(Struct, frozen=True, kw_only=True):
    """The relay, `tidings run relay`. Set it the same in every process."""

    audit_delay_s: Annotated[
        Seconds,
        Meta(
            description="How long a commit may be unprocessed before the relay compares it with the consumers' lag. If the lag "
            "does not explain it, the relay publishes the commit again."
        ),
    ] = 5.0
    max_backoff_s: Annotated[
        Seconds,
        Meta(description="Longest time between two attempts for one chat."),
    ] = 300.0
    max_attempts: Annotated[
        Count,
        Meta(
            description="Number of attempts for a commit that is consumed and still not processed. After the last one an error "
            "is logged, and the chat's next entry starts again. Attempts while Kafka is unavailable do not count."
        ),
    ] = 12
    lease_s: Annotated[
        float,
        Meta(
            description="After this time without a renewal, another process takes over a shard.",
            ge=1,
        ),
    ] = 15.0
    read_every_s: Annotated[
        float,
        Meta(
            description="Time between two reads of a shard. The stream allows five reads a second, for all readers together.",
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
        Meta(description="Maximum number of unprocessed commits of a shard; above it the shard is not read."),
    ] = 20_000


class EphemeralSettings(Struct, frozen=True, kw_only=True):
    """Receipts, typing and presence. Set it the same in every process."""

    receipt_flush_s: Annotated[
        float,
        Meta(
            description="Receipts of a chat are sent at most once in this time.",
            gt=0,
            le=5,
        ),
    ] = 0.2
    max_subscriptions: Annotated[
        int,
        Meta(
            description="Maximum number of chats and users that one device may subscribe to.", ge=1, le=10_000
        ),
    ] = 500
    presence_grace_s: Annotated[
        float,
        Meta(
            description="How long a user has no connected device before they are shown as offline. Longer than a reconnect takes.",
            gt=0,
            le=600,
        ),
    ] = 10.0


class WebhooksSettings(Struct, frozen=True, kw_only=True):
    """Webhooks, `tidings run webhooks`. Set it the same in every process."""

    network: Annotated[
        Literal["public", "private", "local"] | None,
        Meta(
            description="Which addresses endpoints may have. `public`: public addresses, by https; `private`: those of "
            "private networks too; `local`: this machine too, and by plain http. Unset: `public` in production, `local` "
            "in development."
        ),
    ] = None
    timeout_s: Annotated[
        float, Meta(description="How long an endpoint may take to answer an event.", gt=0, le=30)
    ] = 15.0
    max_concurrent: Annotated[
        int,
        Meta(
            description="Maximum number of requests of one process to one endpoint at the same time.",
            ge=1,
            le=256,
        ),
    ] = 8
    live_s: Annotated[
        float,
        Meta(
            description="How long a worker waits for the endpoints of a batch of events. Events that are not delivered then are "
            "queued, so that a slow endpoint does not delay others.",
            gt=0,
            le=10,
        ),
    ] = 1.0
    disable_after_h: Annotated[
        float,
        Meta(
            description="An endpoint is disabled if every attempt has failed for this many hours.",
            gt=0,
            le=720,
        ),
    ] = 120.0


class SearchSettings(Struct, frozen=True, kw_only=True):
    """Search in messages, `tidings run search`. Set it the same in the processes `search` and `api`."""

    engine: Annotated[
        Literal["none", "tantivy", "opensearch"],
        Meta(
            description="The index. `none`: no search; `tantivy`: files in `search.directory`, for an installation whose "
            "processes `api` and `search` run on one machine (`pip install 'tidings[search]'`); `opensearch`: OpenSearch 2.19 or "
            "later, for installations on several machines."
        ),
    ] = "none"
    directory: Annotated[
        Path,
        Meta(
            description="With `tantivy`: the directory of the index. It has words of all messages of tenants with search: put "
            "it on an encrypted volume."
        ),
    ] = Path(".tidings/search")
    url: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[!-~]+$")] | None,
        Meta(description="With `opensearch`: its URL."),
    ] = None
    username: Annotated[str | None, Meta(description="With `opensearch`: the user, if it has users.")] = None
    password: Annotated[Secret | None, Meta(description="With `opensearch`: the password.")] = None
    index_prefix: Annotated[
        str,
        Meta(
            description="With `opensearch`: put before the name of the index.", pattern=r"^[a-z0-9_-]{0,64}$"
        ),
    ] = "tidings-"
    shards: Annotated[
        int,
        Meta(
            description="With `opensearch`: shards of the index when it is created. One for about 50 million messages; each "
            "tenant is in one of them.",
            ge=1,
            le=1024,
        ),
    ] = 1
