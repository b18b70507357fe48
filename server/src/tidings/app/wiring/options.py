"""Build the options of components from the settings. Invalid settings are reported before anything is opened."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from ipaddress import ip_network

from tidings.app.settings import Settings
from tidings.app.settings.model import KafkaSettings
from tidings.app.settings.production import NO_PROXY
from tidings.kernel.clock import SystemClock
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.failpoints import NO_FAILPOINTS, Failpoints
from tidings.kernel.security import AllowedOrigins, Secret
from tidings.limits.model import LimitKind, LimitPolicy
from tidings.platform.kafka.config import KafkaConfig
from tidings.platform.lifecycle.admin import AdminOptions
from tidings.platform.lifecycle.process import StopOptions
from tidings.platform.lifecycle.run import ProcessOptions
from tidings.platform.lifecycle.watchdog import WatchdogOptions
from tidings.platform.redis.options import RedisOptions
from tidings.platform.telemetry.logs import LogOptions
from tidings.platform.telemetry.tracing import TracingOptions

MIN_SECRET_BYTES = 16
PERIODS_S = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}

_HINTS = {
    "development": "`tidings config show` prints every setting; docs/reference/settings.md explains them.",
    "production": "The installation is in production, which is the default. On a developer's machine run "
    '`tidings dev`, or set installation = "development" (TIDINGS_INSTALLATION). '
    "`tidings config show` prints every setting; docs/reference/settings.md explains them.",
}

type OptionsBuilder = Callable[[Settings], object]


def validate_settings(settings: Settings, builds: Sequence[OptionsBuilder]) -> None:
    """Raise `settings_invalid` with the problems of all builders."""
    faults = [fault for build in builds if (fault := _option_error(settings, build))]
    if faults:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "\n".join(["The settings have faults:", *(f"  - {fault}" for fault in faults)]),
            hint=_HINTS[settings.installation],
            details={"faults": faults},
        )


def _option_error(settings: Settings, build: OptionsBuilder) -> str:
    try:
        build(settings)
    except ValueError as error:
        return str(error)
    return ""


ADMIN_PORTS = {
    "api": 9500,
    "gateway": 9600,
    "delivery": 9700,
    "relay": 9710,
    "notifications": 9720,
    "console": 9730,
    "webhooks": 9750,
    "push": 9740,
    "search": 9760,
    "media": 9770,
    "archive": 9780,
}
"""The admin port of each process if `process.admin_port` is unset. `--processes` uses the next numbers too."""


def admin_options(settings: Settings, kind: str) -> AdminOptions:
    life = settings.process
    first = ADMIN_PORTS[kind] if life.admin_port is None else life.admin_port
    return AdminOptions(
        host=life.admin_host,
        port=first + life.number if first else 0,
        may_move=life.admin_port is None,
        drain_token=life.drain_token,
    )


def process_options(settings: Settings, kind: str) -> ProcessOptions:
    telemetry, life = settings.telemetry, settings.process
    return ProcessOptions(
        logs=LogOptions(
            format=telemetry.log_format, level=telemetry.log_level, library_level=telemetry.library_log_level
        ),
        tracing=TracingOptions(
            endpoint=telemetry.otlp_endpoint,
            headers=otlp_headers(settings),
            ratio=telemetry.trace_ratio,
            queue_spans=telemetry.trace_queue_spans,
        ),
        admin=admin_options(settings, kind),
        stop=StopOptions(drain_s=life.drain_s, stop_s=life.stop_s),
        watchdog=WatchdogOptions(warn_s=life.watchdog_warn_s, exit_s=life.watchdog_exit_s),
        clock=SystemClock(),
        failpoints=load_failpoints(settings),
    )


def load_failpoints(settings: Settings) -> Failpoints:
    """Return the failpoints of the module that `failpoints` names, or those that do nothing.

    Raises `settings_invalid` if the module cannot be installed. Production refuses the setting when it is read.
    """
    if settings.failpoints is None:
        return NO_FAILPOINTS
    try:
        return _install_failpoints(settings.failpoints)
    except (ImportError, AttributeError, ValueError) as error:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            f"failpoints: cannot install {settings.failpoints!r}: {error}",
            hint="It is for tests: name an importable module with a function install(). Unset it otherwise.",
        ) from error


@cache
def _install_failpoints(module: str) -> Failpoints:
    """Call `install` of the module, once in the life of the process."""
    installed: Failpoints = import_module(module).install()
    return installed


def otlp_headers(settings: Settings) -> dict[str, Secret]:
    given = settings.telemetry.otlp_headers
    headers: dict[str, Secret] = {}
    for pair in _listed(given.reveal() if given else None):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ValueError("telemetry.otlp_headers: is written name=value, several with commas")
        headers[name.strip()] = Secret(value.strip())
    return headers


def dynamo_endpoint(settings: Settings) -> str:
    if settings.dynamo.endpoint is None:
        raise ValueError('dynamo.endpoint: is missing; "aws", or run `tidings engines start`')
    return settings.dynamo.endpoint


def kafka_config(settings: Settings) -> KafkaConfig:
    return kafka_config_for(settings.kafka)


def kafka_config_for(wanted: KafkaSettings) -> KafkaConfig:
    if wanted.bootstrap_servers is None:
        raise ValueError("kafka.bootstrap_servers: is missing; or run `tidings engines start`")
    return KafkaConfig(
        bootstrap_servers=wanted.bootstrap_servers,
        topic_prefix=wanted.topic_prefix,
        security_protocol=wanted.security_protocol,
        sasl_mechanism=wanted.sasl_mechanism,
        sasl_username=wanted.sasl_username,
        sasl_password=wanted.sasl_password,
        ca_file=wanted.ca_file,
        group_protocol=wanted.group_protocol,
    )


def redis_options(settings: Settings) -> RedisOptions:
    wanted = settings.redis
    if wanted.url is None:
        raise ValueError("redis.url: is missing; or run `tidings engines start`")
    try:
        options = RedisOptions.from_url(wanted.url)
    except ValueError as error:
        raise ValueError(f"redis.url: {error}") from error
    if wanted.ca_file is not None and not wanted.ca_file.is_file():
        raise ValueError(f"redis.ca_file: there is no file {wanted.ca_file}")
    return replace(
        options, is_cluster=wanted.is_cluster, key_prefix=wanted.key_prefix, ca_file=wanted.ca_file
    )


def limit_policies(settings: Settings) -> dict[LimitKind, LimitPolicy]:
    return {kind: _policy(settings, kind) for kind in LimitKind}


def _policy(settings: Settings, kind: LimitKind) -> LimitPolicy:
    rate: str = getattr(settings.limits, f"{kind}_rate")
    count, _, period = rate.partition("/")
    burst: int = getattr(settings.limits, f"{kind}_burst")
    try:
        return LimitPolicy(count=int(count), period_s=PERIODS_S[period], burst=burst)
    except ValueError as error:
        raise ValueError(f"limits.{kind}_rate and limits.{kind}_burst: too much to be counted") from error


def trusted_proxies(settings: Settings) -> list[str]:
    try:
        return [str(ip_network(each)) for each in listed_proxies(settings.api.trusted_proxies)]
    except ValueError as error:
        raise ValueError(f"api.trusted_proxies: {error}") from error


def listed_proxies(text: str | None) -> list[str]:
    """Split the networks of `trusted_proxies`; `none` means no proxy."""
    return [] if text == NO_PROXY else _listed(text)


def listed_origins(settings: Settings) -> list[str]:
    return _listed(settings.api.allowed_origins)


def allowed_origins(settings: Settings) -> AllowedOrigins:
    try:
        return AllowedOrigins.parse(listed_origins(settings))
    except ValueError as error:
        raise ValueError(f"api.allowed_origins: {error}") from error


def drain_token(settings: Settings) -> Secret | None:
    token = settings.process.drain_token
    if token is not None and len(token.reveal().encode()) < MIN_SECRET_BYTES:
        raise ValueError(f"process.drain_token: has at least {MIN_SECRET_BYTES} characters")
    return token


def cursor_secrets(settings: Settings) -> tuple[Secret, ...]:
    """Return the secrets; empty if none is set."""
    given = settings.api.cursor_secret
    secrets = tuple(Secret(each) for each in _listed(given.reveal() if given else None))
    if any(len(secret.reveal().encode()) < MIN_SECRET_BYTES for secret in secrets):
        raise ValueError(f"api.cursor_secret: each has at least {MIN_SECRET_BYTES} characters")
    return secrets


def _listed(text: str | None) -> list[str]:
    return [each.strip() for each in (text or "").split(",") if each.strip()]
