"""Let web pages of the allowed origins call the API (CORS).

Credentials are bearer tokens, which a page sends by itself: no cookies, so `Access-Control-Allow-Credentials` is
never sent.
"""

from typing import override

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from tidings.kernel.origins import AllowedOrigins

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SENT = ("Authorization", "Content-Type", "Idempotency-Key", "If-None-Match", "Request-Id", "Tidings-User")
_READ = ("ETag", "Location", "RateLimit", "RateLimit-Policy", "Request-Id", "Retry-After")
_MAX_AGE_S = 600


class CorsMiddleware(CORSMiddleware):
    def __init__(self, app: ASGIApp, origins: AllowedOrigins) -> None:
        super().__init__(
            app, allow_methods=_METHODS, allow_headers=_SENT, expose_headers=_READ, max_age=_MAX_AGE_S
        )
        self._origins = origins

    @override
    def is_allowed_origin(self, origin: str) -> bool:
        return self._origins.allow(origin)
