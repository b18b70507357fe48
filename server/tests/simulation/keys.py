"""Sealed content without encryption: it contains its place, so that content moved to another place does not open."""

import hashlib
from collections.abc import Collection

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId


class SimKeys:
    async def of(self, tenant: TenantId, /) -> "SimKeys":
        del tenant
        return self

    async def to_read(self, tenant: TenantId, contents: Collection[bytes], /) -> "SimKeys":
        del tenant, contents
        return self

    def fingerprint(self, content: bytes, /) -> bytes:
        return hashlib.blake2b(content, digest_size=8).digest()

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return _place(chat, sequence) + body

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        place = _place(chat, sequence)
        if not content.startswith(place):
            raise TidingsError(Code.DECRYPTION_FAILED, "It was sealed for another place.")
        return content.removeprefix(place)

    seal_preview = seal
    unseal_preview = unseal


def _place(chat: ChatKey, sequence: int) -> bytes:
    return f"{chat.chat}.{sequence}|".encode()
