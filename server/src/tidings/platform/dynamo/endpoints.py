"""Where DynamoDB and its streams answer. For AWS that is botocore's to know: regions, partitions, FIPS, dual stack."""

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from botocore.session import Session

AWS = "aws"
DYNAMODB = "dynamodb"
STREAMS = "dynamodbstreams"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`host` is what the Host header says: with the port, unless it is the scheme's own."""

    address: str
    port: int
    host: str
    tls: ssl.SSLContext | None = None


def parse_endpoint(url: str, *, ca_file: str | None = None) -> Endpoint:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise ValueError(f"an endpoint is http(s)://host[:port], not {url!r}")
    tls = tls_context(ca_file) if parts.scheme == "https" else None
    usual = 443 if tls else 80
    port = parts.port or usual
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    host = name if port == usual else f"{name}:{port}"
    return Endpoint(parts.hostname, port, host, tls)


def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """Verifies certificate and name. Trusts the bundle that botocore would, unless a file is given."""
    from botocore.httpsession import get_cert_path  # noqa: PLC0415 - half a second to load, and for TLS only

    context = ssl.create_default_context(cafile=ca_file or get_cert_path(verify=True))
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def aws_endpoint(session: "Session", service: str, region: str) -> Endpoint:
    """Blocks: botocore reads its model files. The bundle is AWS_CA_BUNDLE's, if that is set."""
    # any keys: without them botocore would go looking for some, which takes seconds where there are none
    unused = "unused"
    client = session.create_client(
        service, region_name=region, aws_access_key_id=unused, aws_secret_access_key=unused
    )
    try:
        return parse_endpoint(client.meta.endpoint_url, ca_file=session.get_config_variable("ca_bundle"))
    finally:
        client.close()
