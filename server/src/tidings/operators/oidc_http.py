"""Call the identity provider over HTTP: bounded in size and time, without redirects and cookies."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote_plus

import aiohttp
import msgspec

from tidings.kernel.errors import UnavailableError

_TIMEOUT_S = 5.0
_MAX_BYTES = 256 * 1024
_OK = 200


class HttpOidcTransport:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, url: str, /) -> Mapping[str, Any]:
        status, answer = await self._call("GET", url)
        if status != _OK:
            raise UnavailableError(f"OIDC: {url} answered {status}")
        return answer

    async def post(
        self, url: str, form: Mapping[str, str], basic: tuple[str, str] | None, /
    ) -> tuple[int, Mapping[str, Any]]:
        # RFC 6749, section 2.3.1: both parts are form-encoded before they are joined.
        headers = (
            {} if basic is None else {"Authorization": aiohttp.encode_basic_auth(*map(quote_plus, basic))}
        )
        return await self._call("POST", url, data=form, headers=headers)

    async def _call(self, method: str, url: str, **more: Any) -> tuple[int, Mapping[str, Any]]:  # noqa: ANN401 - of aiohttp
        try:
            async with self._session.request(method, url, allow_redirects=False, **more) as answer:
                body = await answer.content.read(_MAX_BYTES + 1)
                if len(body) > _MAX_BYTES:
                    raise UnavailableError(f"OIDC: the answer of {url} is too large")
                return answer.status, msgspec.json.decode(body, type=dict[str, Any])
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            raise UnavailableError(f"OIDC: {url}: {str(error) or type(error).__name__}") from error


@asynccontextmanager
async def open_oidc_transport() -> AsyncIterator[HttpOidcTransport]:
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=_TIMEOUT_S),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept": "application/json"},
        trust_env=False,
    ) as session:
        yield HttpOidcTransport(session)
