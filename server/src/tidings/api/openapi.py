"""The description of the whole: what clients are generated from, and what `/openapi.json` serves."""

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tidings.api import problems
from tidings.api.documented import examples
from tidings.api.envelope import REQUEST_ID

TITLE = "Tidings"
VERSION = "1"
ABOUT = """Durable chat and a notification inbox for every user, run by yourself.

Errors are [problems](https://www.rfc-editor.org/rfc/rfc9457) with a stable `code`. The tenant comes from the
credential alone. A repeat with the same `client_message_id` or `Idempotency-Key` is never a second message.
"""
_METHODS = {"get", "put", "post", "delete", "patch"}
_REQUEST_ID = {
    "description": "The caller's own, if it sent one of at most 64 letters, digits, dots and dashes; else a new one.",
    "schema": {"type": "string"},
}
_TAGS = {
    "chats": "Direct chats and groups.",
    "chat list": "One's chats with previews and what is unread; how far one got.",
    "members": "Who is in a group, and as what.",
    "messages": "Send, read, edit, redact, react.",
    "inbox": "One's notices: lists, counts, read and unread, the archive.",
    "inboxes": "What a tenant's server does: set up inboxes, send, change and recall notices.",
    "jobs": "Long work of a tenant's server: how far it is; pause, resume, cancel.",
    "broadcasts": "What a tenant's server does: send to everyone or to a segment, step by step; ask beforehand.",
    "segments": "Who is in a segment: predicates, lists, and what is known of users.",
    "stack": "The first inbox API, as its document writes it; beside the resources above.",
    "login": "Coming in by phone, and staying in.",
    "sessions": "Where a user is logged in.",
    "users": "Profiles, and what a tenant's server does with its users.",
}


def describe_api(app: FastAPI) -> None:
    """The framework asks this method for the document; it is made once."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # its documented way to change the document


def _document(app: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": about} for name, about in _TAGS.items()]
    found = get_openapi(title=TITLE, version=VERSION, description=ABOUT, routes=app.routes, tags=tags)
    for operation in api_operations(found):
        _mend(operation)
    found["components"]["headers"] = {"RequestId": _REQUEST_ID}
    told = {code for operation in api_operations(found) for code in error_codes(operation)}
    found["components"]["examples"] = {code: example for code, example in examples().items() if code in told}
    schemas = found["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    return found


def api_operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in document["paths"].values():
        yield from (operation for method, operation in path.items() if method in _METHODS)


def error_codes(operation: dict[str, Any]) -> set[str]:
    """The error codes that an operation says it can answer with."""
    contents = (response.get("content", {}) for response in operation["responses"].values())
    return {code for content in contents for code in content.get(problems.MEDIA_TYPE, {}).get("examples", ())}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter can be left out; there is no way to send null in one."""
    forms = [form for form in schema.get("anyOf", ()) if form != {"type": "null"}]
    if len(forms) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **forms[0]}


def _mend(operation: dict[str, Any]) -> None:
    """The framework documents its own form of a refusal, which never leaves; ours has its own media type."""
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
