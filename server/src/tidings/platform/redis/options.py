"""Addresses, credentials and time limits of the Redis client."""

import random
import ssl
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tidings.kernel.security import Secret
from tidings.platform.redis.errors import Address

DEFAULT_PORT = 6379
_NO_DATABASE = ("", "/", "/0")


@dataclass(frozen=True, kw_only=True)
class RedisOptions:
    seeds: tuple[Address, ...]
    """The single node, or some nodes of the cluster that know the others."""
    is_cluster: bool = False
    is_tls: bool = False
    ca_file: Path | None = None
    username: str | None = None
    password: Secret | None = None
    key_prefix: str = "tidings"
    client_name: str = "tidings"
    timeout_s: float = 1.0
    """Deadline of a command whose call does not pass one."""
    connect_s: float = 2.0
    detect_s: float = 3.0
    """A server that stops answering is detected within this time. Its subscriptions count as lost then."""
    confirm_s: float = 5.0
    """How long `subscribe` waits for the server's confirmation."""
    max_commands: int = 20_000
    """Commands in flight per connection."""
    max_bytes: int = 64 * 2**20
    refresh_s: float = 10.0
    """Maximum age of the cluster's slot map."""
    longest_pause_s: float = 2.0
    """Maximum pause between two attempts to connect."""

    @classmethod
    def from_url(cls, url: str | Secret) -> "RedisOptions":
        """Parse `redis://…`, or `rediss://user:password@host:port` for TLS. Separate the nodes of a cluster by commas."""
        text = url.reveal() if isinstance(url, Secret) else url
        parts = urlsplit(text)
        if parts.scheme not in ("redis", "rediss"):
            raise ValueError("A Redis URL starts with redis:// or rediss://.")
        if parts.path not in _NO_DATABASE or parts.query:
            raise ValueError(
                "A Redis URL has no database and no options. Use key_prefix to separate installations."
            )
        login, _, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        return cls(
            seeds=tuple(_address(host) for host in hosts.split(",")),
            is_tls=parts.scheme == "rediss",
            username=unquote(user) or None,
            password=Secret(unquote(password)) if password else None,
        )

    @property
    def ping_s(self) -> float:
        """Return the interval of pings. With `silence_s` and two checks it adds up to `detect_s`."""
        return self.detect_s / 3

    @property
    def silence_s(self) -> float:
        """Return how long a server may be silent while an answer is due."""
        return self.detect_s / 2

    @property
    def check_every_s(self) -> float:
        return self.detect_s / 12

    @property
    def hello(self) -> tuple[str, ...]:
        if self.password is None:
            return ("HELLO", "3", "SETNAME", self.client_name)
        login = ("AUTH", self.username or "default", self.password.reveal())
        return ("HELLO", "3", *login, "SETNAME", self.client_name)

    @cached_property
    def tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.ca_file) if self.is_tls else None

    def pause_s(self, failures: int) -> float:
        """Return a random pause before the next attempt to connect. Its maximum doubles with each failure."""
        return random.random() * min(self.longest_pause_s, 0.05 * 2.0 ** min(failures, 10))  # noqa: S311 - no secret


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":") if ":" in text.rpartition("]")[2] else (text, "", "")
    if not host or not (port or str(DEFAULT_PORT)).isdigit():
        raise ValueError(f"{text!r} in the Redis URL is not host:port.")
    return Address(host.strip("[]"), int(port or DEFAULT_PORT))
