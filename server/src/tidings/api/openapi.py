"""The OpenAPI document, the API explorer at `/docs`, and the pages of error codes."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from tidings.accounts.model import Scope
from tidings.api import problems
from tidings.api.audit import APPEND, AUDITED, MODERATION
from tidings.api.middleware import FEATURE_LEVEL, REQUEST_ID
from tidings.api.schemas.api_model import ApiModel, Problem
from tidings.kernel.errors import Code

OF_ANY = (
    Code.REQUEST_INVALID,
    Code.RATE_LIMITED,
    Code.OVERLOADED,
    Code.INTERNAL,
)
OF_GUARDED = (*OF_ANY, Code.CREDENTIAL_INVALID, Code.CREDENTIAL_EXPIRED, Code.FORBIDDEN)
EVENTS = ("tenants.list_hooks", "webhooks.queue_items", "webhooks.note_backlog")
"""Access patterns of an operation that queues an event, for tenants with an endpoint that chose its type."""
OF_BODIES = (Code.REQUEST_TOO_LARGE,)
OF_CHANGES = (
    Code.OUTCOME_UNKNOWN,
    Code.WRITE_CONFLICT,
    Code.IDEMPOTENCY_CONFLICT,
    Code.NOT_A_MEMBER,
    Code.CHAT_NOT_FOUND,
)
OF_APPENDS = ("messages.read_head", "messages.follow", "memberships.check", "idempotency.refuse")
"""Access patterns of an operation that appends an entry to the log of a chat."""
OF_CONTENT_KEYS = (
    "tenants.list_data_keys",
    "tenants.put_data_key",
    "user_keys.read",
    "user_keys.confirm",
    "user_keys.put",
)
"""Access patterns of an operation that reads or writes encrypted content of users."""
PATTERNS = "x-access-patterns"


def route_options(
    name: str,
    *refusals: Code,
    touches: Iterable[str],
    repeat: type[ApiModel] | None = None,
    accepted: type[ApiModel] | None = None,
    is_open: bool = False,
    **more: object,
) -> dict[str, Any]:
    """Return arguments for a router's decorator.

    name: the operation id.
    refusals: error codes of the route, in addition to those of every route.
    touches: names of access patterns, as in the reference.
    repeat: the model of the answer to a retry, which has status 200 where the first answer has 201.
    accepted: the model of the answer with status 202, where a job finishes the request.
    """
    codes = (*(OF_ANY if is_open else OF_GUARDED), *refusals)
    return {
        "operation_id": name,
        "responses": _responses(codes) | _repeat(repeat) | _accepted(accepted),
        "response_description": "Success.",
        "openapi_extra": {PATTERNS: sorted({*touches, *((APPEND,) if name in AUDITED | MODERATION else ())})},
        "response_model_exclude_none": True,
        **more,
    }


def _repeat(model: type[ApiModel] | None) -> dict[int | str, dict[str, Any]]:
    return {} if model is None else {200: {"model": model, "description": "A retry: the first answer again."}}


def _accepted(model: type[ApiModel] | None) -> dict[int | str, dict[str, Any]]:
    return {} if model is None else {202: {"model": model, "description": "A job finishes the request."}}


def _responses(codes: Iterable[Code]) -> dict[int | str, dict[str, Any]]:
    ordered = sorted(set(codes), key=lambda code: (problems.STATUS[code], code))
    return {
        status: _response(list(group))
        for status, group in groupby(ordered, key=lambda code: problems.STATUS[code])
    }


def _response(codes: list[Code]) -> dict[str, Any]:
    examples = {code.value: {"$ref": f"#/components/examples/{code}"} for code in codes}
    return {
        "model": Problem,
        "description": ", ".join(f"`{code}`" for code in codes),
        "content": {problems.MEDIA_TYPE: {"examples": examples}},
    }


def examples() -> dict[str, Any]:
    """Return an example of each error code. Routes refer to them."""
    return {code.value: {"summary": problems.problem_title(code), "value": _example(code)} for code in Code}


def _example(code: Code) -> dict[str, object]:
    return {
        "type": f"/errors/{code}",
        "title": problems.problem_title(code),
        "status": problems.STATUS[code],
        "detail": "A description of the error.",
        "code": code.value,
        "retryable": problems.is_retryable(code),
        "request_id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    }


TITLE = "Tidings"
VERSION = "1"
ABOUT = """Self-hosted chat and in-app notifications.

