"""Endpoints of the client."""

import ssl

import botocore.session
import pytest

from tidings.platform.dynamo.credentials import DYNAMODB, STREAMS, aws_endpoint, parse_endpoint


@pytest.mark.parametrize(
    ("url", "address", "port", "host"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1", 8000, "127.0.0.1:8000"),
        ("http://localhost/", "localhost", 80, "localhost"),
        (
            "https://dynamodb.eu-west-1.amazonaws.com",
            "dynamodb.eu-west-1.amazonaws.com",
            443,
            "dynamodb.eu-west-1.amazonaws.com",
        ),
        ("https://vpce.example:8443", "vpce.example", 8443, "vpce.example:8443"),
        ("http://[::1]:8000", "::1", 8000, "[::1]:8000"),
    ],
)
def test_an_endpoint_is_read_from_its_url(url: str, address: str, port: int, host: str) -> None:
    endpoint = parse_endpoint(url)
    assert (endpoint.address, endpoint.port, endpoint.host) == (address, port, host)
    assert (endpoint.tls is not None) == url.startswith("https")


@pytest.mark.parametrize("url", ["dynamodb", "ftp://host", "http://", "http://host/path"])
def test_an_invalid_endpoint_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an endpoint"):
        parse_endpoint(url)


def test_tls_verifies_certificate_and_name() -> None:
    tls = parse_endpoint("https://host").tls
    assert tls is not None
    assert tls.verify_mode is ssl.CERT_REQUIRED
    assert tls.check_hostname
    assert tls.minimum_version is ssl.TLSVersion.TLSv1_2
    assert tls.get_ca_certs(), "somebody is trusted"


@pytest.mark.parametrize(
    ("service", "region", "host"),
    [
        (DYNAMODB, "us-east-1", "dynamodb.us-east-1.amazonaws.com"),
        (STREAMS, "us-east-1", "streams.dynamodb.us-east-1.amazonaws.com"),
        (DYNAMODB, "cn-north-1", "dynamodb.cn-north-1.amazonaws.com.cn"),
        (STREAMS, "eu-central-1", "streams.dynamodb.eu-central-1.amazonaws.com"),
    ],
)
def test_the_endpoint_of_aws_comes_from_botocore(service: str, region: str, host: str) -> None:
    endpoint = aws_endpoint(botocore.session.Session(), service, region)
    assert (endpoint.host, endpoint.port, endpoint.tls is not None) == (host, 443, True)
