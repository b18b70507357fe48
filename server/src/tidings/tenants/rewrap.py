"""Wrap data keys anew with the present master key, so that a former one can be given up."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidings.kernel.ids import TenantId
from tidings.tenants.model import KeyStore, Kms, UnwrapError, WrappedKey
from tidings.tenants.rules import wrap_context


@dataclass(slots=True)
class RewrapResult:
    """Counts of keys. `failed` says which key of which tenant is as it was, and why."""

    rewrapped: int = 0
    present: int = 0
    """Wrapped by the present master key before."""
    failed: list[str] = field(default_factory=list)


class KeyRewrapper:
    """Change how data keys are wrapped, and never the keys: what they sealed stays readable at any moment.

    Every row is replaced by itself, on condition that it is what was read. So the work can be interrupted, repeated
    and done by two operators at once.
    """

    def __init__(self, store: KeyStore, kms: Kms) -> None:
        self._store = store
        self._kms = kms

    async def rewrap(self, tenants: Iterable[TenantId]) -> RewrapResult:
        """Raises `keys_unavailable`; a repeat continues. A key that does not unwrap does not hold up the others."""
        done = RewrapResult()
        for tenant in tenants:
            for row in await self._store.list(tenant):
                try:
                    is_rewrapped = await self._rewrap_key(tenant, row)
                except UnwrapError as error:
                    done.failed.append(f"{tenant} {row.name}: {error}")
                else:
                    done.rewrapped += is_rewrapped
                    done.present += not is_rewrapped
        return done

    async def _rewrap_key(self, tenant: TenantId, row: WrappedKey) -> bool:
        """Return whether this call rewrapped the key, rather than an earlier one or another operator."""
        wanted = wrap_context(tenant, row.name)
        made = await self._kms.rewrap(row.wrapped, wanted)
        if made is None:
            return False
        # the old form is overwritten below: nothing else could open what this key sealed
        if await self._kms.unwrap(made.wrapped, wanted) != await self._kms.unwrap(row.wrapped, wanted):
            raise UnwrapError("the key service returned another key than it was given")
        new = replace(row, wrapped=made.wrapped, wrapped_by=made.wrapped_by)
        return await self._store.replace(tenant, row, new)
