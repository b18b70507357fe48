"""Settings of attachments."""

from typing import Annotated

from msgspec import Meta, Struct

from tidings.app.settings.accounts import Endpoint
from tidings.kernel.security import Secret

ClamdAddress = Annotated[str, Meta(pattern=r"^(unix:/.+|[^:/]+:[0-9]{1,5})$")]
Bucket = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class MediaSettings(Struct, frozen=True, kw_only=True):
    """Attachments: the bucket, and `tidings run media`. Without `endpoint` there are no attachments."""

    endpoint: Annotated[
        Endpoint | None,
        Meta(
            description='"aws", or the URL of a store with the API of S3. Set by `tidings engines start` for the store '
            "it runs. Unset: no attachments."
        ),
    ] = None
    public_endpoint: Annotated[
        Endpoint | None,
        Meta(description="The URL of the same store for clients, if they reach it at another address."),
    ] = None
    region: Annotated[str, Meta(description="Region of the bucket.", min_length=1)] = "us-east-1"
    bucket: Annotated[Bucket, Meta(description="The bucket. Only Tidings may write to it.")] = "tidings-media"
    access_key: Annotated[
        str | None,
        Meta(description='Access key. Unset, with "aws": from the usual AWS environment, files or roles.'),
    ] = None
    secret_key: Annotated[Secret | None, Meta(description="The secret of `access_key`.")] = None
    url_life_s: Annotated[
        int,
        Meta(description="How long a URL to download an attachment is valid.", ge=10, le=3_600),
    ] = 300
    upload_life_s: Annotated[
        int,
        Meta(
            description="How long an upload may take until a message refers to it. Then it is deleted.",
            ge=60,
            le=7 * 86_400,
        ),
    ] = 86_400
    clamd: Annotated[
        ClamdAddress | None,
        Meta(
            description="Address of ClamAV's `clamd`: `host:port`, or `unix:` and the path of its socket. Then only the "
            "sender can download a file before it was scanned. Set it for `tidings run api` and `tidings run media`. Unset: "
            "files are not scanned."
        ),
    ] = None
    clamd_max_mb: Annotated[
        int,
        Meta(
            description="Larger files are refused. Not more than `StreamMaxLength` of `clamd`.",
            ge=1,
            le=4_000,
        ),
    ] = 100
    sweep_interval_s: Annotated[
        float,
        Meta(
            description="How often `tidings run media` compares all uploads with the objects of the bucket.",
            ge=1,
            le=86_400,
        ),
    ] = 3_600.0
