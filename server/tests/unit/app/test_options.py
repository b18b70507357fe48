"""From settings to options: all invalid values are reported together, and secrets are not printed."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tidings.app.processes.api import BUILDS
from tidings.app.settings import Settings, load
from tidings.app.wiring.options import (
    cursor_secrets,
    kafka_config,
    limit_policies,
    otlp_headers,
    process_options,
    redis_options,
    trusted_proxies,
    validate_settings,
)
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.security import Secret
from tidings.limits.model import LimitKind, LimitPolicy


@dataclass
class Given:
    directory: Path

    def settings(self, **more: str) -> Settings:
        environ = {"TIDINGS_INSTALLATION": "development"} | {
            f"TIDINGS_{name}": value for name, value in more.items()
        }
        return load(environ, self.directory).settings


@pytest.fixture
def given(tmp_path: Path) -> Given:
    return Given(tmp_path)


def test_all_invalid_values_are_reported_together_without_secrets(given: Given) -> None:
    settings = given.settings(
        REDIS_URL="http://user:hunter2@cache",
        API_CURSOR_SECRET="hunter2",
        API_TRUSTED_PROXIES="10.0.0.1/8",
        TELEMETRY_OTLP_HEADERS="hunter2",
        LIMITS_CODE_NUMBER_RATE="1/d",
        LIMITS_CODE_NUMBER_BURST="9999999",
    )
    with pytest.raises(TidingsError) as caught:
        validate_settings(settings, BUILDS)
    assert caught.value.code is Code.SETTINGS_INVALID
    named = ("dynamo.endpoint", "redis.url", "api.cursor_secret", "api.trusted_proxies")
    for name in (*named, "telemetry.otlp_headers", "limits.code_number_rate"):
        assert f"  - {name}" in caught.value.message
    assert "hunter2" not in caught.value.message


def test_the_defaults_and_the_engines_are_enough(given: Given) -> None:
    engines = {"DYNAMO_ENDPOINT": "aws", "REDIS_URL": "redis://cache", "KAFKA_BOOTSTRAP_SERVERS": "b1:9092"}
    validate_settings(given.settings(**engines), BUILDS)
    assert kafka_config(given.settings(**engines)).topic("messages") == "tidings-messages"


def test_rates_are_counted_per_second_minute_hour_and_day(given: Given) -> None:
    policies = limit_policies(given.settings(LIMITS_USER_RATE="90/min", LIMITS_CODE_TENANT_RATE="7/d"))
    assert policies[LimitKind.USER] == LimitPolicy(count=90, period_s=60, burst=60)
    assert policies[LimitKind.CODE_TENANT] == LimitPolicy(count=7, period_s=86_400, burst=50)
    assert policies[LimitKind.CODE_NUMBER] == LimitPolicy(count=20, period_s=86_400, burst=10)
    assert policies.keys() == set(LimitKind)


def test_lists_in_settings_are_split(given: Given) -> None:
    settings = given.settings(
        API_TRUSTED_PROXIES="10.0.0.0/8, 192.0.2.1",
        API_CURSOR_SECRET="the newest of the secrets, the one before that",
        TELEMETRY_OTLP_HEADERS="x-team=chat, authorization=Basic YTpi==",
    )
    assert trusted_proxies(settings) == ["10.0.0.0/8", "192.0.2.1/32"]
    assert cursor_secrets(settings) == (Secret("the newest of the secrets"), Secret("the one before that"))
    assert otlp_headers(settings) == {"x-team": Secret("chat"), "authorization": Secret("Basic YTpi==")}


def test_the_options_of_a_process_come_from_the_settings(given: Given) -> None:
    options = process_options(
        given.settings(
            TELEMETRY_LOG_FORMAT="console",
            TELEMETRY_OTLP_ENDPOINT="http://collector:4318",
            TELEMETRY_TRACE_RATIO="0.5",
            PROCESS_ADMIN_PORT="9000",
            PROCESS_DRAIN_S="1.5",
            PROCESS_WATCHDOG_EXIT_S="7",
        ),
        "api",
    )
    assert (options.logs.format, options.tracing.endpoint) == ("console", "http://collector:4318")
    assert (options.tracing.ratio, options.admin.port) == (0.5, 9_000)
    assert (options.stop.drain_s, options.watchdog.exit_s) == (1.5, 7.0)


def test_the_options_of_redis_come_from_the_settings(given: Given, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    options = redis_options(
        given.settings(
            REDIS_URL="rediss://app:hunter2@cache:7000",
            REDIS_IS_CLUSTER="true",
            REDIS_KEY_PREFIX="blue",
            REDIS_CA_FILE=str(tmp_path / "ca.pem"),
        )
    )
    assert (options.is_cluster, options.is_tls, options.key_prefix) == (True, True, "blue")
    assert options.ca_file == tmp_path / "ca.pem"
    with pytest.raises(ValueError, match=r"redis\.ca_file: there is no file"):
        redis_options(given.settings(REDIS_URL="rediss://cache", REDIS_CA_FILE="gone.pem"))
