"""Sealing and opening with keys that are at hand. No waiting: finding the keys is `keys.py`'s.

Stored content is one of two forms, told apart by the first byte; `docs/explanation/encryption.md` has the reasons:

    1, key version (4), nonce (12), ciphertext, tag (16)     sealed
    0, key version (4), tag (16), body                       in clear, but bound to its place all the same
"""

import hmac
import os
from collections.abc import Iterable, Mapping
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId
from tidings.tenants.model import CONTENT, PREVIEW, Purpose
from tidings.tenants.rules import seal_location

CLEAR: Final = b"\x00"
SEALED: Final = b"\x01"
_VERSION = slice(1, 5)
_NONCE = slice(5, 17)
_SEALED_FROM = 17
_TAG = slice(5, 21)
_CLEAR_FROM = 21
_NONCE_BYTES = 12
_TAG_BYTES = 16
OVERHEAD_BYTES: Final = _SEALED_FROM + _TAG_BYTES


class DecryptionError(Exception):
    """It was altered, or belongs elsewhere, or another key sealed it; which of them can't be told."""


class ContentKey:
    """One version of a tenant's content key. Every place has a key of its own, derived from it.

    So a nonce that is drawn twice matters only if it is for the same place, and no number of messages is too many.
    """

    __slots__ = ("_clear_head", "_mac", "_sealed_head")

    def __init__(self, version: int, key: bytes) -> None:
        self._sealed_head = SEALED + version.to_bytes(4)
        self._clear_head = CLEAR + version.to_bytes(4)
        self._mac = HMAC(key, SHA256())

    def seal(self, where: bytes, body: bytes) -> bytes:
        nonce = os.urandom(_NONCE_BYTES)
        return self._sealed_head + nonce + self._cipher(where).encrypt(nonce, body, where)

    def leave_clear(self, where: bytes, body: bytes) -> bytes:
        """For installations that do not encrypt: whoever reads the table reads it, nobody can move or forge it."""
        return self._clear_head + self._digest(self._clear_head + where + body)[:_TAG_BYTES] + body

    def open(self, where: bytes, content: bytes) -> bytes:
        if content[:1] == SEALED:
            return self._unseal(where, content)
        if content[:1] == CLEAR:
            return self._check(where, content)
        raise DecryptionError

    def _unseal(self, where: bytes, content: bytes) -> bytes:
        try:
            return self._cipher(where).decrypt(content[_NONCE], content[_SEALED_FROM:], where)
        except (InvalidTag, ValueError):
            raise DecryptionError from None

    def _check(self, where: bytes, content: bytes) -> bytes:
        body = content[_CLEAR_FROM:]
        if not hmac.compare_digest(self._digest(self._clear_head + where + body)[:_TAG_BYTES], content[_TAG]):
            raise DecryptionError
        return body

    def _cipher(self, where: bytes) -> AESGCM:
        return AESGCM(self._digest(self._sealed_head + where))

    def _digest(self, data: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(data)
        return mac.finalize()


class ContentKeys:
    """The keys of one tenant that are at hand. The newest of its `versions` seals; older ones are added when needed."""

    def __init__(
        self,
        tenant: TenantId,
        *,
        fingerprint_key: bytes,
        content_keys: Mapping[int, bytes],
        versions: Iterable[int],
        is_encrypting: bool,
    ) -> None:
        self.tenant = tenant
        self.versions = set(versions)
        self.active_version = max(self.versions)
        self._fingerprint = HMAC(fingerprint_key, SHA256())
        # by the version as it stands in content, so that a look-up is a slice
        self._keys = {version.to_bytes(4): ContentKey(version, key) for version, key in content_keys.items()}
        active = self._keys[self.active_version.to_bytes(4)]
        self._put = active.seal if is_encrypting else active.leave_clear

    def lacks(self, contents: Iterable[bytes]) -> set[int]:
        """Versions that these contents name and that are not at hand."""
        named = {content[_VERSION] for content in contents}
        return {int.from_bytes(version) for version in named - self._keys.keys()}

    def add(self, version: int, key: bytes) -> None:
        self._keys[version.to_bytes(4)] = ContentKey(version, key)

    def fingerprint(self, said: bytes, /) -> bytes:
        """Equal for equal input, for all to see: what goes in names chat, sender and key beside the words."""
        mac = self._fingerprint.copy()
        mac.update(said)
        return mac.finalize()

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return self._put(self._own_place(CONTENT, chat, sequence), body)

    def seal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes:
        """`sequence` is that of the message it shows; the same bytes serve every member's row."""
        return self._put(self._own_place(PREVIEW, chat, sequence), preview)

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        """Raises `decryption_failed` for what was not sealed for this place by this tenant's keys."""
        return self._open(CONTENT, chat, sequence, content)

    def unseal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes:
        return self._open(PREVIEW, chat, sequence, preview)

    def _own_place(self, purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
        if chat.tenant != self.tenant:
            raise ValueError(f"the keys of {self.tenant} are not for {chat.tenant}")
        return seal_location(purpose, chat, sequence)

    def _open(self, purpose: Purpose, chat: ChatKey, sequence: int, content: bytes) -> bytes:
        key = self._keys.get(content[_VERSION])
        if key is None:
            raise self._without_key(chat, sequence, content[_VERSION])
        try:
            return key.open(seal_location(purpose, chat, sequence), content)
        except DecryptionError:
            raise decryption_failed(chat, sequence, "It does not open with its key at its place.") from None

    def _without_key(self, chat: ChatKey, sequence: int, version: bytes) -> TidingsError:
        if int.from_bytes(version) in self.versions:
            # who reads says what he reads when he asks for keys: a mistake in the program, not in the data
            return TidingsError(Code.KEYS_UNAVAILABLE, "The key of this content was not asked for.")
        return decryption_failed(chat, sequence, "Its key is not there, or does not unwrap.")


def decryption_failed(chat: ChatKey, sequence: int, why: str) -> TidingsError:
    return TidingsError(
        Code.DECRYPTION_FAILED,
        f"The content of message {sequence} can't be read. {why}",
        hint="It was altered or moved in the table, or its key is gone. Other messages are not affected.",
        details={"tenant": chat.tenant, "chat": chat.chat, "sequence": sequence},
    )
