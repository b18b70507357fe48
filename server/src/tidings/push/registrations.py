"""Register devices for push notifications, and remove them when they sign out."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tidings.kernel.clock import Clock
from tidings.kernel.concurrency import gather_limited, retry_on_conflict
from tidings.kernel.ids import DeviceId, TenantId, UserId
from tidings.kernel.network_policy import NetworkPolicy
from tidings.kernel.security import SecurityEventKind, record_security_event
from tidings.push.model import PushRegistration
from tidings.push.ports import RegistrationStore
from tidings.push.rules import check_target


class PushRegistrations:
    """`network`: which addresses the endpoints of browsers may have, as when notifications are sent."""

    def __init__(
        self, store: RegistrationStore, clock: Clock, network: NetworkPolicy = NetworkPolicy.PUBLIC
    ) -> None:
        self._store = store
        self._clock = clock
        self._network = network

    async def register(self, registration: PushRegistration) -> None:
        """Register a device, replacing its registration. Idempotent.

        A token that another user or device registered is taken over: an installation receives the notifications of the
        user who signed in last. Raises `request_invalid` for an endpoint to which nothing can be sent.
        """
        check_target(registration.target, self._network)
        made = replace(registration, registered_ms=self._clock.now_ms())
        former = await retry_on_conflict(lambda: self._store.put(made))
        if former is not None and former.user != made.user:
            record_security_event(
                SecurityEventKind.PUSH_REGISTRATION_MOVED,
                tenant=made.tenant,
                user=made.user,
                subject=former.user,
                reason="another user registered the same push token",
            )

    async def list(self, tenant: TenantId, user: UserId) -> Sequence[PushRegistration]:
        """List the registrations of a user's devices, with their tokens."""
        return await self._store.list(tenant, user)

    async def remove(self, tenant: TenantId, user: UserId, device: DeviceId) -> None:
        """Remove the registration of a device. A device without one causes no error."""
        await self._remove(tenant, user, lambda each: each.device == device)

    async def remove_all(self, tenant: TenantId, user: UserId) -> None:
        """Remove the registrations of all devices of a user."""
        await self._remove(tenant, user, lambda _: True)

    async def sign_out(self, tenant: TenantId, user: UserId, device: DeviceId | None) -> None:
        """Remove the registration of a device whose session ended; None: of all devices of the user."""
        if device is None:
            await self.remove_all(tenant, user)
        else:
            await self.remove(tenant, user, device)

    async def _remove(
        self, tenant: TenantId, user: UserId, is_meant: Callable[[PushRegistration], bool]
    ) -> None:
        found = [each for each in await self._store.list(tenant, user) if is_meant(each)]
        # False means that the registration was replaced just now, by a request that is later than this one.
        await gather_limited(self._store.remove(each) for each in found)
