"""AWS KMS as the key service, by the shape of its requests. Untried on AWS itself.

Goes the way of the DynamoDB client: its connections, signatures, retries and credentials serve KMS as they are.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn

import msgspec
from msgspec import Struct

from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.channel import CallLimits, ServiceProfile, Transport
from tidings.platform.dynamo.credentials import AwsKeys, NoCredentialsError
from tidings.platform.dynamo.errors import DynamoError
from tidings.platform.dynamo.ledger import PatternCounters
from tidings.platform.dynamo.opening import make_transport
from tidings.platform.dynamo.pool import PoolLimits
from tidings.platform.dynamo.verbs import OperationSpec
from tidings.tenants.model import GeneratedKey
from tidings.tenants.ports import UnwrapError

DIALECT = ServiceProfile("kms", "application/x-amz-json-1.1")
LIMITS = CallLimits(call_timeout_s=5.0, try_timeout_s=2.0, pool=PoolLimits(max_connections=16))
_SERVICE = "kms"
_KEY_SPEC = "AES_256"
_WRONG_KEY = "IncorrectKeyException"
_ALTERED = "InvalidCiphertextException"


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
    """`key_id` wraps; `former_key_ids` still unwrap. Ids, ARNs or aliases.

    A request to unwrap always names one of them: else whoever can write the table could have us unwrap, and then
    seal with, a key that is his own.
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
        raise UnwrapError("it was wrapped by a KMS key that is not set here")

    async def rewrap(self, wrapped: bytes, context: Mapping[str, str], /) -> GeneratedKey | None:
        """Have KMS decrypt with a former key and encrypt with the present one; the data key does not leave it."""
        present, *formers = self._key_ids
        if await self._decrypt(present, wrapped, context) is not None:
            return None
        for former in formers:
            made = await self._re_encrypt(former, present, wrapped, context)
            if made is not None:
                return made
        raise UnwrapError("it was wrapped by a KMS key that is not set here")

    async def _re_encrypt(
        self, former: str, present: str, wrapped: bytes, context: Mapping[str, str]
    ) -> GeneratedKey | None:
        """None: it was wrapped by another key."""
        body = _encode_body(_ReEncrypt(wrapped, former, context, present, context))
        try:
            reply, _ = await self._channel.call(RE_ENCRYPT, body, self._re_encrypts, is_repeatable=True)
        except DynamoError as error:
            _refuse_unless_wrong_key(error)
            return None
        return GeneratedKey(reply.CiphertextBlob, reply.KeyId)

    async def _decrypt(self, key_id: str, wrapped: bytes, context: Mapping[str, str]) -> bytes | None:
        """None: it was wrapped by another key."""
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
    """`endpoint` is "aws" or a URL. Without `keys`, AWS gets those that botocore finds."""
    try:
        channel = await make_transport(endpoint, _SERVICE, region, keys, limits, dialect=DIALECT)
    except NoCredentialsError as error:
        raise TidingsError(Code.KEYS_UNAVAILABLE, f"AWS KMS can't be asked: {error}") from error
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
    """Denied, disabled, throttled or not there: all of it can be mended without touching the data."""
    raise TidingsError(
        Code.KEYS_UNAVAILABLE,
        f"AWS KMS does not give the key: {error}",
        hint="The process needs kms:GenerateDataKeyWithoutPlaintext and kms:Decrypt for the key in "
        "encryption.kms_key_id, and that key must be enabled; rewrapping also needs kms:ReEncryptFrom and "
        "kms:ReEncryptTo.",
    ) from error
