"""A client of S3 and of stores with its API: objects, multipart uploads, and presigned URLs.

botocore signs the requests. Buckets are addressed by path, which every store supports.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode
from xml.etree import ElementTree as ET

from yarl import URL

from tidings.kernel.errors import UnavailableError
from tidings.platform.dynamo.credentials import (
    AWS,
    AwsKeys,
    CredentialsProvider,
    StaticCredentials,
    find_keys,
)

if TYPE_CHECKING:
    import aiohttp
    from botocore.credentials import Credentials

_TIMEOUT_S = 30.0
_MAX_CONNECTIONS = 64
_CHUNK_BYTES = 1024 * 1024
_PUT_LIFE_S = 3_600
_NOT_FOUND = 404
_FAILED = 300
_MAX_ERROR_CHARS = 300
LIST_PAGE = 1_000


class StoredPart(NamedTuple):
    number: int
    etag: str
    size: int


class OpenMultipart(NamedTuple):
    key: str
    upload_id: str


class S3Error(UnavailableError):
    """The store refused a request or did not answer. `status` is 0 without an answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(f"S3: {message}")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Options:
    """`public_endpoint`: the address of the store in presigned URLs, if clients reach it elsewhere."""

    endpoint: str
    region: str
    bucket: str
    public_endpoint: str | None = None
    keys: AwsKeys | None = None


