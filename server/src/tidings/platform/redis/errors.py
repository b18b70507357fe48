"""What a command to Redis can end with, as types, and the one table from a server's words to them.

RedisError
  NotSentError            it did not leave this process: it was not applied
    UnreachableError      there is no connection
    OverloadedError       too much is in flight already
  OutcomeUnknownError     sent, and no answer came: it may have been applied
  RefusedError            the server said no, `word` is its reason: it was not applied
    ClusterDownError      no node serves the slot now
    MovedRedirectError, AskRedirectError, TryAgainError, NoScriptError: mended inside, callers don't meet them
  ScriptFailedError       a script stopped half-way: what it did before stands
"""

from typing import ClassVar, NamedTuple

_NAMELESS = ("", "?")


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RedisError(Exception):
    """`transient` says that the same command may do better later; whether it may be repeated is another question."""

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
    """The command left, no answer came: the connection was lost or the deadline passed."""

    maybe_applied = True

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message)
        self.is_late = is_late


class ServerError(RedisError):
    """The server's own answer. Nothing was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = message.partition(" ")[0]

    @property
    def transient(self) -> bool:
        return self.code in TRANSIENT_CODES


class ClusterDownError(ServerError):
    """The cluster does not serve this slot now."""


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
    """The slot lives elsewhere: `MOVED <slot> <host>:<port>`."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _, slot, where = message.split()[:3]
        host, _, port = where.rpartition(":")
        self.slot = int(slot)
        self.address = Address(host, int(port))

    def reported_by(self, address: Address) -> None:
        """A node that names only a port means its own host."""
        if self.address.host in _NAMELESS:
            self.address = Address(address.host, self.address.port)


class AskRedirectError(MovedRedirectError):
    """The slot is on its way; this one key is there already: `ASK <slot> <host>:<port>`."""


class TryAgainError(ServerError):
    """The keys of one call are on both sides of a slot that is on its way."""


class NoScriptError(ServerError):
    """The server does not hold the script: new, restarted or emptied."""


# A server's word → the type. Every other word is a plain RefusedError.
TYPES: dict[str, type[ServerError]] = {
    "MOVED": MovedRedirectError,
    "ASK": AskRedirectError,
    "TRYAGAIN": TryAgainError,
    "NOSCRIPT": NoScriptError,
    "CLUSTERDOWN": ClusterDownError,
}

# Words of a server that may well say yes a little later.
TRANSIENT_CODES = frozenset(
    {"BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY", "TRYAGAIN"}
)

# Words by which a server turns a whole script away before it ran.
REJECTION_CODES = TRANSIENT_CODES | {"CROSSSLOT", "MOVED", "NOAUTH", "NOPERM"}


def error_from_reply(message: str) -> ServerError:
    """The typed error for an error reply."""
    return TYPES.get(message.partition(" ")[0], ServerError)(message)
