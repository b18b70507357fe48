"""The settings: one struct for each TOML table.

The types check values; the reference page shows the descriptions.
"""

from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from tidings.app.settings.accounts import AccountsSettings, Endpoint
from tidings.app.settings.console import ConsoleSettings
from tidings.app.settings.gateway import GatewaySettings
from tidings.app.settings.mail import MailSettings
from tidings.app.settings.media import MediaSettings
from tidings.app.settings.processes import (
    ApiSettings,
    LimitsSettings,
    Port,
    ProcessSettings,
    TelemetrySettings,
)
from tidings.app.settings.push import PushSettings
from tidings.app.settings.workers import (
    EphemeralSettings,
    InboxesSettings,
    RelaySettings,
    SearchSettings,
    WebhooksSettings,
)
from tidings.kernel.security import Secret

Servers = Annotated[str, Meta(pattern=r"^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$")]
Prefix = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.-]{0,64}$")]


class DynamoSettings(Struct, frozen=True, kw_only=True):
    """DynamoDB. Credentials come from the usual AWS environment, files or roles."""

    endpoint: Annotated[
        Endpoint | None,
        Meta(
            description='"aws", or the URL of an engine with DynamoDB\'s protocol. '
            "Set by `tidings engines start` for the engine it runs.",
        ),
    ] = None
    region: Annotated[str, Meta(description="AWS region. One region writes.", min_length=1)] = "us-east-1"
    table_prefix: Annotated[
        Prefix, Meta(description="Put before every table's name, so that installations can share an account.")
    ] = "tidings-"
    capacity: Annotated[
        Literal["declared", "on_demand"],
        Meta(
            description="`declared`: each table in the capacity mode that the declaration gives it; "
            "`on_demand`: all of them on demand, for small installations."
        ),
    ] = "declared"


class KafkaSettings(Struct, frozen=True, kw_only=True):
    """Kafka, the log of events."""

    bootstrap_servers: Annotated[
        Servers | None,
        Meta(
            description="host:port, several with commas. Set by `tidings engines start` for what it runs.",
        ),
    ] = None
    topic_prefix: Annotated[Prefix, Meta(description="Put before every topic's and group's name.")] = (
        "tidings-"
    )
    partitions: Annotated[
        Literal["small", "medium", "large"],
        Meta(
            description="How many partitions `tidings topics apply` gives each topic: `small` for a laptop and the "
            "first 10,000 users, `large` for 350,000 messages a second. A later increase moves keys, see the topics' page."
        ),
    ] = "small"
    security_protocol: Annotated[
        Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"],
        Meta(description="The protocol of the brokers; MSK: `ssl` or `sasl_ssl`."),
    ] = "plaintext"
    sasl_mechanism: Annotated[
        Literal["plain", "scram-sha-256", "scram-sha-512"] | None,
        Meta(description="With a `sasl_…` protocol: the mechanism."),
    ] = None
    sasl_username: Annotated[str | None, Meta(description="With a `sasl_…` protocol: the user.")] = None
    sasl_password: Annotated[Secret | None, Meta(description="With a `sasl_…` protocol: the password.")] = (
        None
    )
    ca_file: Annotated[Path | None, Meta(description="CA certificates, if not the system's.")] = None
    group_protocol: Annotated[
        Literal["consumer", "classic"],
        Meta(
            description="How workers share partitions: `consumer` (KIP-848) needs Kafka 4.0 or later, `classic` works "
            "with every Kafka. Stop all workers before you change it."
        ),
    ] = "consumer"


class RedisSettings(Struct, frozen=True, kw_only=True):
    """Redis or Valkey, for routes and other short-lived state."""

    url: Annotated[
        Secret | None,
        Meta(
            description="redis://… or, with TLS, rediss://user:password@host:port. "
            "Set by `tidings engines start` for what it runs."
        ),
    ] = None
    is_cluster: Annotated[bool, Meta(description="The URL names a cluster.")] = False
    ca_file: Annotated[Path | None, Meta(description="With TLS: CA certificates, if not the system's.")] = (
        None
    )
    key_prefix: Annotated[Prefix, Meta(description="Put before every key and channel.")] = "tidings"


