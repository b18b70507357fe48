"""A key store, a KMS and a clock that several key rings share."""

from collections.abc import Awaitable
from dataclasses import dataclass, field

import pytest
from fixtures.memory_keys import AdjustableClock, MemoryKeyStore, MemoryKms

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.tenants.key_ring import KeyPolicy, KeyRing
from tidings.tenants.model import KeyKind, KeyName, WrappedKey

ACME = TenantId("acme")
CHAT = ChatKey(ACME, ChatId("c"))
REFRESH_S = 300.0
ROTATE_AFTER_S = 90 * 86_400.0


@dataclass
class TenantsEnv:
    store: MemoryKeyStore = field(default_factory=MemoryKeyStore)
    kms: MemoryKms = field(default_factory=MemoryKms)
    clock: AdjustableClock = field(default_factory=AdjustableClock)

    def process(self, *, is_encrypting: bool = True, tenants_kept: int = 100) -> KeyRing:
        policy = KeyPolicy(
            is_encrypting=is_encrypting,
            rotate_after_s=ROTATE_AFTER_S,
            refresh_s=REFRESH_S,
            max_cached_tenants=tenants_kept,
        )
        return KeyRing(self.store, self.kms, self.clock, policy)

    def rows(self, tenant: TenantId = ACME) -> dict[KeyName, WrappedKey]:
        return self.store.rows.get(tenant, {})


def content_key(version: int) -> KeyName:
    return KeyName(KeyKind.CONTENT, version)


async def sealed(process: KeyRing, body: bytes, sequence: int = 1) -> bytes:
    return (await process.of(ACME)).seal(CHAT, sequence, body)


async def opened(process: KeyRing, content: bytes, sequence: int = 1) -> bytes:
    return (await process.to_read(ACME, [content])).unseal(CHAT, sequence, content)


async def refusal(asking: Awaitable[object]) -> Code:
    with pytest.raises(TidingsError) as caught:
        await asking
    return caught.value.code