class S3Client:
    """Requests are repeatable: each sets or deletes one object, or reads."""

    def __init__(
        self, session: "aiohttp.ClientSession", options: S3Options, credentials: CredentialsProvider
    ) -> None:
        self._session = session
        self._region = options.region
        self._credentials = credentials
        self._endpoint = _url(options.endpoint, options.region)
        self._public = _url(options.public_endpoint or options.endpoint, options.region)
        self._bucket = options.bucket

    def presign(
        self,
        method: str,
        key: str,
        life_s: int,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> str:
        """Return a URL that allows one kind of request for `life_s`. The client must send exactly these headers."""
        return self._signed_url(self._public, method, key, life_s, headers=headers or {}, query=query or {})

    def _signed_url(
        self,
        endpoint: str,
        method: str,
        key: str,
        life_s: int,
        *,
        headers: Mapping[str, str],
        query: Mapping[str, str],
    ) -> str:
        from botocore.auth import S3SigV4QueryAuth  # noqa: PLC0415 - takes a quarter of a second
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - see above

        url = f"{endpoint}/{self._bucket}/{quote(key)}"
        request = AWSRequest(method=method, url=url, headers=dict(headers), params=dict(query))
        S3SigV4QueryAuth(self._keys(), "s3", self._region, expires=life_s).add_auth(request)
        return str(request.url)

    async def size_of(self, key: str) -> int | None:
        """Return the size of an object, or None if it does not exist."""
        async with self._request("HEAD", key, allow=(_NOT_FOUND,)) as answer:
            return None if answer.status == _NOT_FOUND else int(answer.headers["Content-Length"])

    async def read(self, key: str) -> AsyncIterator[bytes]:
        """Yield the bytes of an object. Raises `S3Error` with status 404 if it does not exist."""
        async with self._request("GET", key) as answer:
            with _raise_s3_error(f"the answer of GET {key} ended early"):
                async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
                    yield chunk

    async def put(self, key: str, body: bytes, content_type: str) -> None:
        async with self._request("PUT", key, body=body, headers={"Content-Type": content_type}):
            pass

    async def put_file(self, key: str, path: Path, *, size: int, sha256: str, content_type: str) -> None:
        """Write a file as it is sent, without reading it into memory. The store refuses bytes with another SHA-256.

        Like the request of a client, it is signed with the checksum, not with the bytes.
        """
        await self._credentials.ask(asyncio.get_running_loop().time())
        headers = {
            "Content-Length": str(size),
            "Content-Type": content_type,
            "x-amz-checksum-sha256": sha256,
        }
        url = self._signed_url(self._endpoint, "PUT", key, _PUT_LIFE_S, headers=headers, query={})
        with _raise_s3_error(f"PUT {key} was not answered"), path.open("rb") as file:
            async with self._session.put(URL(url, encoded=True), headers=headers, data=file) as answer:
                if answer.status >= _FAILED:
                    raise await _refused("PUT", key, answer)

    async def delete(self, key: str) -> None:
        """Delete an object. One that does not exist causes no error."""
        async with self._request("DELETE", key, allow=(_NOT_FOUND,)):
            pass

    async def keys(self, prefix: str) -> AsyncIterator[str]:
        """Yield the keys that start with `prefix`, in order. An object that exists throughout is included."""
        query = {"list-type": "2", "prefix": prefix, "max-keys": str(LIST_PAGE)}
        while True:
            page = await self._xml("GET", "", query=query)
            for found in page.iter("Contents"):
                yield _text(found, "Key")
            if _text(page, "IsTruncated") != "true":
                return
            query["continuation-token"] = _text(page, "NextContinuationToken")

    async def start_multipart(self, key: str, content_type: str) -> str:
        answer = await self._xml(
            "POST",
            key,
            query={"uploads": ""},
            headers={"Content-Type": content_type, "x-amz-checksum-algorithm": "SHA256"},
        )
        return _text(answer, "UploadId")

    async def parts(self, key: str, upload_id: str) -> Sequence[StoredPart] | None:
        """List the parts that were received, in order. None: there is no such upload, or it is complete."""
        found: list[StoredPart] = []
        query = {"uploadId": upload_id, "max-parts": "1000"}
        while True:
            try:
                page = await self._xml("GET", key, query=query)
            except S3Error as error:
                if error.status == _NOT_FOUND:
                    return None
                raise
            found += [
                StoredPart(int(_text(part, "PartNumber")), _text(part, "ETag"), int(_text(part, "Size")))
                for part in page.iter("Part")
            ]
            if _text(page, "IsTruncated") != "true":
                return found
            query["part-number-marker"] = _text(page, "NextPartNumberMarker")

    async def put_part(self, key: str, upload_id: str, number: int, body: bytes, sha256: str) -> None:
        """Store a part of a multipart upload. `sha256`: in base64. All but the last one need 5 MiB."""
        query = {"partNumber": str(number), "uploadId": upload_id}
        async with self._request(
            "PUT", key, query=query, headers={"x-amz-checksum-sha256": sha256}, body=body
        ):
            pass

    async def complete_multipart(self, key: str, upload_id: str, sums: Mapping[int, str]) -> None:
        """Join the parts. `sums`: the SHA-256 of each in base64, which S3 requires and not every store lists."""
        root = ET.Element("CompleteMultipartUpload")
        for part in await self.parts(key, upload_id) or ():
            element = ET.SubElement(root, "Part")
            ET.SubElement(element, "PartNumber").text = str(part.number)
            ET.SubElement(element, "ETag").text = part.etag
            ET.SubElement(element, "ChecksumSHA256").text = sums[part.number]
        answer = await self._xml("POST", key, query={"uploadId": upload_id}, body=ET.tostring(root))
        if answer.tag == "Error":  # S3 sends status 200 before it knows whether the parts can be joined.
            raise S3Error(f"the parts of {key} could not be joined: {_text(answer, 'Code')}")

    async def abort_multipart(self, key: str, upload_id: str) -> None:
        async with self._request("DELETE", key, query={"uploadId": upload_id}, allow=(_NOT_FOUND,)):
            pass

    async def open_multiparts(self, prefix: str) -> AsyncIterator[OpenMultipart]:
        """Yield the multipart uploads that are neither complete nor aborted."""
        query = {"uploads": "", "prefix": prefix}
        while True:
            page = await self._xml("GET", "", query=query)
            for found in page.iter("Upload"):
                yield OpenMultipart(_text(found, "Key"), _text(found, "UploadId"))
            if _text(page, "IsTruncated") != "true":
                return
            query["key-marker"] = _text(page, "NextKeyMarker")
            query["upload-id-marker"] = _text(page, "NextUploadIdMarker")

    async def has_bucket(self) -> bool:
        async with self._request("HEAD", "", allow=(_NOT_FOUND,)) as answer:
            return answer.status != _NOT_FOUND

    async def create_bucket(self) -> None:
        """Create the bucket, for local stores. One that exists causes no error."""
        if not await self.has_bucket():
            async with self._request("PUT", "", allow=(409,)):
                pass

    async def _xml(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> ET.Element:
        async with self._request(method, key, query=query, headers=headers, body=body) as answer:
            text = await answer.text()
        root = ET.fromstring(text)  # noqa: S314 - the answer of the operator's own store
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        key: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        allow: Sequence[int] = (),
    ) -> AsyncIterator["aiohttp.ClientResponse"]:
        from botocore.auth import S3SigV4Auth  # noqa: PLC0415 - see `presign`
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - see `presign`

        await self._credentials.ask(asyncio.get_running_loop().time())
        path = f"{self._endpoint}/{self._bucket}" + (f"/{quote(key)}" if key else "")
        url = f"{path}?{urlencode(query, quote_via=quote)}" if query else path
        signed = AWSRequest(method=method, url=url, headers=dict(headers or {}), data=body)
        signed.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body).hexdigest()
        S3SigV4Auth(self._keys(), "s3", self._region).add_auth(signed)
        with _raise_s3_error(f"{method} {key or self._bucket} was not answered"):
            async with self._session.request(
                method, URL(url, encoded=True), headers=dict(signed.headers.items()), data=BytesIO(body)
            ) as answer:
                if answer.status >= _FAILED and answer.status not in allow:
                    raise await _refused(method, key, answer)
                yield answer

    def _keys(self) -> "Credentials":
        from botocore.credentials import Credentials  # noqa: PLC0415 - see `presign`

        keys = self._credentials.keys
        token = keys.token.reveal() if keys.token else None
        return Credentials(keys.access_key, keys.secret_key.reveal(), token)


