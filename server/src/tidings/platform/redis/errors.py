"""Errors of Redis commands, by whether the command was applied. All derive from `RedisError`.

- `NotSentError`: not sent, so not applied. `UnreachableError` without a connection, `OverloadedError` with too many
  commands in flight.
- `OutcomeUnknownError`: sent and not answered. It may have been applied.
- `ServerError`: the server refused it, so it was not applied; `code` is its reason. `ClusterDownError` if no node serves
  the slot. The client handles the other subclasses itself.
- `ScriptFailedError`: a script failed. Its writes before the failure remain.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

from tidings.kernel.errors import UnavailableError

_NAMELESS = ("", "?")


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RedisError(Exception):
    """`transient`: a later attempt may succeed. Whether a retry is safe depends on `maybe_applied`."""

    maybe_applied: ClassVar[bool] = False

    @property
    def transient(self) -> bool:
        return True


class NotSentError(RedisError):
    pass


class UnreachableError(NotSentError):
    pass


class OverloadedError(NotSentError):
    pass


class OutcomeUnknownError(RedisError):
    """The command was sent, and the connection was lost or the deadline passed before the answer."""

    maybe_applied = True

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class ServerError(RedisError):
    """The server refused the command and did nothing. `code` is its error code."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message.partition(" ")[0]

    @property
    def transient(self) -> bool:
        return self.code in TRANSIENT_CODES


class ClusterDownError(ServerError):
    """No node of the cluster serves the slot."""


class ScriptFailedError(RedisError):
    """A script raised or returned an error. Scripts are not rolled back."""

    maybe_applied = True

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.code = message.partition(" ")[0]

    @property
    def transient(self) -> bool:
        return False


class MovedRedirectError(ServerError):
    """Another node has the slot: `MOVED <slot> <host>:<port>`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _, slot, where = message.split()[:3]
        host, _, port = where.rpartition(":")
        self.slot = int(slot)
        self.address = Address(host, int(port))

    def reported_by(self, address: Address) -> None:
        """Complete an address without a host: it is on the host of the node that reported it."""
        if self.address.host in _NAMELESS:
            self.address = Address(address.host, self.address.port)


class AskRedirectError(MovedRedirectError):
    """The slot is being migrated, and this key is already on the other node: `ASK <slot> <host>:<port>`."""


class TryAgainError(ServerError):
    """The slot is being migrated, and the keys of one call are on both nodes."""


class NoScriptError(ServerError):
    """The server does not have the script: it is new, was restarted or its scripts were flushed."""


# Error code → type. Every other code is a plain `ServerError`.
TYPES: dict[str, type[ServerError]] = {
    "MOVED": MovedRedirectError,
    "ASK": AskRedirectError,
    "TRYAGAIN": TryAgainError,
    "NOSCRIPT": NoScriptError,
    "CLUSTERDOWN": ClusterDownError,
}

# Codes after which a later attempt may succeed.
TRANSIENT_CODES = frozenset(
    {"BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN"}
)

# Codes with which a server refuses a script before it runs.
REJECTION_CODES = TRANSIENT_CODES | {"CROSSSLOT", "MOVED", "NOAUTH", "NOPERM"}


def error_from_reply(message: str) -> ServerError:
    return TYPES.get(message.partition(" ")[0], ServerError)(message)


@contextmanager
def translate_redis_errors() -> Iterator[None]:
    """Raise `UnavailableError` instead of an error of the Redis client."""
    try:
        yield
    except RedisError as error:
        raise UnavailableError(f"Redis: {error}") from error
