"""Upload and download files. The bytes go directly between this process and the bucket."""

import asyncio
import hashlib
import mimetypes
import random
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import BinaryIO, Final, final

from msgspec import Struct, convert

from tidings_sdk.backoff import Backoff
from tidings_sdk.credentials import Credentials
from tidings_sdk.errors import RequestRefused, RequestTimeout, TidingsError
from tidings_sdk.rest import RestApi, fetch_file, put_bytes

type OnProgress = Callable[[int, int], None]
"""Called with the bytes that the bucket has, and the size of the file."""

_TRIES: Final = 6
_PROCESSING_S: Final = 0.5
_MAX_PROCESSING: Final = 120
_HASH_BYTES: Final = 1024 * 1024


class SignedRequest(Struct, frozen=True):
    """A request that the server has signed. The bucket refuses other headers and other bytes."""

    url: str
    headers: dict[str, str]


class UploadAnswer(Struct, frozen=True):
    id: str
    put: SignedRequest | None = None
    part_bytes: int | None = None
    part_count: int | None = None


class SignedParts(Struct, frozen=True):
    parts: list[SignedRequest]


class AttachmentLink(Struct, frozen=True):
    """Where to download a file of a message. The URLs need no credential, and are valid until `expires_at`."""

    id: str
    name: str
    size: int
    type: str
    is_inline: bool
    url: str
    expires_at: str
    thumbnail_url: str | None = None
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    blurhash: str | None = None


@final
class Attachments:
    """The files of a client. Get it with `client.attachments`. Methods raise `TidingsError`."""

    def __init__(self, api: str, credentials: Credentials) -> None:
        self._rest = RestApi(api, credentials)

    async def upload(
        self,
        chat: str,
        source: Path | str | bytes,
        *,
        name: str | None = None,
        type: str | None = None,  # noqa: A002 - the name of the field in the REST API
        on_progress: OnProgress | None = None,
    ) -> str:
        """Upload a file for a message in the chat, and return the id for `Chat.send(attachments=…)`.

        `source`: a path, or the bytes. At most one part of 8 MB is in memory. A part that fails is sent again, up to 6
        times. If the upload fails, it is deleted.
        """
        file = _File.of(source, name, type)
        body = {"chat": chat, "name": file.name, "size": file.size, "type": file.type}
        body["sha256"] = await asyncio.to_thread(file.sha256)
        answer = convert(await self._call("POST", "/v1/uploads", body), UploadAnswer)
        try:
            parts = await self._send(answer, file, on_progress or _ignore)
            await self._call("POST", f"/v1/uploads/{answer.id}/complete", {"parts": parts})
        except BaseException:
            # Without this, the server deletes it after a day.
            await asyncio.shield(self._discard(answer.id))
            raise
        return answer.id

    async def link(self, chat: str, sequence: int, upload: str) -> AttachmentLink:
        """Return where to download a file of a message. Waits up to a minute until the media worker has processed it."""
        path = f"/v1/messages/{chat}.{sequence}/attachments/{upload}"
        for _ in range(_MAX_PROCESSING):
            try:
                return convert(await self._call("GET", path), AttachmentLink)
            except RequestRefused as error:
                if error.code != "upload_processing":
                    raise
            await asyncio.sleep(_PROCESSING_S)
        raise RequestTimeout(f"The file {upload} was not processed within a minute.")

    async def download(self, chat: str, sequence: int, upload: str, path: Path | str) -> AttachmentLink:
        """Download a file of a message to `path`. An existing file is replaced when the download is complete."""
        link, target = await self.link(chat, sequence, upload), Path(path)
        partial = target.with_name(f"{target.name}.part")
        try:
            await _retried(lambda: asyncio.to_thread(fetch_file, link.url, partial))
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        return link

    async def _send(
        self, answer: UploadAnswer, file: "_File", on_progress: OnProgress
    ) -> list[dict[str, object]]:
        if answer.put is not None:
            put, content = answer.put, await asyncio.to_thread(file.read, 0, file.size)
            await _retried(lambda: asyncio.to_thread(put_bytes, put.url, put.headers, content))
            on_progress(file.size, file.size)
            return []
        sums: list[dict[str, object]] = []
        part_bytes = answer.part_bytes or file.size
        for number in range(1, (answer.part_count or 0) + 1):
            at = (number - 1) * part_bytes
            content = await asyncio.to_thread(file.read, at, part_bytes)
            sums.append({"number": number, "sha256": _encoded(hashlib.sha256(content))})
            await self._send_part(answer.id, sums[-1], content)
            on_progress(at + len(content), file.size)
        return sums

    async def _send_part(self, upload: str, part: dict[str, object], content: bytes) -> None:
        async def attempt() -> None:
            # Each try has its own signature, because signatures expire.
            found = await self._rest.call("POST", f"/v1/uploads/{upload}/parts", {"parts": [part]})
            signed = convert(found, SignedParts).parts[0]
            await asyncio.to_thread(put_bytes, signed.url, signed.headers, content)

        await _retried(attempt)

    async def _discard(self, upload: str) -> None:
        try:
            await self._rest.call("DELETE", f"/v1/uploads/{upload}")
        except TidingsError:
            return

    async def _call(self, method: str, path: str, body: object = None) -> object:
        return await _retried(lambda: self._rest.call(method, path, body))


async def _retried[T](work: Callable[[], Awaitable[T]]) -> T:
    """Repeat `work` with growing waits while its error is retryable, at most `_TRIES` times."""
    backoff = Backoff(random.random, longest_s=20.0)
    for left in range(_TRIES - 1, -1, -1):
        wait_ms = None
        try:
            return await work()
        except RequestTimeout:
            if not left:
                raise
        except RequestRefused as error:
            if not left or not error.body.retryable or error.code == "upload_processing":
                raise
            wait_ms = error.body.retry_after_ms
        await asyncio.sleep(backoff.wait_s(monotonic(), wait_ms))
    raise AssertionError("unreachable")


@final
class _File:
    """A file or bytes in memory."""

    def __init__(self, source: Path | bytes, name: str, type_: str, size: int) -> None:
        self._source = source
        self.name, self.type, self.size = name, type_, size

    @classmethod
    def of(cls, source: Path | str | bytes, name: str | None, type_: str | None) -> "_File":
        path = Path(source) if isinstance(source, str) else source
        shown = name or (path.name if isinstance(path, Path) else "file")
        guessed = type_ or mimetypes.guess_type(shown)[0] or "application/octet-stream"
        size = path.stat().st_size if isinstance(path, Path) else len(path)
        return cls(path, shown, guessed, size)

    def read(self, at: int, size: int) -> bytes:
        if isinstance(self._source, bytes):
            return self._source[at : at + size]
        with self._source.open("rb") as file:
            file.seek(at)
            return file.read(size)

    def sha256(self) -> str:
        if isinstance(self._source, bytes):
            return _encoded(hashlib.sha256(self._source))
        with self._source.open("rb") as file:
            return _encoded(_digest(file))


def _digest(file: BinaryIO) -> "hashlib._Hash":
    digest = hashlib.sha256()
    while piece := file.read(_HASH_BYTES):
        digest.update(piece)
    return digest


def _encoded(digest: "hashlib._Hash") -> str:
    return b64encode(digest.digest()).decode()


def _ignore(_sent: int, _size: int) -> None:
    """Report nothing."""
