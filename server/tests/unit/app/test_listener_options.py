"""The gateway's settings on their way to its sockets."""

import ipaddress
import resource
from pathlib import Path

import pytest
import trustme

from tidings.app.settings.gateway import GatewaySettings
from tidings.app.wiring.listener_options import admission_options, fit_open_file_limit, listen_options
from tidings.gateway.transport.ports import ListenOptions
from tidings.kernel.errors import Code, TidingsError


def listened(given: GatewaySettings) -> ListenOptions:
    return listen_options(given, slow_close_code=4_002, slow_close_reason="slow")


def test_lists_are_split_and_networks_are_networks() -> None:
    given = GatewaySettings(
        allowed_origins="https://a.example, https://b.example", trusted_proxies="10.0.0.0/8, 192.0.2.7"
    )
    rules = listened(given).rules
    assert rules.origins.exact == {"https://a.example", "https://b.example"}
    assert rules.trusted_proxies == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("192.0.2.7/32"),
    )


def test_the_settings_defaults_are_those_of_the_options() -> None:
    """The defaults are in two places; a change of one must fail here until the other follows."""
    made, meant = listened(GatewaySettings(port=0)), ListenOptions()
    different = {"slow_close_code", "slow_close_reason", "unnamed_proxy"}
    assert {f for f in ListenOptions.__slots__ if getattr(made, f) != getattr(meant, f)} == different
    assert admission_options(GatewaySettings()).max_connects_per_s == 500


def test_a_proxy_is_reported_only_while_the_operator_has_not_decided() -> None:
    assert listened(GatewaySettings()).unnamed_proxy is not None
    assert listened(GatewaySettings(trusted_proxies="none")).unnamed_proxy is None
    assert listened(GatewaySettings(trusted_proxies="10.0.0.0/8")).unnamed_proxy is None


def test_an_invalid_network_is_a_settings_error() -> None:
    with pytest.raises(TidingsError, match=r"trusted_proxies: .*10\.0\.0\.1/8") as caught:
        listened(GatewaySettings(trusted_proxies="10.0.0.1/8"))
    assert caught.value.code is Code.SETTINGS_INVALID


def test_a_certificate_is_read_and_a_missing_one_is_reported(tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(chain)
    assert listened(GatewaySettings(tls_certificate=chain)).tls is not None
    with pytest.raises(TidingsError, match="tls_certificate"):
        listened(GatewaySettings(tls_certificate=tmp_path / "none.pem"))


def test_too_few_open_files_are_reported_before_the_start() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("this machine allows any number")
    with pytest.raises(TidingsError, match="open files are needed"):
        fit_open_file_limit(GatewaySettings(max_connections=hard))


@pytest.mark.parametrize("hard", [1_024, 20_000])
def test_the_defaults_fit_a_machine_with_few_open_files(monkeypatch: pytest.MonkeyPatch, hard: int) -> None:
    limits = [(256, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limits.append(both))
    fitting = fit_open_file_limit(GatewaySettings())
    assert limits[-1] == (hard, hard)
    assert fitting.max_connections >= hard // 2
    assert fitting.max_connections + fitting.max_handshakes < hard
    small = GatewaySettings(max_connections=100, max_handshakes=50)
    assert fit_open_file_limit(small) == small
