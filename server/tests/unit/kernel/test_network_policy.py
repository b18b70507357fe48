import pytest

from tidings.kernel.network_policy import NetworkPolicy, check_url, may_connect

PUBLIC, PRIVATE, LOCAL = NetworkPolicy.PUBLIC, NetworkPolicy.PRIVATE, NetworkPolicy.LOCAL


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:93.184.216.34"])
def test_public_addresses_are_always_reached(address: str) -> None:
    assert all(may_connect(address, reach) for reach in NetworkPolicy)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "172.16.5.5", "192.168.1.1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1"]
)
def test_private_addresses_are_reached_if_a_setting_says_so(address: str) -> None:
    assert [may_connect(address, reach) for reach in (PUBLIC, PRIVATE, LOCAL)] == [False, True, True]


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
)
def test_this_machine_is_reached_for_development_only(address: str) -> None:
    assert [may_connect(address, reach) for reach in (PUBLIC, PRIVATE, LOCAL)] == [False, False, True]


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1",
        "fe80::1%eth0",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "fec0::1",
        "fd00:ec2::254",
        "168.63.129.16",
        "::ffff:168.63.129.16",
        "64:ff9b::168.63.129.16",
        "0.0.0.0",
        "::",
        "224.0.0.1",
        "ff02::1",
        "255.255.255.255",
        "240.0.0.1",
        "not an address",
        "",
        "2130706433",
    ],
)
def test_some_addresses_are_never_reached(address: str) -> None:
    assert not any(may_connect(address, reach) for reach in NetworkPolicy)


@pytest.mark.parametrize("url", ["https://id.example/keys", "https://id.example:8443/a/b?c=d"])
def test_https_is_always_allowed(url: str) -> None:
    assert {check_url(url, reach) for reach in NetworkPolicy} == {None}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/keys", "http://localhost/keys", "http://[::1]:1/keys"]
)
def test_plain_http_is_for_this_machine_in_development_only(url: str) -> None:
    assert [check_url(url, reach) is None for reach in (PUBLIC, PRIVATE, LOCAL)] == [False, False, True]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "id.example/keys",
        "http://id.example/keys",
        "http://127.0.0.1.evil.example/keys",
        "http://localhost@evil.example/",
        "https://user:pw@id.example/keys",
        "https://user@id.example/keys",
        "https://id.example/keys#x",
        "https:///keys",
        "https://id.example:99999/",
        "https://id.example:x/",
        "https://[::1/keys",
        "file:///etc/passwd",
        "ftp://id.example",
        "gopher://id.example",
    ],
)
def test_other_urls_are_refused(url: str) -> None:
    assert all(check_url(url, reach) for reach in NetworkPolicy)
