"""Close the sockets of credentials that were revoked while their devices were connected."""

from collections.abc import Iterable, Sequence
from typing import Final, final

from tidings.accounts.credentials import CredentialVerifierChain
from tidings.accounts.model import Principal, Revocation
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.hub import Hub
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings_wire.close_codes import CloseCode

_REVOKED: Final = frozenset({Code.CREDENTIAL_INVALID, Code.CREDENTIAL_EXPIRED, Code.FORBIDDEN})


@final
class RevocationEnforcer:
    def __init__(self, hub: Hub[ConnectedDevice], credentials: CredentialVerifierChain) -> None:
        self._hub = hub
        self._credentials = credentials

    async def on_revocations(self, revocations: Sequence[Revocation]) -> None:
        """Check the devices that the revocations may concern, and close those whose credential is now refused."""
        users: set[tuple[TenantId, UserId]] = set()
        keys: set[tuple[TenantId, str]] = set()
        deleted: set[TenantId] = {each.tenant for each in revocations if each.is_of_tenant}
        for each in revocations:
            # Race: `connect` or a check below verifies a revoked credential from the cache. Evict first, so that it
            # reads the store.
            self._credentials.evict(each)
            if each.user is not None:
                users.add((each.tenant, each.user))
            if each.kid is not None:
                keys.add((each.tenant, each.kid))
        of_users, of_keys = [], []
        for device in self._hub:
            if _signing_key(device.principal) in keys or device.key.tenant in deleted:
                of_keys.append(device)
            elif (device.key.tenant, device.key.user) in users:
                of_users.append(device)
        await self._check(of_keys, CloseCode.CREDENTIAL_INVALID)
        await self._check(of_users, CloseCode.SESSION_REVOKED)

    async def sweep(self) -> None:
        """Check each signing key of a connected device against the caches.

        A key that disappears from a JWKS URL produces no revocation, so only this check finds it.
        """
        by_key: dict[tuple[TenantId, str], list[ConnectedDevice]] = {}
        for device in self._hub:
            if (key := _signing_key(device.principal)) is not None:
                by_key.setdefault(key, []).append(device)
        for devices in by_key.values():
            if await self._refusal(devices[0].principal) is not None:
                await self._check(devices, CloseCode.CREDENTIAL_INVALID)

    async def _check(self, devices: Iterable[ConnectedDevice], code: CloseCode) -> None:
        """Close the devices that are now refused, with `code` or, for a suspended user, with `FORBIDDEN`."""
        for device in devices:
            refusal = await self._refusal(device.principal)
            if refusal is not None:
                is_suspended = refusal.code == Code.FORBIDDEN
                # Race: the device disconnects during the check, and may have connected again. This connection is closed
                # by then, so `close` does nothing; the new one has a credential of its own.
                device.connected.close(CloseCode.FORBIDDEN if is_suspended else code)

    async def _refusal(self, principal: Principal) -> TidingsError | None:
        """Return why the credential is refused, or None. An unavailable engine closes no socket."""
        try:
            await self._credentials.recheck(principal)
        except TidingsError as error:
            return error if error.code in _REVOKED else None
        return None


def _signing_key(principal: Principal) -> tuple[TenantId, str] | None:
    return None if principal.signed_by is None else (principal.tenant, principal.signed_by)
