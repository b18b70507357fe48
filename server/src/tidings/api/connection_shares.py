"""Share the connections of a process between addresses and tenants.

A connection that has presented a valid credential belongs to a tenant; others are anonymous. When the limit is reached,
the anonymous connection that has been idle longest is closed. A new connection is refused only if there is none. So
idle anonymous connections never keep clients out.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

MAX_REFUSED: Final = 256
"""Maximum number of connections that are answered with a refusal. Further ones are closed without an answer."""


@dataclass(frozen=True, slots=True)
class ConnectionQuota:
    """Limits of connections. Beyond `max_per_tenant`, idle connections are closed early, but none is refused."""

    max_connections: int
    max_per_address: int
    max_per_tenant: int


@dataclass(slots=True)
class _OpenConnection:
    address: str | None
    tenant: Hashable | None = None
    is_refused: bool = False


@dataclass(frozen=True, slots=True)
class AdmissionDecision[C]:
    """Whether a new connection is accepted, and the connection to close for it."""

    is_refused: bool = False
    is_closed: bool = False
    """Close without an answer."""
    evicted: C | None = None


@dataclass(slots=True)
class ConnectionShares[C: Hashable]:
    """Open connections. An `address` of `None` is a trusted proxy, which serves many clients."""

    quota: ConnectionQuota
    _open: dict[C, _OpenConnection] = field(default_factory=dict)
    _idle: dict[C, None] = field(default_factory=dict)
    """Idle anonymous connections, longest idle first."""
    _served: int = 0
    _refused: int = 0
    _addresses: Counter[str] = field(default_factory=Counter)
    _tenants: Counter[Hashable] = field(default_factory=Counter)

    def enter(self, connection: C, address: str | None) -> AdmissionDecision[C]:
        """Add a connection, or refuse it. The caller closes `evicted`."""
        is_address_full = address is not None and self._addresses[address] >= self.quota.max_per_address
        is_full = self._served >= self.quota.max_connections
        evicted = self._oldest(address if is_address_full else None) if is_address_full or is_full else None
        if (is_address_full or is_full) and evicted is None:
            self._open[connection] = _OpenConnection(address, is_refused=True)
            self._refused += 1
            return AdmissionDecision(is_refused=True, is_closed=self._refused > MAX_REFUSED)
        if evicted is not None:
            self.leave(evicted)
        self._open[connection] = _OpenConnection(address)
        self._served += 1
        if address is not None:
            self._idle[connection] = None
            self._addresses[address] += 1
        return AdmissionDecision(evicted=evicted)

    def on_request(self, connection: C) -> None:
        """Mark the connection as busy: it cannot be evicted."""
        self._idle.pop(connection, None)

    def on_idle(self, connection: C, tenant: Hashable | None) -> bool:
        """Mark the connection as idle. Return whether it may stay open for long.

        `tenant` is the tenant of the last request's credential. A connection belongs to that tenant until a request
        presents a credential of another one.
        """
        state = self._open.get(connection)
        if state is None or state.is_refused:
            return False
        if tenant is not None and tenant != state.tenant:
            self._forget_tenant(state)
            state.tenant = tenant
            self._tenants[tenant] += 1
        if state.address is None:
            return True
        if state.tenant is None:
            self._idle[connection] = None
            return False
        return self._tenants[state.tenant] <= self.quota.max_per_tenant

    def leave(self, connection: C) -> None:
        if (state := self._open.pop(connection, None)) is None:
            return
        self._idle.pop(connection, None)
        if state.is_refused:
            self._refused -= 1
            return
        self._served -= 1
        self._forget_tenant(state)
        if state.address is not None:
            self._addresses[state.address] -= 1
            if not self._addresses[state.address]:
                del self._addresses[state.address]

    def _oldest(self, address: str | None) -> C | None:
        """Return the anonymous connection that has been idle longest, from `address` if given."""
        return next((c for c in self._idle if address is None or self._open[c].address == address), None)

    def _forget_tenant(self, state: _OpenConnection) -> None:
        if state.tenant is not None:
            self._tenants[state.tenant] -= 1
            if not self._tenants[state.tenant]:
                del self._tenants[state.tenant]