class EncryptionSettings(Struct, frozen=True, kw_only=True):
    """Encryption of content and previews, and the service that wraps the tenants' keys. Set it the same in every process."""

    mode: Annotated[
        Literal["on", "off"],
        Meta(
            description="`on`: encrypted; `off`: readable in the tables, and still protected from forgery. Content that was stored "
            "in the other mode stays readable."
        ),
    ] = "on"
    kms: Annotated[
        Literal["file", "aws", "credential"],
        Meta(
            description="The key service that wraps the tenants' keys. `file`: a key file that Tidings creates, for "
            "development; `aws`: AWS KMS (untried there); `credential`: a master key that the platform passes to the "
            "process as a mounted secret or a systemd credential."
        ),
    ] = "file"
    key_file: Annotated[
        Path,
        Meta(
            description="With `file`: created at first use, with mode 0600. Without it no content can be read."
        ),
    ] = Path(".tidings/tidings.key")
    credential_file: Annotated[
        Path | None,
        Meta(
            description="With `credential`: the file with the master key, 32 bytes in base64 "
            "(`openssl rand -base64 32`), not readable by other users. Unset: `tidings.key` in the directory that "
            "systemd's `LoadCredential=` passes in `$CREDENTIALS_DIRECTORY`."
        ),
    ] = None
    former_key_file: Annotated[
        Path | None,
        Meta(
            description="With `file` or `credential`: a file with the former master key, which still unwraps. "
            "Not needed after `tidings tenant rewrap-keys`."
        ),
    ] = None
    kms_key_id: Annotated[
        str | None, Meta(description="With `aws`: id, ARN or alias of a symmetric KMS key.")
    ] = None
    kms_former_key_ids: Annotated[
        str | None,
        Meta(description="With `aws`: former KMS keys, which still unwrap, several with commas."),
    ] = None
    kms_endpoint: Annotated[
        Endpoint, Meta(description='With `aws`: "aws", or the URL of a service with the same protocol.')
    ] = "aws"
    kms_region: Annotated[
        str | None, Meta(description="With `aws`: the region of the KMS key, if not `dynamo.region`.")
    ] = None
    rotate_after_days: Annotated[
        int,
        Meta(
            description="An active tenant gets a new content key when its newest one is this old. Its users get new "
            "ones with their next message.",
            ge=1,
            le=3650,
        ),
    ] = 90
    refresh_s: Annotated[
        float,
        Meta(
            description="How long a process may use an older key after a rotation by another process.", gt=0
        ),
    ] = 300.0


class EnginesSettings(Struct, frozen=True, kw_only=True):
    """The engines that `tidings engines start` and `tidings engines run` run on this machine."""

    data_dir: Annotated[Path, Meta(description="Data, logs and state of the local engines.")] = Path(
        ".tidings"
    )
    cache_dir: Annotated[
        Path | None,
        Meta(
            description="Downloaded jars and compiled binaries, shared by all checkouts. Default: the user's cache."
        ),
    ] = None
    dynamo: Annotated[
        Literal["local", "dynoxide"],
        Meta(
            description="`local`: Amazon's DynamoDB Local; `dynoxide`: for load and crash tests, needs cargo once."
        ),
    ] = "local"
    on_disk: Annotated[bool, Meta(description="Keep the data after a stop. Otherwise a stop deletes it.")] = (
        False
    )
    kafka_brokers: Annotated[Literal[1, 3], Meta(description="3: replicated, min.insync.replicas=2.")] = 1
    dynamo_port: Annotated[Port, Meta(description="0: any free port.")] = 0
    kafka_port: Annotated[Port, Meta(description="0: any free port. With 3 brokers the first of them.")] = 0
    valkey_port: Annotated[Port, Meta(description="0: any free port.")] = 0
    s3_port: Annotated[Port, Meta(description="0: any free port.")] = 0
    ready_timeout_s: Annotated[float, Meta(description="How long an engine may take to start.", gt=0)] = 90.0


class Settings(Struct, frozen=True, kw_only=True):
    """All settings: the keys at the top of the file, then a section for each TOML table."""

    installation: Annotated[
        Literal["development", "production"],
        Meta(
            description="`production` refuses settings for development: codes on the console, the key file, JWKS URLs "
            "and webhooks on this machine, unencrypted connections to engines on other machines, missing secrets, unset "
            "`trusted_proxies` and `failpoints`. `tidings dev` and `tidings engines start` set "
            "`development` for their directory, unless you set something else."
        ),
    ] = "production"
    failpoints: Annotated[
        str | None,
        Meta(
            description="For tests: an importable module whose function `install()` is called once when a process "
            "starts and returns its failpoints. Environment variables that start with `TIDINGS_FAILPOINTS_` are for "
            "this module. Refused in production."
        ),
    ] = None
    dynamo: DynamoSettings = field(default_factory=DynamoSettings)
    kafka: KafkaSettings = field(default_factory=KafkaSettings)
    redis: RedisSettings = field(default_factory=RedisSettings)
    encryption: EncryptionSettings = field(default_factory=EncryptionSettings)
    api: ApiSettings = field(default_factory=ApiSettings)
    limits: LimitsSettings = field(default_factory=LimitsSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    process: ProcessSettings = field(default_factory=ProcessSettings)
    accounts: AccountsSettings = field(default_factory=AccountsSettings)
    console: ConsoleSettings = field(default_factory=ConsoleSettings)
    gateway: GatewaySettings = field(default_factory=GatewaySettings)
    ephemeral: EphemeralSettings = field(default_factory=EphemeralSettings)
    relay: RelaySettings = field(default_factory=RelaySettings)
    inboxes: InboxesSettings = field(default_factory=InboxesSettings)
    webhooks: WebhooksSettings = field(default_factory=WebhooksSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    push: PushSettings = field(default_factory=PushSettings)
    mail: MailSettings = field(default_factory=MailSettings)
    media: MediaSettings = field(default_factory=MediaSettings)
    engines: EnginesSettings = field(default_factory=EnginesSettings)
