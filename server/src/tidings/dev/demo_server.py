"""Serve the demo page of `tidings dev`, with tokens of the demo users and faults to inject.

A web page of another site must not reach it, although a browser on this machine could: requests need the token of this
start, name this server as their host, and come from its own page.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from aiohttp import web

from tidings.dev.demo_faults import Fault, ServiceState
from tidings.dev.seed_data import DEMO_USERS, INBOX, http_call
from tidings.kernel.errors import TidingsError

PAGE: Final = Path(__file__).parent / "build" / "demo"
PREFERRED_PORT: Final = 8070
_HOST: Final = "127.0.0.1"
_NOTIFICATION: Final = {"title": "Your table is booked", "text": "Tuesday at noon, for two."}
_FOREVER: Final = "public, max-age=31536000, immutable"

type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DemoGuard:
    """Decide whether a request may pass."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._hosts: frozenset[str] = frozenset()
        self._origins: frozenset[str] = frozenset()

    def allow(self, port: int, vite_origin: str | None) -> None:
        """Accept this server's own addresses, and pages from Vite's development server if it runs."""
        self._hosts = frozenset({f"{_HOST}:{port}", f"localhost:{port}"})
        own = {f"http://{host}" for host in self._hosts}
        self._origins = frozenset(own | ({vite_origin} if vite_origin else set()))

    def refusal(self, request: web.BaseRequest) -> web.Response | None:
        """Return the response to a request that is refused, or None.

        The host protects from DNS rebinding: a name of another site that resolves to this machine. The origin protects
        from pages of other sites, which may send requests without reading the answers.
        """
        if request.headers.get("Host", "") not in self._hosts:
            return _problem(HTTPStatus.MISDIRECTED_REQUEST, "The request names another host.")
        origin = request.headers.get("Origin")
        if origin not in self._origins and (origin is not None or request.method not in ("GET", "HEAD")):
            return _problem(HTTPStatus.FORBIDDEN, "The request comes from another page.")
        if request.path.startswith("/demo/") and not self._has_token(request):
            return _problem(
                HTTPStatus.UNAUTHORIZED, "Invalid token. Open the address that `tidings dev` printed."
            )
        return None

    def _has_token(self, request: web.BaseRequest) -> bool:
        given = request.headers.get("Authorization", "").encode(errors="replace")
        return compare_digest(given, f"Bearer {self.token}".encode())


@dataclass(slots=True)
class DemoContent:
    """What the page shows. `tokens` of the users are replaced before they expire."""

    urls: dict[str, str]
    chats: dict[str, str]
    server_key: str
    tokens: dict[str, str]


class FaultInjector(Protocol):
    async def inject(self, fault: Fault) -> None: ...

    async def status(self) -> dict[str, ServiceState]: ...


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


class DemoServer:
    def __init__(self, content: DemoContent, faults: FaultInjector, page: Path = PAGE) -> None:
        self.content = content
        self._faults = faults
        self._page = page
        self._guard = DemoGuard(secrets.token_urlsafe(24))
        self._runner: web.AppRunner | None = None

    async def start(self, port: int = PREFERRED_PORT) -> int:
        """Listen on the port, or on a free one if it is taken. Return the port."""
        app = web.Application(middlewares=[self._middleware])
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/demo/session", self._session),
                web.get("/demo/token", self._token),
                web.get("/demo/status", self._status),
                web.post("/demo/faults/{fault}", self._fault),
                web.post("/demo/notifications", self._notify),
            ]
        )
        if (self._page / "assets").exists():
            app.router.add_static("/assets", self._page / "assets")
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        listening = await self._listen(self._runner, port)
        self._guard.allow(listening, None)
        return listening

    def address(self, port: int, vite_origin: str | None = None) -> str:
        """Return the address to open. The token is in the fragment, which browsers do not send or log."""
        self._guard.allow(port, vite_origin)
        return f"{vite_origin or f'http://{_HOST}:{port}'}/#{self._guard.token}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _listen(self, runner: web.AppRunner, port: int) -> int:
        try:
            await web.TCPSite(runner, _HOST, port).start()
        except OSError:
            await web.TCPSite(runner, _HOST, 0).start()
        return int(runner.addresses[0][1])

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        answer = self._guard.refusal(request)
        if answer is None:
            try:
                answered = await handler(request)
            except TidingsError as error:
                answered = _problem(HTTPStatus.CONFLICT, f"{error} {error.hint or ''}".strip())
        else:
            answered = answer
        self._add_headers(request, answered)
        return answered

    def _add_headers(self, request: web.Request, answer: web.StreamResponse) -> None:
        answer.headers["Cache-Control"] = _FOREVER if request.path.startswith("/assets/") else "no-store"
        origins = {name: _origin(url) for name, url in self.content.urls.items()}
        media = origins.get("media", "")
        answer.headers["Content-Security-Policy"] = (
            f"default-src 'self'; connect-src 'self' {origins['gateway']} {origins['api']} {media}; "
            f"img-src 'self' data: blob: {media}; media-src blob: {media}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Referrer-Policy"] = "no-referrer"
        answer.headers["Cross-Origin-Resource-Policy"] = "same-origin"

    async def _index(self, _: web.Request) -> web.Response:
        return web.Response(text=(self._page / "index.html").read_text(), content_type="text/html")

    async def _session(self, _: web.Request) -> web.Response:
        users = [{"id": user, "name": name} for user, name in DEMO_USERS.items()]
        return web.json_response(
            {
                **self.content.urls,
                "users": users,
                "chats": self.content.chats,
                "inbox": INBOX,
                "search": await self._has_search(),
            }
        )

    async def _has_search(self) -> bool:
        """Return whether a demo user can search. The page asks here: a refused request would be an error in its console."""
        token = next(iter(self.content.tokens.values()), "")
        try:
            answer = await http_call("GET", f"{self.content.urls['api']}/v1/search?q=tidings&limit=1", token)
        except (OSError, HTTPException):
            return False
        return answer.status == HTTPStatus.OK

    async def _token(self, request: web.Request) -> web.Response:
        token = self.content.tokens.get(request.query.get("user", ""))
        if token is None:
            return _problem(HTTPStatus.NOT_FOUND, f"Unknown user. Choose one of {', '.join(DEMO_USERS)}.")
        return web.json_response({"token": token})

    async def _status(self, _: web.Request) -> web.Response:
        return web.json_response(await self._faults.status())

    async def _fault(self, request: web.Request) -> web.Response:
        name = request.match_info["fault"]
        if name not in Fault:
            return _problem(
                HTTPStatus.NOT_FOUND, f"Unknown fault `{name}`. Choose one of {', '.join(Fault)}."
            )
        await self._faults.inject(Fault(name))
        return web.json_response(await self._faults.status())

    async def _notify(self, _: web.Request) -> web.Response:
        """Send a notification to every demo user, as the tenant's server does."""
        body: dict[str, Any] = {"user_ids": list(DEMO_USERS), "message": _NOTIFICATION}
        url = f"{self.content.urls['api']}/v1/inboxes/{INBOX}/notifications"
        answer = await http_call("POST", url, self.content.server_key, body, key=secrets.token_urlsafe(12))
        return web.json_response(answer.body, status=answer.status)


def is_page_built() -> bool:
    return (PAGE / "index.html").exists()


def _problem(status: HTTPStatus, detail: str) -> web.Response:
    return web.json_response({"status": int(status), "detail": detail}, status=status)
