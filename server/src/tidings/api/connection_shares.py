"""Divide the connections of a process between addresses and tenants.

A connection has shown a valid credential (it belongs to a tenant) or not (it is anonymous). When there is no room,
the anonymous connection that has waited longest for its client makes room; only if there is none is the newcomer
refused. So connections that cost their owner nothing never keep others out.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

MAX_REFUSED: Final = 256
"""So many connections are kept a moment in order to refuse them; others are cut at once."""


@dataclass(frozen=True, slots=True)
class ConnectionQuota:
    """`max_per_tenant`: above it a tenant's connections are kept alive only briefly, but never refused."""

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
    """Whether a newcomer is served, and who has to leave for it."""

    is_refused: bool = False
    is_cut: bool = False
    leaves: C | None = None


@dataclass(slots=True)
class ConnectionShares[C: Hashable]:
    """`place` None: a trusted proxy, whose connections carry the requests of many."""

    quota: ConnectionQuota
    _open: dict[C, _OpenConnection] = field(default_factory=dict)
    _waiting: dict[C, None] = field(default_factory=dict)
    """Anonymous and not being answered, in the order in which they began to wait."""
    _served: int = 0
    _refused: int = 0
    _addresses: Counter[str] = field(default_factory=Counter)
    _tenants: Counter[Hashable] = field(default_factory=Counter)

    def enter(self, one: C, place: str | None) -> AdmissionDecision[C]:
        is_crowded_place = place is not None and self._addresses[place] >= self.quota.max_per_address
        is_full = self._served >= self.quota.max_connections
        leaves = self._oldest(place if is_crowded_place else None) if is_crowded_place or is_full else None
        if (is_crowded_place or is_full) and leaves is None:
            self._open[one] = _OpenConnection(place, is_refused=True)
            self._refused += 1
            return AdmissionDecision(is_refused=True, is_cut=self._refused > MAX_REFUSED)
        if leaves is not None:
            self.leave(leaves)
        self._open[one] = _OpenConnection(place)
        self._served += 1
        if place is not None:
            self._waiting[one] = None
            self._addresses[place] += 1
        return AdmissionDecision(leaves=leaves)

    def answer(self, one: C) -> None:
        """Note that its request is being answered: it can't be asked to leave."""
        self._waiting.pop(one, None)

    def wait(self, one: C, tenant: Hashable | None) -> bool:
        """Note that it waits for its next request; return whether it may do so for long.

        `tenant` is whose credential the last request has shown. Once it has shown one, a connection belongs to
        that tenant until it shows another.
        """
        state = self._open.get(one)
        if state is None or state.is_refused:
            return False
        if tenant is not None and tenant != state.tenant:
            self._forget_tenant(state)
            state.tenant = tenant
            self._tenants[tenant] += 1
        if state.address is None:
            return True
        if state.tenant is None:
            self._waiting[one] = None
            return False
        return self._tenants[state.tenant] <= self.quota.max_per_tenant

    def leave(self, one: C) -> None:
        if (state := self._open.pop(one, None)) is None:
            return
        self._waiting.pop(one, None)
        if state.is_refused:
            self._refused -= 1
            return
        self._served -= 1
        self._forget_tenant(state)
        if state.address is not None:
            self._addresses[state.address] -= 1
            if not self._addresses[state.address]:
                del self._addresses[state.address]

    def _oldest(self, place: str | None) -> C | None:
        """The anonymous connection that has waited longest, from `place` if given."""
        return next((one for one in self._waiting if place is None or self._open[one].address == place), None)

    def _forget_tenant(self, state: _OpenConnection) -> None:
        if state.tenant is not None:
            self._tenants[state.tenant] -= 1
            if not self._tenants[state.tenant]:
                del self._tenants[state.tenant]
