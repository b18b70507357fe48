"""Seal and open content with unwrapped keys. No I/O: `key_ring.py` and `user_keys.py` find the keys.

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
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.tenants.model import CONTENT, PREVIEW, SECRET, USER_KEY, Purpose
from tidings.tenants.rules import profile_location, seal_location

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
    """One version of a tenant's or a user's content key. Every location has its own key, derived from it.

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
            # Without further functions: a page of history opens each of its messages here.
            mac = self._mac.copy()
            mac.update(self._sealed_head + where)
            try:
                return AESGCM(mac.finalize()).decrypt(content[_NONCE], content[_SEALED_FROM:], where)
            except (InvalidTag, ValueError):
                raise DecryptionError from None
        if content[:1] == CLEAR:
            return self._check(where, content)
        raise DecryptionError

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


class KeyVersions:
    """The unwrapped versions of one key. The newest seals, all open.

    `encrypt` always encrypts. `seal` does so unless the installation stores content in clear.
    """

    def __init__(self, keys: Mapping[int, bytes], *, is_encrypting: bool) -> None:
        # Keyed by the encoded version, so that a look-up is a slice of the content.
        self._keys = {version.to_bytes(4): ContentKey(version, key) for version, key in keys.items()}
        self.newest = max(keys)
        active = self._keys[self.newest.to_bytes(4)]
        self.encrypt = active.seal
        self.seal = active.seal if is_encrypting else active.leave_clear

    def add(self, version: int, key: bytes) -> None:
        self._keys[version.to_bytes(4)] = ContentKey(version, key)

    def has(self, content: bytes) -> bool:
        """Return whether the key of a content is unwrapped."""
        return content[_VERSION] in self._keys

    def missing(self, contents: Iterable[bytes]) -> set[int]:
        """Return the versions that these contents need and that are not unwrapped."""
        return {int.from_bytes(version) for version in {c[_VERSION] for c in contents} - self._keys.keys()}

    def open(self, where: bytes, content: bytes) -> bytes:
        """Open content. Raise `DecryptionError`, or `KeyError` with the version of a key that is missing."""
        key = self._keys.get(content[_VERSION])
        if key is None:
            raise KeyError(version_of(content))
        return key.open(where, content)


def version_of(content: bytes) -> int:
    return int.from_bytes(content[_VERSION])


