"""A small AWS KMS: verifies signatures, wraps with AES-GCM and context, and returns answers and errors as AWS does."""

import asyncio
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

REGION = "eu-central-1"
ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ARN = "arn:aws:kms:eu-central-1:111122223333:key/"


type Asked = dict[str, Any]


@dataclass(frozen=True)
class Request:
    headers: Message
    body: bytes

    @property
    def operation(self) -> str:
        return str(self.headers["x-amz-target"]).removeprefix("TrentService.")

    @property
    def asked(self) -> Asked:
        asked: Asked = json.loads(self.body)
        return asked


class RefusedError(Exception):
    pass


@dataclass
class KmsServer:
    port: int = 0
    keys: dict[str, bytes] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Statuses and codes of the next answers, used in order."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add_key(self, name: str) -> str:
        self.keys[name] = secrets.token_bytes(32)
        return name

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await _read(reader)
                self.requests.append(request)
                writer.write(_http(*self._answer(request)))
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    def _answer(self, request: Request) -> tuple[int, object]:
        if self.failures:
            status, code = self.failures.pop(0)
            return status, {"__type": code, "message": "as the test wants it"}
        try:
            check_signature(request, self.url)
            operations = {
                "GenerateDataKeyWithoutPlaintext": self._generate,
                "Decrypt": self._decrypt,
                "ReEncrypt": self._re_encrypt,
            }
            return 200, operations[request.operation](request.asked)
        except RefusedError as refused:
            return 400, {"__type": str(refused), "message": "no"}

    def _generate(self, asked: Asked) -> dict[str, str]:
        assert asked.keys() == {"KeyId", "KeySpec", "EncryptionContext"}
        assert asked["KeySpec"] == "AES_256"
        return self._wrap(asked["KeyId"], secrets.token_bytes(32), _context(asked))

    def _wrap(self, key_id: str, data_key: bytes, context: bytes) -> dict[str, str]:
        nonce = secrets.token_bytes(12)
        sealed = self._cipher(key_id).encrypt(nonce, data_key, context)
        name = key_id.encode().ljust(16)
        return {"CiphertextBlob": b64encode(name + nonce + sealed).decode(), "KeyId": ARN + key_id}

    def _re_encrypt(self, asked: Asked) -> dict[str, str]:
        source = {
            "KeyId": asked.pop("SourceKeyId"),
            "CiphertextBlob": asked.pop("CiphertextBlob"),
            "EncryptionContext": asked.pop("SourceEncryptionContext"),
        }
        context = json.dumps(asked.pop("DestinationEncryptionContext"), sort_keys=True).encode()
        plain = b64decode(self._decrypt(source)["Plaintext"])
        made = self._wrap(asked.pop("DestinationKeyId"), plain, context)
        assert not asked
        return made | {"SourceKeyId": ARN + source["KeyId"]}

    def _decrypt(self, asked: Asked) -> dict[str, str]:
        assert asked.keys() == {"KeyId", "CiphertextBlob", "EncryptionContext"}
        key_id, blob = asked["KeyId"], b64decode(asked["CiphertextBlob"])
        cipher = self._cipher(key_id)
        if blob[:16].strip() not in {name.encode() for name in self.keys}:
            raise RefusedError("InvalidCiphertextException")
        if blob[:16].strip() != key_id.encode():
            raise RefusedError("IncorrectKeyException")
        try:
            plain = cipher.decrypt(blob[16:28], blob[28:], _context(asked))
        except InvalidTag:
            raise RefusedError("InvalidCiphertextException") from None
        return {
            "Plaintext": b64encode(plain).decode(),
            "KeyId": ARN + key_id,
            "EncryptionAlgorithm": "SYMMETRIC_DEFAULT",
        }

    def _cipher(self, key_id: str) -> AESGCM:
        if key_id not in self.keys:
            raise RefusedError("NotFoundException")
        return AESGCM(self.keys[key_id])


def check_signature(request: Request, url: str) -> None:
    """Return the signature that botocore computes for the same request and time."""
    authorization = str(request.headers["authorization"])
    signed = authorization.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    again = AWSRequest("POST", url + "/", data=request.body)
    for name in signed:
        again.headers[name] = request.headers[name]
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "kms", REGION)
    canonical = auth.canonical_request(again)
    signature = auth.signature(auth.string_to_sign(again, canonical), again)
    if f"Signature={signature}" not in authorization:
        raise RefusedError("InvalidSignatureException")


async def _read(reader: asyncio.StreamReader) -> Request:
    head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.partition(b"\r\n")
    assert line == b"POST / HTTP/1.1"
    headers = BytesParser().parsebytes(rest)
    return Request(headers, await reader.readexactly(int(headers["content-length"])))


def _http(status: int, answer: object) -> bytes:
    body = json.dumps(answer).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _context(asked: Asked) -> bytes:
    return json.dumps(asked["EncryptionContext"], sort_keys=True).encode()


@asynccontextmanager
async def kms_server() -> AsyncIterator[KmsServer]:
    kms = KmsServer()
    server = await asyncio.start_server(kms.serve, "127.0.0.1", 0)
    kms.port = server.sockets[0].getsockname()[1]
    try:
        yield kms
    finally:
        server.close()
