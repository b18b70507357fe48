"""Closes the sockets of credentials that ended while their devices were connected."""

from collections.abc import Iterable, Sequence
from typing import Final, final

from tidings.accounts.model import Principal, Revocation
from tidings.gateway.connected_device import ConnectedDevice
from tidings.gateway.hub import Hub
from tidings.gateway.ports import CredentialRechecker
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId, UserId
from tidings_wire.close_codes import CloseCode

_OVER: Final = frozenset({Code.CREDENTIAL_INVALID, Code.CREDENTIAL_EXPIRED, Code.FORBIDDEN})


@final
class RevocationEnforcer:
    def __init__(self, hub: Hub[ConnectedDevice], credentials: CredentialRechecker) -> None:
        self._hub = hub
        self._credentials = credentials

    async def on_revocations(self, revocations: Sequence[Revocation]) -> None:
        """Check the devices that these may be about, in one walk over all; whoever is refused now is closed."""
        users: set[tuple[TenantId, UserId]] = set()
        keys: set[tuple[TenantId, str]] = set()
        for each in revocations:
            self._credentials.evict(each)
            if each.user is not None:
                users.add((each.tenant, each.user))
            if each.kid is not None:
                keys.add((each.tenant, each.kid))
        signed_out, unsigned = [], []
        for device in self._hub:
            if _signer(device.principal) in keys:
                unsigned.append(device)
            elif (device.key.tenant, device.key.user) in users:
                signed_out.append(device)
        await self._check(unsigned, CloseCode.CREDENTIAL_INVALID)
        await self._check(signed_out, CloseCode.SIGNED_OUT)

    async def sweep(self) -> None:
        """Check each signing key that connected devices came with, from caches: a key may leave a JWKS URL unnoticed."""
        by_key: dict[tuple[TenantId, str], list[ConnectedDevice]] = {}
        for device in self._hub:
            if (signer := _signer(device.principal)) is not None:
                by_key.setdefault(signer, []).append(device)
        for devices in by_key.values():
            if await self._refusal(devices[0].principal) is not None:
                await self._check(devices, CloseCode.CREDENTIAL_INVALID)

    async def _check(self, devices: Iterable[ConnectedDevice], code: CloseCode) -> None:
        """Close those who are refused now; a suspended user with a code of their own."""
        for device in devices:
            refusal = await self._refusal(device.principal)
            if refusal is not None:
                is_suspended = refusal.code == Code.FORBIDDEN
                device.connected.close(CloseCode.FORBIDDEN if is_suspended else code)

    async def _refusal(self, principal: Principal) -> TidingsError | None:
        """None also while it can't be decided: an engine that is away closes no sockets."""
        try:
            await self._credentials.recheck(principal)
        except TidingsError as error:
            return error if error.code in _OVER else None
        return None


def _signer(principal: Principal) -> tuple[TenantId, str] | None:
    return None if principal.signed_by is None else (principal.tenant, principal.signed_by)
