"""The revocation of a deleted tenant closes the sockets of all its devices, and of no other tenant."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tidings.accounts.model import Principal, Revocation
from tidings.accounts.rules import CredentialRejectedError, to_public_error
from tidings.gateway.revocations import RevocationEnforcer
from tidings.kernel.ids import TenantId, UserId
from tidings_wire.close_codes import CloseCode


@dataclass
class EvictedTenants:
    """Credentials that are refused once their tenant is evicted."""

    evicted: set[TenantId] = field(default_factory=set)

    def evict(self, revocation: Revocation) -> None:
        self.evicted.add(revocation.tenant)

    async def recheck(self, principal: Principal) -> None:
        if principal.tenant in self.evicted:
            raise to_public_error(CredentialRejectedError("deleted"))


def device(tenant: str, user: str, closed: list[tuple[str, str, CloseCode]]) -> Any:
    def close(code: CloseCode) -> None:
        closed.append((tenant, user, code))

    return SimpleNamespace(
        principal=Principal(tenant=TenantId(tenant), user=UserId(user)),
        key=SimpleNamespace(tenant=TenantId(tenant), user=UserId(user)),
        connected=SimpleNamespace(close=close),
    )


async def test_sockets_of_a_deleted_tenant_are_closed() -> None:
    closed: list[tuple[str, str, CloseCode]] = []
    hub: Any = [device(tenant, user, closed) for tenant in ("acme", "other") for user in ("anna", "ben")]
    credentials: Any = EvictedTenants()
    await RevocationEnforcer(hub, credentials).on_revocations(
        [Revocation(tenant=TenantId("acme"), from_ms=0)]
    )
    assert closed == [("acme", user, CloseCode.CREDENTIAL_INVALID) for user in ("anna", "ben")]
