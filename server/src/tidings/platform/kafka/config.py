"""The connection to the brokers, the settings of librdkafka that all clients share, and their health."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tidings.kernel.security import Secret

log = logging.getLogger("tidings.kafka")

type LibrdkafkaConfig = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaConfig:
    """Brokers and credentials. `topic_prefix` is put before the name of every topic and group."""

    bootstrap_servers: str
    topic_prefix: str = ""
    client_id: str = "tidings"
    security_protocol: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = "plaintext"
    sasl_mechanism: Literal["plain", "scram-sha-256", "scram-sha-512"] | None = None
    sasl_username: str | None = None
    sasl_password: Secret | None = None
    ca_file: Path | None = None
    group_protocol: Literal["consumer", "classic"] = "consumer"

    def topic(self, name: str) -> str:
        return self.topic_prefix + name

    def group(self, name: str) -> str:
        return self.topic_prefix + name

    def config(self) -> LibrdkafkaConfig:
        """Return the settings that producers, consumers and admin clients share."""
        return {
            "bootstrap.servers": self.bootstrap_servers,
            "client.id": self.client_id,
            # Give up an unresponsive broker after 10 s instead of a minute.
            "socket.timeout.ms": 10_000,
            "reconnect.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1_000,
            # Failed connections are also reported to `error_cb`. As log lines they are 20 a second during an outage.
            "log_level": 2,
            "logger": log,
            **self._security(),
        }

    def admin_config(self) -> LibrdkafkaConfig:
        """Return settings for a client that is never polled, so its log lines would accumulate: log only to stderr."""
        config = {**self.config(), "log_level": 0}
        del config["logger"]
        return config

    def _security(self) -> LibrdkafkaConfig:
        given = {
            "sasl.mechanism": self.sasl_mechanism.upper() if self.sasl_mechanism else None,
            "sasl.username": self.sasl_username,
            "sasl.password": self.sasl_password.reveal() if self.sasl_password else None,
            "ssl.ca.location": str(self.ca_file) if self.ca_file else None,
        }
        return {
            "security.protocol": self.security_protocol,
            **{key: value for key, value in given.items() if value is not None},
        }


type MonotonicClock = Callable[[], float]

QUIET_S = 10.0


@dataclass(frozen=True, slots=True)
class KafkaHealth:
    """`reason` is a text for operators, empty while `is_ok`."""

    is_ok: bool
    reason: str = ""


class KafkaHealthTracker:
    """Track the last answer and the last error of one client, and log when brokers stop and start answering."""

    def __init__(
        self, client: str, *, quiet_s: float = QUIET_S, clock: MonotonicClock = time.monotonic
    ) -> None:
        self._client = client
        self._quiet_s = quiet_s
        self._clock = clock
        self._answered_at = clock()
        self._has_answered = False
        self._last_error = ""
        self._is_logged = False

    def answered(self) -> None:
        self._answered_at = self._clock()
        self._has_answered = True
        if self._is_logged:
            self._is_logged = False
            log.info("%s: brokers answer again", self._client)

    def failed(self, error: str) -> None:
        self._last_error = error
        if not self.status().is_ok and not self._is_logged:
            self._is_logged = True
            log.warning("%s: %s", self._client, self.status().reason)

    def status(self) -> KafkaHealth:
        """Return ok until brokers have been silent for `quiet_s`, counted from the start at first."""
        silent_s = self._clock() - self._answered_at
        if silent_s < self._quiet_s and (self._has_answered or not self._last_error):
            return KafkaHealth(is_ok=True)
        because = f"; last error: {self._last_error}" if self._last_error else ""
        return KafkaHealth(is_ok=False, reason=f"no broker answered for {silent_s:.0f} s{because}")
