"""Secrets that do not print, allowed origins, trusted proxies and security events."""

import logging
import re
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from enum import StrEnum
from ipaddress import ip_address
from threading import Lock
from time import monotonic
from typing import Final, Self, final


@final
class Secret:
    """A string that prints as stars: a password, a key, or a URL that contains one. Only `reveal` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Secret cannot be pickled: the result would contain it in clear text")


_EXACT = re.compile(r"https?://[^\s/?#*]+")
_ANY_PORT = re.compile(r"(https?://(?:localhost|127\.0\.0\.1|\[::1\])):\*")

LOCAL: Final = "http://localhost:*,http://127.0.0.1:*"
"""Every page that this machine serves, on any port. For development."""


@dataclass(frozen=True, slots=True)
class AllowedOrigins:
    exact: frozenset[str] = frozenset()
    any_port: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, given: Iterable[str]) -> Self:
        """Parse origins. A `*` as the port allows every port, for names of this machine alone. Raises `ValueError`."""
        exact, any_port = set[str](), set[str]()
        for origin in given:
            if wild := _ANY_PORT.fullmatch(origin):
                any_port.add(wild[1])
            elif _EXACT.fullmatch(origin):
                exact.add(origin)
            else:
                raise ValueError(
                    f"{origin!r} is not an origin. Write it as browsers send it (https://app.example), or "
                    "http://localhost:* or http://127.0.0.1:* for every port of this machine."
                )
        return cls(frozenset(exact), frozenset(any_port))

    def __bool__(self) -> bool:
        return bool(self.exact or self.any_port)

    def allow(self, origin: str) -> bool:
        if origin in self.exact or origin in self.any_port:
            return True
        host, _, port = origin.rpartition(":")
        return host in self.any_port and port.isascii() and port.isdecimal()


NO_ORIGINS: Final = AllowedOrigins()


_proxy_log = logging.getLogger(__name__)


class UntrustedProxyDetector:
    """Warn once about a forwarding header from a private address while no proxy is trusted.

    Without trust in the proxy, all clients behind it share the limits of one address.
    """

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self.has_warned = False

    def on_forwarded(self, peer: str) -> None:
        """Report that `peer` sent a forwarding header. A public peer is a client that wrote the header itself."""
        if self.has_warned or not _is_private(peer):
            return
        self.has_warned = True
        _proxy_log.warning(
            "%s forwards requests, and %s is not set: all clients behind it share its address and the limits of "
            "that address; name its network there, or set `none` if clients connect directly",
            peer,
            self._setting,
        )


def _is_private(peer: str) -> bool:
    try:
        return not ip_address(peer).is_global
    except ValueError:
        return False


LOGGER = "tidings.security"
FIELDS = "security"
"""The attribute of a log record that carries the event's fields."""

_log = logging.getLogger(LOGGER)

ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""The address of the request that is being served; an edge sets it."""

OPERATOR: ContextVar[str] = ContextVar("operator", default="")
"""The operator that runs the current command; the command line sets it."""

MAX_PER_WINDOW = 10
WINDOW_S = 60.0
_MAX_WINDOWS = 10_000


class SecurityEventKind(StrEnum):
    CREDENTIAL_REJECTED = "credential_rejected"
    ROW_REJECTED = "row_rejected"
    """A stored credential whose MAC does not verify."""
    CODE_EXHAUSTED = "code_exhausted"
    """A one-time code was tried that has no attempts left, has expired, was used, or never existed."""
    REFRESH_REUSED = "refresh_reused"
    """A refresh token was used after it had been replaced: it was probably stolen."""
    SESSIONS_ENDED = "sessions_ended"
    API_KEY_ISSUED = "api_key_issued"
    API_KEY_REVOKED = "api_key_revoked"
    SIGNING_KEY_ADDED = "signing_key_added"
    SIGNING_KEY_RETIRED = "signing_key_retired"
    TENANT_CREATED = "tenant_created"
    TENANT_CHANGED = "tenant_changed"
    ADMIN_COMMAND = "admin_command"
    PUSH_REGISTRATION_MOVED = "push_registration_moved"
    """A user registered the push token of another user, who no longer receives notifications there."""


BOUNDED = frozenset(
    {
        SecurityEventKind.CREDENTIAL_REJECTED,
        SecurityEventKind.ROW_REJECTED,
        SecurityEventKind.CODE_EXHAUSTED,
    }
)
"""Kinds that an attacker can cause at any rate. They are sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityEvent:
    """Empty fields are left out of the log line. No field ever holds a credential."""

    kind: SecurityEventKind
    tenant: str = ""
    user: str = ""
    subject: str = ""
    """The id of the key, session, challenge or row."""
    reason: str = ""
    address: str = ""
    """The address that the request came from."""
    operator: str = ""
    omitted: int = 0
    """How many events of the same kind, tenant and address were not logged before this one."""


@dataclass(slots=True)
class _Window:
    ends_at: float
    logged: int = 0
    omitted: int = 0


class _Sampling:
    """Admit at most `MAX_PER_WINDOW` events for each kind, tenant and address in `WINDOW_S`, and count the rest."""

    def __init__(self) -> None:
        self._windows: dict[tuple[str, str, str], _Window] = {}
        self._lock = Lock()

    def admit(self, event: SecurityEvent) -> int | None:
        """Return how many events were omitted before this one, or None to omit it too."""
        key, now = (event.kind.value, event.tenant, event.address), monotonic()
        with self._lock:
            window = self._windows.get(key)
            omitted = 0
            if window is None or now >= window.ends_at:
                omitted = window.omitted if window else 0
                self._windows.pop(key, None)
                window = self._windows[key] = _Window(now + WINDOW_S)
                if len(self._windows) > _MAX_WINDOWS:
                    self._windows.pop(next(iter(self._windows)))
            if window.logged >= MAX_PER_WINDOW:
                window.omitted += 1
                return None
            window.logged += 1
            return omitted


_sampling = _Sampling()


def record_security_event(
    kind: SecurityEventKind,
    *,
    tenant: str = "",
    user: str = "",
    subject: str = "",
    reason: str = "",
) -> None:
    """Log a security event. Never raises and never waits."""
    event = SecurityEvent(
        kind=kind,
        tenant=tenant,
        user=user,
        subject=subject,
        reason=reason,
        address=ADDRESS.get(),
        operator=OPERATOR.get(),
    )
    omitted = _sampling.admit(event) if kind in BOUNDED else 0
    if omitted is not None:
        fields = {name: value for name, value in asdict(event).items() if value and name != "kind"}
        if omitted:
            fields["omitted"] = omitted
        _log.info(kind.value, extra={FIELDS: fields})