@contextmanager
def _raise_s3_error(failure: str) -> Iterator[None]:
    """Raise `S3Error` with the text `failure` if the store does not answer, or not completely."""
    import aiohttp  # noqa: PLC0415 - see `open_s3`

    try:
        yield
    except (aiohttp.ClientError, TimeoutError) as error:
        raise S3Error(f"{failure}: {error!r}") from error


async def _refused(method: str, key: str, answer: "aiohttp.ClientResponse") -> S3Error:
    text = (await answer.text(errors="replace"))[:_MAX_ERROR_CHARS]
    return S3Error(f"{method} {key} was answered with {answer.status}: {text}", answer.status)


def _text(element: ET.Element, name: str) -> str:
    return element.findtext(name) or ""


def _url(endpoint: str, region: str) -> str:
    return f"https://s3.{region}.amazonaws.com" if endpoint == AWS else endpoint.rstrip("/")


@asynccontextmanager
async def open_s3(options: S3Options) -> AsyncIterator[S3Client]:
    """Open a client. Without keys, botocore finds those of AWS."""
    import aiohttp  # noqa: PLC0415 - takes a fifth of a second, and most commands open no bucket

    credentials: CredentialsProvider
    if options.keys is not None:
        credentials = StaticCredentials(options.keys)
    else:
        import botocore.session  # noqa: PLC0415 - takes half a second, needed for AWS only

        credentials = await find_keys(botocore.session.get_session())
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=_MAX_CONNECTIONS),
        timeout=aiohttp.ClientTimeout(total=None, connect=_TIMEOUT_S, sock_read=_TIMEOUT_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    ) as session:
        yield S3Client(session, options, credentials)
