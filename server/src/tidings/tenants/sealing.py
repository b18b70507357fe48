"""Seal and open content with unwrapped keys. No I/O: `key_ring.py` finds the keys.

Stored content has one of two forms. The first byte selects it; docs/explanation/encryption.md has the reasons.

    1, key version (4), nonce (12), ciphertext, tag (16)     sealed
    0, key version (4), tag (16), body                       in clear, but authenticated for its location
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
    """Content was altered, moved to another location, or sealed with another key. The cases look the same."""


class ContentKey:
    """One version of a tenant's content key. Every location has its own key, derived from it.

    So a repeated nonce matters only for the same location, and the number of messages per key is unlimited.
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
        """Return content in clear with a tag, for installations without encryption. It cannot be moved or forged."""
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
    """The unwrapped keys of one tenant. The newest of `versions` seals; older keys are added when they are needed."""

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
        # Keyed by the encoded version, so that a look-up is a slice of the content.
        self._keys = {version.to_bytes(4): ContentKey(version, key) for version, key in content_keys.items()}
        active = self._keys[self.active_version.to_bytes(4)]
        self._seal = active.seal if is_encrypting else active.leave_clear

    def lacks(self, contents: Iterable[bytes]) -> set[int]:
        """Return the key versions that these contents need and that are not unwrapped."""
        named = {content[_VERSION] for content in contents}
        return {int.from_bytes(version) for version in named - self._keys.keys()}

    def add(self, version: int, key: bytes) -> None:
        self._keys[version.to_bytes(4)] = ContentKey(version, key)

    def fingerprint(self, data: bytes, /) -> bytes:
        """Return a keyed hash. Equal inputs are visible as equal, so include chat, sender and key in `data`."""
        mac = self._fingerprint.copy()
        mac.update(data)
        return mac.finalize()

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return self._seal(self._location(CONTENT, chat, sequence), body)

    def seal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes:
        """Seal a preview of the message at `sequence`. The same bytes are used in every member's row."""
        return self._seal(self._location(PREVIEW, chat, sequence), preview)

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        """Open content. Raise `decryption_failed` unless this tenant's keys sealed it for this location."""
        return self._open(CONTENT, chat, sequence, content)

    def unseal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes:
        return self._open(PREVIEW, chat, sequence, preview)

    def _location(self, purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
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
            raise decryption_failed(
                chat, sequence, "It was not sealed with its key for this location."
            ) from None

    def _without_key(self, chat: ChatKey, sequence: int, version: bytes) -> TidingsError:
        if int.from_bytes(version) in self.versions:
            # A bug in the caller: it must pass the content to `KeyRing.to_read` first. The data is intact.
            return TidingsError(Code.KEYS_UNAVAILABLE, "The key of this content was not loaded.")
        return decryption_failed(chat, sequence, "Its key is missing or cannot be unwrapped.")


def decryption_failed(chat: ChatKey, sequence: int, why: str) -> TidingsError:
    return TidingsError(
        Code.DECRYPTION_FAILED,
        f"The content of message {sequence} cannot be read. {why}",
        hint="It was altered or moved in the table, or its key was deleted. Other messages are not affected.",
        details={"tenant": chat.tenant, "chat": chat.chat, "sequence": sequence},
    )
