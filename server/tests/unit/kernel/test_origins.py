"""Origins of web pages that may call the API."""

import pytest

from tidings.kernel.security import LOCAL, AllowedOrigins


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://app.example", True),
        ("https://app.example:8443", False),
        ("http://app.example", False),
        ("https://app.example.evil", False),
        ("http://localhost", True),
        ("http://localhost:3000", True),
        ("http://127.0.0.1:5173", True),
        ("https://localhost:3000", False),
        ("http://localhost.evil:80", False),
        ("http://localhost:3000.evil", False),
        ("http://localhost:3000@evil", False),
        ("http://localhost:", False),
        ("null", False),
        ("", False),
    ],
)
def test_exact_origins_and_any_local_port_are_allowed(origin: str, is_allowed: bool) -> None:  # noqa: FBT001
    assert AllowedOrigins.parse(["https://app.example", *LOCAL.split(",")]).allow(origin) is is_allowed


@pytest.mark.parametrize(
    "origin", ["*", "https://*.example", "https://app.example:*", "app.example", "https://a/b"]
)
def test_other_wildcards_are_refused(origin: str) -> None:
    with pytest.raises(ValueError, match="is not an origin"):
        AllowedOrigins.parse([origin])
