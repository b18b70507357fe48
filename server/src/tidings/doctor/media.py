"""Check the bucket of attachments: whether it answers, is private, and accepts requests of web pages."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import aiohttp

from tidings.app.wiring.media import s3_options
from tidings.app.wiring.options import listed_origins
from tidings.doctor.model import CheckState, DoctorContext, Finding, ok, skipped
from tidings.kernel.errors import UnavailableError
from tidings.media.store.clamd import ClamdScanner
from tidings.platform.s3.client import S3Options, open_s3

_NAME = "media"
_PROBE = "tidings-doctor"
"""The key of an object that does not exist."""
_TIMEOUT_S = 10
_REFUSED = (401, 403)
_PREFLIGHT = {
    "Access-Control-Request-Method": "PUT",
    "Access-Control-Request-Headers": "content-type,x-amz-checksum-sha256",
}


def check_media(context: DoctorContext) -> Iterator[Finding]:
    settings = context.loaded.settings
    try:
        options = s3_options(settings)
    except ValueError as error:
        why = "`tidings run api` and `tidings run media` do not start with these settings."
        yield Finding(_NAME, CheckState.WRONG, str(error), why, "Set media.access_key and media.secret_key.")
        return
    if options is None:
        yield skipped(_NAME, "needs media.endpoint")
        return
    yield from asyncio.run(_findings(options, listed_origins(settings)))
    if settings.media.clamd is not None:
        yield asyncio.run(_check_clamd(settings.media.clamd))


async def _check_clamd(address: str) -> Finding:
    try:
        await ClamdScanner(address, timeout_s=_TIMEOUT_S).ping()
    except UnavailableError as error:
        return Finding(
            _NAME,
            CheckState.WRONG,
            str(error),
            "New files wait, and only their senders can download them.",
            "Start clamd, or correct media.clamd.",
        )
    return ok(_NAME, f"clamd at {address} answers")


async def _findings(options: S3Options, origins: list[str]) -> list[Finding]:
    return [finding async for finding in _check_bucket(options, origins)]


async def _check_bucket(options: S3Options, origins: list[str]) -> AsyncIterator[Finding]:
    where = f"the bucket {options.bucket} at {options.endpoint}"
    async with open_s3(options) as s3:
        try:
            has_bucket = await s3.has_bucket()
        except UnavailableError as error:
            yield Finding(
                _NAME,
                CheckState.WRONG,
                f"{where} does not answer: {error}",
                "Uploads and downloads of attachments fail.",
                "Check media.endpoint, the keys, and that the network allows the connection.",
            )
            return
        if not has_bucket:
            yield Finding(
                _NAME,
                CheckState.WRONG,
                f"{where} does not exist",
                "Uploads of attachments fail.",
                "Create it without public access, or set media.bucket.",
            )
            return
        yield ok(_NAME, f"{where} answers")
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S)) as session:
            # The address of clients, which may differ from that of the servers.
            address = s3.presign("GET", _PROBE, 60).partition("?")[0]
            for finding in (
                await _check_private(session, address),
                await _check_cors(session, address, origins),
            ):
                if finding is not None:
                    yield finding


async def _check_private(session: aiohttp.ClientSession, address: str) -> Finding | None:
    """Request an object without a signature. A private bucket does not say whether it exists."""
    try:
        async with session.get(address) as answer:
            status = answer.status
    except (aiohttp.ClientError, TimeoutError) as error:
        return Finding(
            _NAME,
            CheckState.WARNING,
            f"{address} does not answer this machine: {error!r}",
            "Clients use this address.",
            "Check media.public_endpoint.",
        )
    if status in _REFUSED:
        return ok(_NAME, "the bucket is private")
    return Finding(
        _NAME,
        CheckState.WRONG,
        f"the bucket is public: a request without a signature was answered with {status}",
        "Everyone who knows or guesses an address can download files, also of redacted messages.",
        "Remove public access: block it in the settings of the bucket, and delete its policy.",
    )


async def _check_cors(session: aiohttp.ClientSession, address: str, origins: list[str]) -> Finding | None:
    """Send the preflight request of a browser. Origins with a pattern are left out."""
    exact = [origin for origin in origins if "*" not in origin]
    refused = []
    for origin in exact:
        try:
            async with session.options(address, headers={**_PREFLIGHT, "Origin": origin}) as answer:
                allowed = answer.headers.get("Access-Control-Allow-Origin")
        except (aiohttp.ClientError, TimeoutError):
            return None  # `_check_private` has reported it.
        if allowed not in (origin, "*"):
            refused.append(origin)
    if not exact:
        return None
    if not refused:
        return ok(_NAME, "web pages may upload (CORS)")
    return Finding(
        _NAME,
        CheckState.WRONG,
        "the bucket refuses uploads of web pages (CORS)",
        "Browsers do not send files from these origins.",
        "Allow PUT and GET with all headers from the origins of api.allowed_origins in the bucket's CORS rules.",
        refused,
    )
