"""A page for every error code, at the address that problems give as their `type`.

The texts are those of `docs/reference/errors.md`; the package carries a copy of it.
"""

import re
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from tidings.kernel.errors import Code

COPY = "server/src/tidings/api/errors.txt"
SOURCE = "docs/reference/errors.md"
_HEADERS = {
    "cache-control": "public, max-age=3600",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
}
_STYLE = (
    "body{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c}"
    "code{background:#f1f1f1;padding:.1em .3em;border-radius:3px;overflow-wrap:anywhere}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#e6e6e6}code{background:#2a2a2a}a{color:#8ab4ff}}"
)


def explain_error_code(code: Code) -> str:
    """Return the section of `code`, in Markdown."""
    return _sections()[code]


@cache
def _sections() -> Mapping[str, str]:
    text = (files("tidings.api") / "errors.txt").read_text()
    parts = re.split(r"^## (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))


def add_error_pages(app: FastAPI) -> None:
    @app.get("/errors", include_in_schema=False)
    async def errors() -> Response:
        items = "".join(f'<li><a href="/errors/{code}"><code>{code}</code></a></li>' for code in Code)
        return _page("Error codes", f"<ul>{items}</ul>")

    @app.get("/errors/{code}", include_in_schema=False)
    async def error(code: str) -> Response:
        if code not in _sections():
            raise HTTPException(404)
        paragraphs = _sections()[code].split("\n\n")
        body = "".join(f"<p>{_inline(each)}</p>" for each in paragraphs)
        return _page(code, f'{body}<p><a href="/errors">All error codes</a></p>')


def _page(title: str, body: str) -> Response:
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    html = f'<!doctype html><html lang="en"><head>{head}<title>{title} - Tidings</title><style>{_STYLE}</style></head>'
    return HTMLResponse(f"{html}<body><h1>{title}</h1>{body}</body></html>", headers=_HEADERS)


def _inline(text: str) -> str:
    """Code spans, and links without their targets, which lead into the documentation's own files."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", plain)
