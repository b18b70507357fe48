"""The warning about a proxy that is not configured."""

import pytest

from tidings.kernel.security import UntrustedProxyDetector


@pytest.mark.parametrize("peer", ["10.1.2.3", "127.0.0.1", "100.64.0.7", "fd00::1", "::ffff:192.168.0.9"])
def test_a_private_address_that_forwards_is_named_once(peer: str, caplog: pytest.LogCaptureFixture) -> None:
    unnamed = UntrustedProxyDetector("api.trusted_proxies")
    unnamed.on_forwarded(peer)
    unnamed.on_forwarded("10.9.9.9")
    (line,) = caplog.messages
    assert line.startswith(f"{peer} forwards requests, and api.trusted_proxies is not set")


@pytest.mark.parametrize("peer", ["8.8.8.8", "2001:4860::1", "", "unix"])
def test_a_public_address_is_not_taken_for_a_proxy(peer: str, caplog: pytest.LogCaptureFixture) -> None:
    unnamed = UntrustedProxyDetector("api.trusted_proxies")
    unnamed.on_forwarded(peer)
    assert (caplog.messages, unnamed.has_warned) == ([], False)
