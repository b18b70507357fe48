"""Key management services: a master key in a file, or AWS KMS.

With a file, one master key wraps all data keys: a reader of the file can decrypt everything. For development the file
is created at first use. In production the platform mounts it: a Kubernetes secret or a systemd credential. Both have
the same format, so an installation can change from one to the other.
"""

import asyncio
import contextlib
import hashlib
import os
import secrets
import stat
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.capacity import PatternCounters
from tidings.platform.dynamo.connection_pool import PoolLimits
from tidings.platform.dynamo.credentials import AwsKeys, NoCredentialsError
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.open_client import make_transport
from tidings.platform.dynamo.operations import OperationSpec
from tidings.platform.dynamo.transport import CallLimits, ServiceProfile, Transport
from tidings.tenants.model import KEY_BYTES, GeneratedKey, UnwrapError

_NONCE_BYTES = 12
_ID_BYTES = 8
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FOR_OTHERS_IF_MOUNTED = _FOR_OTHERS & ~stat.S_IRGRP
"""Kubernetes (`fsGroup`) and systemd grant access to secrets through the group, so the group may read mounted files."""
_NOTE = "# This key decrypts all data of this installation. Keep a backup, keep it secret, never commit it.\n"


@dataclass(frozen=True, slots=True)
class _Master:
    """A master key. `id` is a hash of the key: it identifies the file that a data key needs."""

    id: bytes
    cipher: AESGCM

    @classmethod
    def of(cls, key: bytes) -> "_Master":
        return cls(hashlib.sha256(b"tidings key file" + key).digest()[:_ID_BYTES], AESGCM(key))

    @property
    def name(self) -> str:
        return f"file:{self.id.hex()}"

    def has_wrapped(self, wrapped: bytes) -> bool:
        return wrapped[:_ID_BYTES] == self.id

    def wrap(self, key: bytes, context: Mapping[str, str]) -> GeneratedKey:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return GeneratedKey(self.id + nonce + self.cipher.encrypt(nonce, key, _bytes(context)), self.name)

    def unwrap(self, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        nonce, sealed = wrapped[_ID_BYTES : _ID_BYTES + _NONCE_BYTES], wrapped[_ID_BYTES + _NONCE_BYTES :]
        try:
            return self.cipher.decrypt(nonce, sealed, _bytes(context))
        except (InvalidTag, ValueError):
            raise UnwrapError("it was altered, or wrapped for another tenant or key") from None


class FileKms:
    """Wraps data keys with the master key in a file.

    The file is created together with the first data key, unless it `is_mounted`; it is never created to unwrap. The
    master key in the file `former` still unwraps. That file is read when a data key needs it, so it can be deleted
    after the last data key was rewrapped.
    """

    def __init__(self, path: Path, *, former: Path | None = None, is_mounted: bool = False) -> None:
        self._path = path
        self._former_path = former
        self._is_mounted = is_mounted
        self._master: _Master | None = None
        self._former: _Master | None = None

    async def generate(self, context: Mapping[str, str], /) -> GeneratedKey:
        master = await self._find(self._read_or_make)
        return master.wrap(secrets.token_bytes(KEY_BYTES), context)

    async def unwrap(self, wrapped: bytes, context: Mapping[str, str], /) -> bytes:
        master = await self._find(self._read)
        if not master.has_wrapped(wrapped):
            master = await self._find_former(wrapped, master)
        return master.unwrap(wrapped, context)

    async def rewrap(self, wrapped: bytes, context: Mapping[str, str], /) -> GeneratedKey | None:
        key, master = await self.unwrap(wrapped, context), await self._find(self._read)
        return None if master.has_wrapped(wrapped) else master.wrap(key, context)

    async def _find_former(self, wrapped: bytes, master: _Master) -> _Master:
        if self._former is None and self._former_path is not None:
            self._former = await asyncio.to_thread(self._read_from, self._former_path, "former_key_file")
        if self._former is None or not self._former.has_wrapped(wrapped):
            former = "" if self._former is None else f", nor with {self._former_path}"
            raise UnwrapError(f"it was not wrapped with {self._path}, which is {master.name}{former}")
        return self._former

    async def _find(self, read: Callable[[], _Master]) -> _Master:
        if self._master is None:
            self._master = await asyncio.to_thread(read)
        return self._master

    def _read_or_make(self) -> _Master:
        if not self._is_mounted and not self._path.exists():
            _make(self._path)
        return self._read()

    def _read(self) -> _Master:
        return self._read_from(self._path, "credential_file" if self._is_mounted else "key_file")

    def _read_from(self, path: Path, setting: str) -> _Master:
        try:
            with path.open("rb") as file:
                forbidden = _FOR_OTHERS_IF_MOUNTED if self._is_mounted else _FOR_OTHERS
                _check_mode(path, os.fstat(file.fileno()), forbidden)
                text = file.read()
        except OSError as error:
            raise _unusable(
                f"Cannot read the key file {path}: {error.strerror}. Stored data cannot be decrypted without it.",
                f"Restore the file, or set `encryption.{setting}`. A new key cannot decrypt existing data.",
            ) from error
        return _Master.of(_parse(path, text))


def _bytes(context: Mapping[str, str]) -> bytes:
    """Encode a context unambiguously and independently of its order."""
    parts = [part.encode() for pair in sorted(context.items()) for part in pair]
    return b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _make(path: Path) -> None:
    """Create the key file. Race: two processes create it. The link is atomic, so the first complete file is kept."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(draft, _NOTE + b64encode(secrets.token_bytes(KEY_BYTES)).decode() + "\n")
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
    except OSError as error:
        raise _unusable(
            f"Cannot create the key file {path}: {error.strerror}.",
            "Set `encryption.key_file` to another path.",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _check_mode(path: Path, found: os.stat_result, forbidden: int) -> None:
    if found.st_mode & forbidden:
        raise _unusable(
            f"Other users can read the key file {path} (mode {stat.S_IMODE(found.st_mode):04o}).",
            f"Run `chmod 600 {path}`. If another user may have read it, change to a new key file.",
        )
    if found.st_uid not in (os.geteuid(), 0):
        raise _unusable(
            f"The key file {path} belongs to another user.",
            "Change its owner to the user that runs this process, or to root.",
        )


def _parse(path: Path, text: bytes) -> bytes:
    lines = [line for line in text.splitlines() if line and not line.startswith(b"#")]
    try:
        key = b64decode(lines[0], validate=True) if len(lines) == 1 else b""
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise _unusable(
            f"The key file {path} does not contain one key of {KEY_BYTES} bytes in base64.",
            "Restore the original file.",
        )
    return key


def _unusable(message: str, hint: str) -> TidingsError:
    return TidingsError(Code.KEYS_UNAVAILABLE, message, hint=hint)


DIALECT = ServiceProfile("kms", "application/x-amz-json-1.1")
LIMITS = CallLimits(call_timeout_s=5.0, try_timeout_s=2.0, pool=PoolLimits(max_connections=16))
_SERVICE = "kms"
_KEY_SPEC = "AES_256"
_WRONG_KEY = "IncorrectKeyException"
_ALTERED = "InvalidCiphertextException"
_UNKNOWN_KEY = "it was wrapped by a KMS key that is not configured"


class _Generate(Struct):
    KeyId: str
    KeySpec: str
    EncryptionContext: Mapping[str, str]


class _Decrypt(Struct):
    KeyId: str
    CiphertextBlob: bytes
    EncryptionContext: Mapping[str, str]


class _ReEncrypt(Struct):
    CiphertextBlob: bytes
    SourceKeyId: str
    SourceEncryptionContext: Mapping[str, str]
    DestinationKeyId: str
    DestinationEncryptionContext: Mapping[str, str]


class _WrapReply(Struct):
    CiphertextBlob: bytes
    KeyId: str


class _DecryptReply(Struct):
    Plaintext: bytes


_encode_body = msgspec.json.Encoder().encode
_read_wrap: Callable[[bytes], _WrapReply] = msgspec.json.Decoder(_WrapReply).decode
_read_decrypt: Callable[[bytes], _DecryptReply] = msgspec.json.Decoder(_DecryptReply).decode

GENERATE = OperationSpec("TrentService.GenerateDataKeyWithoutPlaintext", _read_wrap)
DECRYPT = OperationSpec("TrentService.Decrypt", _read_decrypt)
RE_ENCRYPT = OperationSpec("TrentService.ReEncrypt", _read_wrap)


class AwsKms:
    """Wraps data keys with AWS KMS: `key_id` wraps, and `former_key_ids` still unwrap. Ids, ARNs or aliases.

    A request to unwrap always names one of these keys. Otherwise an attacker who can write the table could make this
    process unwrap, and then seal with, a key of their own.
    """

    def __init__(self, channel: Transport, key_id: str, former_key_ids: Sequence[str] = ()) -> None:
        self._channel = channel
        self._key_ids = (key_id, *former_key_ids)
        self._generates = PatternCounters("kms.generate", GENERATE.target)
        self._decrypts = PatternCounters("kms.decrypt", DECRYPT.target)
        self._re_encrypts = PatternCounters("kms.re_encrypt", RE_ENCRYPT.target)

    async def generate(self, context: Mapping[str, str], /) -> GeneratedKey:
        body = _encode_body(_Generate(self._key_ids[0], _KEY_SPEC, context))
        try:
            reply, _ = await self._channel.call(GENERATE, body, self._generates, is_repeatable=True)
        except DynamoError as error:
            _refuse(error)
        return GeneratedKey(reply.CiphertextBlob, reply.KeyId)

    async def unwrap(self, wrapped: bytes, context: Mapping[str, str], /) -> bytes:
        for key_id in self._key_ids:
            unwrapped = await self._decrypt(key_id, wrapped, context)
            if unwrapped is not None:
                return unwrapped
        raise UnwrapError(_UNKNOWN_KEY)

    async def rewrap(self, wrapped: bytes, context: Mapping[str, str], /) -> GeneratedKey | None:
        """Decrypt with a former key and encrypt with the current one, inside KMS: the data key does not leave it."""
        present, *formers = self._key_ids
        if await self._decrypt(present, wrapped, context) is not None:
            return None
        for former in formers:
            made = await self._re_encrypt(former, present, wrapped, context)
            if made is not None:
                return made
        raise UnwrapError(_UNKNOWN_KEY)

    async def _re_encrypt(
        self, former: str, present: str, wrapped: bytes, context: Mapping[str, str]
    ) -> GeneratedKey | None:
        """Return `None` if another key wrapped it."""
        body = _encode_body(_ReEncrypt(wrapped, former, context, present, context))
        try:
            reply, _ = await self._channel.call(RE_ENCRYPT, body, self._re_encrypts, is_repeatable=True)
        except DynamoError as error:
            _refuse_unless_wrong_key(error)
            return None
        return GeneratedKey(reply.CiphertextBlob, reply.KeyId)

    async def _decrypt(self, key_id: str, wrapped: bytes, context: Mapping[str, str]) -> bytes | None:
        """Return `None` if another key wrapped it."""
        body = _encode_body(_Decrypt(key_id, wrapped, context))
        try:
            reply, _ = await self._channel.call(DECRYPT, body, self._decrypts, is_repeatable=True)
        except DynamoError as error:
            _refuse_unless_wrong_key(error)
            return None
        return reply.Plaintext


@asynccontextmanager
async def open_aws_kms(
    endpoint: str,
    region: str,
    key_id: str,
    former_key_ids: Sequence[str] = (),
    *,
    keys: AwsKeys | None = None,
    limits: CallLimits = LIMITS,
) -> AsyncIterator[AwsKms]:
    """Open a client. `endpoint` is "aws" or a URL. Without `keys`, botocore's credential chain applies."""
    try:
        channel = await make_transport(endpoint, _SERVICE, region, keys, limits, dialect=DIALECT)
    except NoCredentialsError as error:
        raise TidingsError(Code.KEYS_UNAVAILABLE, f"Cannot call AWS KMS: {error}") from error
    try:
        yield AwsKms(channel, key_id, former_key_ids)
    finally:
        channel.close()


def _refuse_unless_wrong_key(error: DynamoError) -> None:
    if error.code == _WRONG_KEY:
        return
    if error.code == _ALTERED:
        raise UnwrapError("it was altered, or wrapped for another tenant or key") from error
    _refuse(error)


def _refuse(error: DynamoError) -> NoReturn:
    """Raise `keys_unavailable` for a key that is denied, disabled, throttled or missing: no data has to change."""
    raise TidingsError(
        Code.KEYS_UNAVAILABLE,
        f"AWS KMS refused the request: {error}",
        hint="The process needs kms:GenerateDataKeyWithoutPlaintext and kms:Decrypt for the key in "
        "`encryption.kms_key_id`, and that key must be enabled. Rewrapping also needs kms:ReEncryptFrom and "
        "kms:ReEncryptTo.",
    ) from error
