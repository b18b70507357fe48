"""Execute routes without FastAPI's generic handling of parameters, which costs as much as the routes themselves.

FastAPI declares the routes: the parameters, their validation and the OpenAPI document are its own. This module reads the
values of a request, validates them with the declared fields, and calls the endpoint. A test compares the answers with
those of FastAPI.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message as MimeHeaders
from typing import Any, Final, Protocol, cast, get_args, get_origin

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from starlette.types import ASGIApp, Receive, Scope, Send

from tidings.api.problems import to_validation_error

type Handler = Callable[[Request], Coroutine[Any, Any, Response]]
type ErrorDict = dict[str, Any]


class DeclaredField(Protocol):
    """The used part of FastAPI's `ModelField`, which is not exported."""

    name: str

    @property
    def alias(self) -> str: ...
    @property
    def field_info(self) -> FieldInfo: ...

    def get_default(self) -> Any: ...  # noqa: ANN401 - of any type
    def validate(self, value: object, *, loc: tuple[str, ...]) -> tuple[Any, list[ErrorDict]]: ...


NO_BODY: Final = object()
_JSON = "application/json"
_NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A declared parameter: its name in the function, its place in the request, and its field."""

    name: str
    alias: str
    place: tuple[str, ...]
    field: DeclaredField

    def read(self, value: object, faults: list[ErrorDict]) -> object:
        """Return the validated value. `None`: the parameter was not sent."""
        if value is None:
            return self._default(faults)
        return self.check(value, faults)

    def check(self, value: object, faults: list[ErrorDict]) -> object:
        found, errors = self.field.validate(value, loc=self.place)
        if errors:
            faults += errors
        return found

    def _default(self, faults: list[ErrorDict]) -> object:
        if self.field.field_info.is_required():
            faults.append({"type": "missing", "loc": self.place, "msg": "Field required"})
        return self.field.get_default()


@dataclass(frozen=True, slots=True)
class RouteExecutor:
    """A route with one credential, and any number of single values in path, query, headers and body."""

    route: APIRoute
    authorize: Callable[[Request], Awaitable[object]]
    caller: str
    path: tuple[_Parameter, ...]
    query_model: _Parameter | None
    query: tuple[_Parameter, ...]
    headers: tuple[_Parameter, ...]
    body: _Parameter | None
    status: int

    async def execute(self, request: Request, body: object = NO_BODY) -> Response:
        """Answer a request. `body` is the value of its JSON. Raise `request_invalid` with all faults together."""
        values: dict[str, Any] = {self.caller: await self.authorize(request)}
        self._read_parameters(request, body, values)
        changes = self._add_response(values)
        found = await self.route.endpoint(**values)
        if isinstance(found, Response):
            return found
        response = Response(self._encode(found), self.status, media_type=_JSON)
        if changes is not None:
            response.status_code = changes.status_code or self.status
            response.raw_headers.extend(changes.raw_headers)
        return response

    def _read_parameters(self, request: Request, body: object, values: dict[str, Any]) -> None:
        """Validate in FastAPI's order, because the first fault is the message of the error."""
        faults: list[ErrorDict] = []
        given = request.path_params
        for each in self.path:
            values[each.name] = each.check(given[each.alias], faults)
        if self.query_model is not None:
            values[self.query_model.name] = self.query_model.check(dict(request.query_params), faults)
        for each in self.query:
            values[each.name] = each.read(request.query_params.get(each.alias), faults)
        for each in self.headers:
            values[each.name] = each.read(request.headers.get(each.alias), faults)
        if self.body is not None:
            values[self.body.name] = (
                self.body.read(None, faults) if body is NO_BODY else self.body.check(body, faults)
            )
        if faults:
            raise to_validation_error(faults)

    def _add_response(self, values: dict[str, Any]) -> Response | None:
        """Pass the object on which an endpoint sets a status or headers, if it takes one."""
        name = self.route.dependant.response_param_name
        if name is None:
            return None
        changes = values[name] = Response()
        del changes.headers["content-length"]
        changes.status_code = 0
        return changes

    def _encode(self, found: object) -> bytes:
        field = self.route.response_field
        if field is not None:
            return field.serialize_json(found, exclude_none=self.route.response_model_exclude_none)
        if self.status != _NO_CONTENT:
            raise TypeError(f"{self.route.path} declares no response model")
        return b""


def make_executor(route: APIRoute) -> RouteExecutor | None:
    """Return an executor, or `None` for a route whose parameters only FastAPI can read."""
    needs = route.dependant
    if needs.cookie_params or needs.request_param_name or len(needs.dependencies) != 1:
        return None
    models = [each for each in needs.query_params if _is_model(each.field_info.annotation)]
    single = [each for each in needs.query_params if each not in models]
    if len(models) > 1 or (models and single) or not all(map(_is_flat, needs.query_params)):
        return None
    if len(needs.body_params) > 1 or not all(map(_is_flat, needs.header_params)):
        return None
    (credential,) = needs.dependencies
    return RouteExecutor(
        route=route,
        authorize=cast("Callable[[Request], Awaitable[object]]", credential.call),
        caller=cast("str", credential.name),
        path=_parameters("path", needs.path_params),
        query_model=_Parameter(models[0].name, "", ("query",), models[0]) if models else None,
        query=_parameters("query", single),
        headers=_parameters("header", needs.header_params),
        body=next((_Parameter(each.name, "", ("body",), each) for each in needs.body_params), None),
        status=route.status_code or 200,
    )


def as_asgi(handle: Handler) -> ASGIApp:
    """Wrap a handler without FastAPI's exit stacks, which are not needed. Its error handlers still apply."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        response = await handle(Request(scope, receive, send))
        await response(scope, receive, send)

    return serve


def is_json(content_type: str) -> bool:
    """Return whether FastAPI passes a body of this type on as JSON. It passes other bodies on as bytes."""
    if content_type == _JSON:
        return True
    headers = MimeHeaders()
    headers["content-type"] = content_type
    kind = headers.get_content_subtype()
    return headers.get_content_maintype() == "application" and (kind == "json" or kind.endswith("+json"))


def is_plain_path(template: str) -> bool:
    """Return whether each parameter of a path is one whole segment of any text."""
    return all(
        segment.count("{") == 0 or (segment[0] == "{" and segment[-1] == "}" and ":" not in segment)
        for segment in template.split("/")
    )


def _parameters(place: str, fields: Sequence[DeclaredField]) -> tuple[_Parameter, ...]:
    return tuple(_Parameter(each.name, each.alias, (place, each.alias), each) for each in fields)


def _is_model(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_flat(field: DeclaredField) -> bool:
    """Return whether a parameter is a single value, or a model of such. Of a repeated one, the last counts."""
    kind = field.field_info.annotation
    if _is_model(kind):
        return not any(_holds_many(each.annotation) for each in _fields(kind).values())
    return not _holds_many(kind)


def _fields(kind: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a class of pydantic
    fields: Mapping[str, Any] = kind.model_fields
    return fields


def _holds_many(kind: object) -> bool:
    return get_origin(kind) in {list, tuple, set, frozenset} or any(map(_holds_many, get_args(kind)))