Authenticate with `Authorization: Bearer TOKEN`. The tenant comes from the credential. Errors are
[problem details](https://www.rfc-editor.org/rfc/rfc9457) with a stable `code`. Retries with the same
`client_message_id` or `Idempotency-Key` do not create duplicates.
"""
_METHODS = {"get", "put", "post", "delete", "patch"}
_REQUEST_ID = {
    "description": "The `Request-Id` of the request if it has at most 64 letters, digits, `.`, `_` and `-`; otherwise a "
    "generated id.",
    "schema": {"type": "string"},
}
_NEEDS_SCOPE = f"Requires an API key with the scope `{Scope.NOTIFICATIONS}`."
_TAGS = {
    "chats": "Direct chats and groups, and blocked users.",
    "chat list": "A user's chats with previews and unread counts; watermarks.",
    "members": "Members of a group and their roles.",
    "chat moderation": "Rules of a group, mutes, bans, join links and invites.",
    "messages": "Send, read, edit, redact and search messages; reactions; delivery status.",
    "attachments": "Upload files, and download those of messages.",
    "inbox": "A user's notifications: list, count, mark as read, archive.",
    "inboxes": f"Configure inboxes; send, change and recall notifications. {_NEEDS_SCOPE}",
    "preferences": "The channels that a user's notifications take: inbox, push, e-mail, webhook.",
    "email": f"Templates and results of notifications by e-mail, and bounces. {_NEEDS_SCOPE}",
    "jobs": f"Progress of long-running work: list, pause, resume, cancel. {_NEEDS_SCOPE}",
    "broadcasts": f"Send notifications to everyone or to a segment, with gradual rollout. {_NEEDS_SCOPE}",
    "segments": f"Define segments of users, and the profiles that they select by. {_NEEDS_SCOPE}",
    "webhooks": f"Endpoints that receive events: manage, test, delivery log, retry, replay. {_NEEDS_SCOPE}".replace(
        Scope.NOTIFICATIONS, Scope.WEBHOOKS
    ),
    "reviews": "Report messages and users; the review queue of the tenant's moderators, which requires an API key with the "
    f"scope `{Scope.MODERATION}`.",
    "content rules": "Words and links that messages must not contain. "
    f"Requires an API key with the scope `{Scope.MODERATION}`.",
    "legacy inbox": "The original inbox API. New applications use `inbox`, `inboxes` and `broadcasts`.",
    "login": "Log in by phone and refresh tokens. No credential is needed.",
    "sessions": "A user's logged-in devices.",
    "push": "Push notifications: registered devices, preferences, and what happened to a notification.",
    "users": "Profiles, presence and search; user management for the tenant's server.",
}


def describe_api(app: FastAPI) -> None:
    """Replace the framework's document with one that describes errors and tags. It is built once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # its documented way to change the document


def _document(app: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": about} for name, about in _TAGS.items()]
    found = get_openapi(title=TITLE, version=VERSION, description=ABOUT, routes=app.routes, tags=tags)
    found["info"]["x-feature-level"] = FEATURE_LEVEL
    for operation in api_operations(found):
        _adjust(operation)
    found["components"]["headers"] = {"RequestId": _REQUEST_ID}
    used = {code for operation in api_operations(found) for code in error_codes(operation)}
    found["components"]["examples"] = {code: example for code, example in examples().items() if code in used}
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return found


def api_operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from (operation for method, operation in path.items() if method in _METHODS)


def error_codes(operation: dict[str, Any]) -> set[str]:
    """Return the error codes that an operation declares."""
    contents = (response.get("content", {}) for response in operation["responses"].values())
    return {code for content in contents for code in content.get(problems.MEDIA_TYPE, {}).get("examples", ())}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove `null` from a parameter's type: parameters are omitted instead."""
    forms = [form for form in schema.get("anyOf", ()) if form != {"type": "null"}]
    if len(forms) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **forms[0]}


def _adjust(operation: dict[str, Any]) -> None:
    """Remove the framework's validation error, which is never sent, and set the media type of problems."""
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = _without_null(parameter["schema"])
    responses = operation["responses"]
    for status, response in list(responses.items()):
        content = response.get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        if schema.get("$ref", "").endswith("/HTTPValidationError"):
            del responses[status]
        elif problems.MEDIA_TYPE in content:
            content[problems.MEDIA_TYPE]["schema"] = schema
            del content["application/json"]
        response["headers"] = {REQUEST_ID: {"$ref": "#/components/headers/RequestId"}}


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
    """Render code spans, and links as plain text: their targets are files of the documentation."""
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", plain)


_ASSETS = "/docs/assets"


def add_swagger_ui(app: FastAPI) -> None:
    """Serve the API explorer at `/docs`, and redirect `/` to it."""
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
    """Remove the OpenAPI document as well."""
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") != app.openapi_url
    ]


def _policy(page: str) -> str:
    """Return a content security policy that allows only the page's inline scripts, by hash, and its assets."""
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