class _Fingerprint:
    def __init__(self, key: bytes) -> None:
        self._mac = HMAC(key, SHA256())

    def of(self, data: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(data)
        return mac.finalize()


class ContentKeys:
    """The unwrapped keys of one tenant. They seal notifications and wrap the keys of users.

    The newest of `versions` seals; older keys are added when they are needed.
    """

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
        self._fingerprint = _Fingerprint(fingerprint_key)
        self._keys = KeyVersions(content_keys, is_encrypting=is_encrypting)
        self.active_version = self._keys.newest

    def lacks(self, contents: Iterable[bytes]) -> set[int]:
        """Return the key versions that these contents need and that are not unwrapped."""
        return self._keys.missing(contents)

    def add(self, version: int, key: bytes) -> None:
        self._keys.add(version, key)

    def fingerprint(self, data: bytes, /) -> bytes:
        """Return a keyed hash. Equal inputs are visible as equal, so include in `data` what must differ."""
        return self._fingerprint.of(data)

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return self._keys.seal(self._location(CONTENT, chat, sequence), body)

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        """Open content. Raise `decryption_failed` unless this tenant's keys sealed it for this location."""
        try:
            return self._keys.open(seal_location(CONTENT, chat, sequence), content)
        except KeyError:
            raise self._without_key(chat, sequence, version_of(content)) from None
        except DecryptionError:
            raise not_sealed_here(chat, sequence) from None

    def wrap(self, user: UserId, version: int, key: bytes) -> bytes:
        """Wrap a key of a user. It is always encrypted, and unwraps for this user and version only."""
        return self._keys.encrypt(self._location(USER_KEY, ChatKey(self.tenant, ChatId(user)), version), key)

    def unwrap(self, user: UserId, version: int, wrapped: bytes) -> bytes:
        """Unwrap a key of a user. Raise `DecryptionError`."""
        where = self._location(USER_KEY, ChatKey(self.tenant, ChatId(user)), version)
        if wrapped[:1] != SEALED:
            raise DecryptionError
        try:
            return self._keys.open(where, wrapped)
        except KeyError:
            raise DecryptionError from None

    def seal_secret(self, name: str, secret: bytes) -> bytes:
        """Seal a secret of the tenant, such as one that signs webhooks. It is always encrypted."""
        return self._keys.encrypt(self._location(SECRET, ChatKey(self.tenant, ChatId(name)), 0), secret)

    def open_secret(self, name: str, sealed: bytes) -> bytes | None:
        """Open a secret. None: it was altered, or sealed under another name."""
        if sealed[:1] != SEALED:
            return None
        try:
            return self._keys.open(seal_location(SECRET, ChatKey(self.tenant, ChatId(name)), 0), sealed)
        except (KeyError, DecryptionError):
            return None

    def _location(self, purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
        if chat.tenant != self.tenant:
            raise ValueError(f"the keys of {self.tenant} are not for {chat.tenant}")
        return seal_location(purpose, chat, sequence)

    def _without_key(self, chat: ChatKey, sequence: int, version: int) -> TidingsError:
        if version in self.versions:
            # A bug in the caller: it must pass the content to `KeyRing.to_read` first. The data is intact.
            return TidingsError(Code.KEYS_UNAVAILABLE, "The key of this content was not loaded.")
        return decryption_failed(chat, sequence, "Its key is missing or cannot be unwrapped.")


_FINGERPRINT_PURPOSE = b"fingerprint of requests"


class UserKeys:
    """The unwrapped keys of one user. They seal what the user writes, and the personal fields of their profile.

    The fingerprint key is derived from the first version, so that it stays the same when keys are rotated, and is
    destroyed with them.
    """

    def __init__(
        self, tenant: TenantId, user: UserId, keys: Mapping[int, bytes], *, is_encrypting: bool
    ) -> None:
        self.tenant = tenant
        self.user = user
        self._keys = KeyVersions(keys, is_encrypting=is_encrypting)
        self._fingerprint = _Fingerprint(_Fingerprint(keys[1]).of(_FINGERPRINT_PURPOSE))

    def has(self, content: bytes) -> bool:
        return self._keys.has(content)

    def fingerprint(self, data: bytes, /) -> bytes:
        return self._fingerprint.of(data)

    def seal(self, chat: ChatKey, sequence: int, body: bytes, /) -> bytes:
        return self._keys.seal(self._location(CONTENT, chat, sequence), body)

    def seal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes:
        """Seal a preview of the message at `sequence`. The same bytes are used in every member's row."""
        return self._keys.seal(self._location(PREVIEW, chat, sequence), preview)

    def unseal(self, chat: ChatKey, sequence: int, content: bytes, /) -> bytes:
        return self._open(CONTENT, chat, sequence, content)

    def unseal_preview(self, chat: ChatKey, sequence: int, preview: bytes, /) -> bytes:
        return self._open(PREVIEW, chat, sequence, preview)

    def seal_field(self, name: str, text: str) -> bytes:
        """Seal a field of the user's profile."""
        return self._keys.seal(profile_location(self.tenant, self.user, name), text.encode())

    def open_field(self, name: str, sealed: bytes) -> str | None:
        """Open a field of the user's profile. None: it was altered or belongs to another field or user."""
        try:
            return self._keys.open(profile_location(self.tenant, self.user, name), sealed).decode()
        except (DecryptionError, KeyError):
            return None

    def _location(self, purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
        if chat.tenant != self.tenant:
            raise ValueError(f"the keys of {self.tenant} are not for {chat.tenant}")
        return seal_location(purpose, chat, sequence)

    def _open(self, purpose: Purpose, chat: ChatKey, sequence: int, content: bytes) -> bytes:
        try:
            return self._keys.open(self._location(purpose, chat, sequence), content)
        except KeyError:
            raise decryption_failed(chat, sequence, "Its key is missing.") from None
        except DecryptionError:
            raise not_sealed_here(chat, sequence) from None


def not_sealed_here(chat: ChatKey, sequence: int) -> TidingsError:
    return decryption_failed(chat, sequence, "It was not sealed with its key for this location.")


def decryption_failed(chat: ChatKey, sequence: int, why: str) -> TidingsError:
    return TidingsError(
        Code.DECRYPTION_FAILED,
        f"The content of message {sequence} cannot be read. {why}",
        hint="It was altered or moved in the table, or its key was deleted. Other messages are not affected.",
        details={"tenant": chat.tenant, "chat": chat.chat, "sequence": sequence},
    )
