"""The explorer at /docs: Swagger UI out of a wheel, so that it works where there is no internet."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

_ASSETS = "/docs/assets"


def add_swagger_ui(app: FastAPI) -> None:
    """Serve the explorer, and send those who open `/` in a browser there."""
    app.mount(_ASSETS, StaticFiles(directory=str(files("fastapi_offline") / "static")), name="explorer")

    @app.get("/docs", include_in_schema=False)
    async def explorer() -> HTMLResponse:
        page = get_swagger_ui_html(
            openapi_url="/openapi.json",
            title=app.title,
            swagger_js_url=f"{_ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{_ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{_ASSETS}/favicon.png",
            swagger_ui_parameters={"persistAuthorization": True},
        )
        page.headers["content-security-policy"] = _policy(bytes(page.body).decode())
        return page

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse("/docs")


def close_swagger_ui(app: FastAPI) -> None:
    """Take the description away too."""
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") != app.openapi_url
    ]


def _policy(page: str) -> str:
    """Only the page's own scripts run: those in it by their hashes, and the assets."""
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts]
    parts = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", *hashes]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())
