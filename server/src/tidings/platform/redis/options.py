"""How to reach Redis and how long to wait for it."""

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
    """A single node; of a cluster, any nodes to ask for the others."""
    is_cluster: bool = False
    is_tls: bool = False
    ca_file: Path | None = None
    username: str | None = None
    password: Secret | None = None
    key_prefix: str = "tidings"
    client_name: str = "tidings"
    timeout_s: float = 1.0
    """A command's deadline, unless the call brings its own."""
    connect_s: float = 2.0
    detect_s: float = 3.0
    """A server that stops answering is noticed within this time, and its subscriptions are lost then."""
    confirm_s: float = 5.0
    """Whoever awaits a subscription waits so long for the server's word."""
    max_commands: int = 20_000
    """In flight, per connection."""
    max_bytes: int = 64 * 2**20
    refresh_s: float = 10.0
    """A cluster's map is read at least this often."""
    longest_pause_s: float = 2.0
    """Between two tries to connect."""

    @classmethod
    def from_url(cls, url: str | Secret) -> "RedisOptions":
        """`redis://…` or, with TLS, `rediss://user:password@host:port`; of a cluster several hosts with commas."""
        text = url.reveal() if isinstance(url, Secret) else url
        parts = urlsplit(text)
        if parts.scheme not in ("redis", "rediss"):
            raise ValueError("a Redis URL starts with redis:// or rediss://")
        if parts.path not in _NO_DATABASE or parts.query:
            raise ValueError(
                "a Redis URL names no database and no options; key_prefix keeps installations apart"
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
        """Pings are this far apart. With `silence_s` and two ticks it makes `detect_s`."""
        return self.detect_s / 3

    @property
    def silence_s(self) -> float:
        """So long may a server be silent while an answer is due."""
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
        """Before the next try: longer with each failure, and never the same for everybody."""
        return random.random() * min(self.longest_pause_s, 0.05 * 2.0 ** min(failures, 10))  # noqa: S311 - no secret


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":") if ":" in text.rpartition("]")[2] else (text, "", "")
    if not host or not (port or str(DEFAULT_PORT)).isdigit():
        raise ValueError(f"a host in a Redis URL is written host:port, not {text!r}")
    return Address(host.strip("[]"), int(port or DEFAULT_PORT))
