"""Sealed content without encryption: it contains its place, so that content moved to another place does not open."""

import hashlib
from collections.abc import Collection

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId


class SimKeys:
    async def of(self, tenant: TenantId, user: UserId, /) -> "SimKeys":
        del tenant, user
        return self

    async def to_read(self, tenant: TenantId, contents: Collection[tuple[UserId, bytes]], /) -> "SimKeys":
        del tenant, contents
        return self

    def fingerprint(self, content: bytes, /) -> bytes:
        return hashlib.blake2b(content, digest_size=8).digest()

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return _place(chat, sequence) + body

    def unseal(self, chat: ChatKey, sequence: int, author: UserId, content: bytes, /) -> bytes | None:
        del author
        place = _place(chat, sequence)
        if not content.startswith(place):
            raise TidingsError(Code.DECRYPTION_FAILED, "It was sealed for another place.")
        return content.removeprefix(place)

    unseal_preview = unseal

    def seal_preview(self, chat: ChatKey, sequence: int, author: UserId, preview: bytes, /) -> bytes | None:
        del author
        return self.seal(chat, sequence, preview)


def _place(chat: ChatKey, sequence: int) -> bytes:
    return f"{chat.chat}.{sequence}|".encode()
