"""Security events: credentials that were refused, keys and sessions that were issued or ended, and by whom.

One type for every event. It goes to the log stream of the logger `tidings.security`, at level info.
"""

import logging
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from enum import StrEnum
from threading import Lock
from time import monotonic

LOGGER = "tidings.security"
FIELDS = "security"
"""The attribute of a log record that carries the event's fields."""

_log = logging.getLogger(LOGGER)

ADDRESS: ContextVar[str] = ContextVar("place", default="")
"""The address of the request that is being served; an edge sets it."""

OPERATOR: ContextVar[str] = ContextVar("operator", default="")
"""Who runs the command that is being executed; the command line sets it."""

MAX_PER_WINDOW = 10
WINDOW_S = 60.0
_MAX_WINDOWS = 10_000


class SecurityEventKind(StrEnum):
    CREDENTIAL_REJECTED = "credential_refused"
    ROW_REJECTED = "row_refused"
    """A stored credential whose MAC does not verify."""
    CODE_EXHAUSTED = "code_exhausted"
    """A one-time code was tried that has no tries left, has expired, was used, or never was."""
    REFRESH_REUSED = "refresh_reused"
    """A refresh token was presented after it had been replaced: somebody has copied it."""
    SESSIONS_ENDED = "sessions_ended"
    API_KEY_ISSUED = "api_key_issued"
    API_KEY_REVOKED = "api_key_revoked"
    SIGNING_KEY_ADDED = "signing_key_added"
    SIGNING_KEY_RETIRED = "signing_key_retired"
    TENANT_CREATED = "tenant_created"
    TENANT_CHANGED = "tenant_changed"
    ADMIN_COMMAND = "admin_command"


BOUNDED = frozenset(
    {
        SecurityEventKind.CREDENTIAL_REJECTED,
        SecurityEventKind.ROW_REJECTED,
        SecurityEventKind.CODE_EXHAUSTED,
    }
)
"""Kinds that an attacker can cause at will."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityEvent:
    """Empty fields are left out of the log line. No field ever holds a credential."""

    kind: SecurityEventKind
    tenant: str = ""
    user: str = ""
    subject: str = ""
    """The id of the key, session, challenge or row that it is about."""
    reason: str = ""
    address: str = ""
    """The address that the request came from."""
    operator: str = ""
    omitted: int = 0
    """How many events of the same kind, tenant and place were not logged before this one."""


@dataclass(slots=True)
class _Window:
    ends_at: float
    logged: int = 0
    omitted: int = 0


class _Sampling:
    """At most `MAX_PER_WINDOW` events for each kind, tenant and place in `WINDOW_S`; the rest is counted."""

    def __init__(self) -> None:
        self._windows: dict[tuple[str, str, str], _Window] = {}
        self._lock = Lock()

    def admit(self, event: SecurityEvent) -> int | None:
        """Return how many were omitted before this event; None if it is to be omitted too."""
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
