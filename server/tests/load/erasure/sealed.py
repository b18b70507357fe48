"""Sealed content found anywhere, and the attempt to open it with every key that the tables still have."""

import hmac
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from load.erasure.secret_words import PlantedSecret, SecretIndex
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.tenants.key_ring import INSTALLATION
from tidings.tenants.kms import FileKms
from tidings.tenants.model import CONTENT, PREVIEW, SECRET, USER_KEY
from tidings.tenants.rules import profile_location, seal_location, wrap_context
from tidings.tenants.sealing import SEALED, ContentKey, DecryptionError
from tidings.tenants.store import DynamoKeyStore

_HEAD: Final = re.compile(rb"(?=(\x01\x00\x00\x00[\x01-\x08].{12}))", re.DOTALL)
_HEAD_BYTES, _VERSION, _NONCE = 17, slice(1, 5), slice(5, 17)
_FIRST_BLOCK: Final = (2).to_bytes(4)
"""GCM encrypts the content in counter mode, from block 2: so a part of it can be opened without its length and tag."""
_SHOWN_BYTES: Final = 2048
_JSON: Final = re.compile(rb'\{"[a-z_]{2,16}":')
_FIELDS: Final = ("phone", "display_name", "avatar_uri", "email")
_NOTIFICATION_VERSIONS: Final = 3


@dataclass(frozen=True, slots=True)
class OpenKey:
    owner: str
    version: int
    secret: bytes = field(repr=False)

    def open(self, where: bytes, sealed: bytes) -> bytes:
        """Return what this key makes of content that was sealed for a location. Noise, if it was another key."""
        key = hmac.digest(self.secret, SEALED + sealed[_VERSION] + where, "sha256")
        cipher = Cipher(AES(key), CTR(sealed[_NONCE] + _FIRST_BLOCK)).decryptor()
        return cipher.update(sealed[_HEAD_BYTES : _HEAD_BYTES + _SHOWN_BYTES])


async def remaining_keys(
    store: DynamoKeyStore, kms: FileKms, tenant: TenantId, rows: Iterable[Mapping[str, Any]]
) -> list[OpenKey]:
    """Unwrap all keys of the installation and of the tenant, and those of users in these rows of `user_keys`."""
    found = []
    for owner in (INSTALLATION, tenant):
        for key in await store.list(owner):
            secret = await kms.unwrap(key.wrapped, wrap_context(owner, key.name))
            found.append(OpenKey(f"{owner} {key.name}", key.name.version, secret))
    tenant_keys = {each.version: each for each in found if each.owner.startswith(f"{tenant} content")}
    for row in rows:
        user = UserId(row["user_id"].partition("#")[2])
        for version, wrapped in enumerate(row.get("wrapped_keys", ()), 1):
            where = seal_location(USER_KEY, ChatKey(tenant, ChatId(user)), version)
            by = tenant_keys[int.from_bytes(wrapped[_VERSION])]
            try:
                secret = ContentKey(by.version, by.secret).open(where, wrapped)
            except DecryptionError as error:
                raise AssertionError(f"the key {version} of {user} does not unwrap") from error
            found.append(OpenKey(f"user {user} {version}", version, secret))
    return found


def heads(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the heads of everything that looks like sealed content, with their positions."""
    for match in _HEAD.finditer(data):
        yield match[1], match.start()


def locations_of(table: str, tenant: TenantId, item: Mapping[str, Any]) -> set[bytes]:
    """Return the locations that the contents of an item can be sealed for."""
    found = set[bytes]()
    for name in ("chat_id", "target", "PK"):
        parts = str(item.get(name, "")).split("#")
        if parts[0] == tenant and len(parts) > 1:
            numbers = {int(value) for key, value in item.items() if "sequence" in key and _is_number(value)}
            found |= {
                seal_location(purpose, ChatKey(tenant, ChatId(parts[1])), number)
                for number in numbers
                for purpose in (CONTENT, PREVIEW)
            }
    user = str(item.get("user_id", "")).partition("#")[2]
    if table == "users":
        found |= {profile_location(tenant, UserId(user), name) for name in _FIELDS}
    elif table == "devices" and "target" in item:
        device = str(item["item"]).partition("#")[2]
        name = f"push registration {len(user)}:{user}{device}"
        found.add(seal_location(SECRET, ChatKey(tenant, ChatId(name)), 0))
    elif table == "inbox":
        ids = {str(item["PK"]).rpartition("#")[2], str(item.get("id", ""))}
        found |= {
            seal_location(CONTENT, ChatKey(tenant, ChatId(f"#{id_}")), version)
            for id_ in ids
            for version in range(1, _NOTIFICATION_VERSIONS + 1)
        }
    elif "report_text" in item:
        review = str(item["target"]).partition("#")[2]
        found.add(seal_location(CONTENT, ChatKey(tenant, ChatId(review)), 1))
    return found


def _is_number(value: object) -> bool:
    return not isinstance(value, (str, bytes, list, dict, set))


@dataclass(frozen=True, slots=True)
class OpenedContent:
    """Content that a key has opened: it has secrets, or it is JSON. `head`: its first bytes, which no other content has."""

    head: bytes
    owner: str
    where: bytes
    secrets: frozenset[PlantedSecret]


@dataclass
class KeyTrial:
    """Tries keys on sealed contents, each once: a content has the same bytes in all stores.

    known: locations of contents that an earlier trial has opened. locations: all that any content can have.
    """

    index: SecretIndex
    keys: Sequence[OpenKey]
    locations: Collection[bytes]
    known: Mapping[bytes, bytes] = field(default_factory=dict)
    _results: dict[bytes, OpenedContent | None] = field(default_factory=dict)

    def opened(
        self, data: bytes, hints: Collection[bytes] = (), *, is_known: bool = False
    ) -> Iterator[OpenedContent]:
        """Yield the contents in the data that a key opens.

        `hints`: where they were probably sealed. `is_known`: only contents that were found elsewhere before, because files
        have many bytes that look like the beginning of one.
        """
        for head, at in heads(data):
            if head not in self._results:
                if is_known and head not in self.known:
                    continue
                self._results[head] = self._try(head, data[at : at + _HEAD_BYTES + _SHOWN_BYTES], hints)
            if (found := self._results[head]) is not None:
                yield found

    @property
    def contents(self) -> Sequence[OpenedContent]:
        """All contents that a key has opened so far."""
        return [found for found in self._results.values() if found is not None]

    @property
    def tried(self) -> int:
        return len(self._results)

    def _try(self, head: bytes, sealed: bytes, hints: Collection[bytes]) -> OpenedContent | None:
        places = [self.known[head]] if head in self.known else [*hints, *self.locations]
        for where in places:
            for key in self.keys:
                shown = key.open(where, sealed)
                if (secrets := self.index.found_in(shown)) or _JSON.match(shown):
                    return OpenedContent(head, key.owner, where, frozenset(secrets))
        return None
