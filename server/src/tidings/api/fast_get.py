"""A fast path for GET routes: a credential, path parameters and one query model.

Nine of ten requests are of this kind. FastAPI's generic handling of parameters costs as much as the routes themselves.
The declaration of a route, and so the OpenAPI document, is the same; other routes use FastAPI's handling.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, cast, get_args, get_origin

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from tidings.api.problems import to_validation_error

type Handler = Callable[[Request], Coroutine[Any, Any, Response]]
type ErrorDict = dict[str, Any]


class _RouteParameters(NamedTuple):
    """A parameter: its name in the function, its name in the request, and its type."""

    name: str
    alias: str
    adapter: TypeAdapter[Any]


class _FastHandler(NamedTuple):
    route: APIRoute
    authenticate: Callable[[Request], Awaitable[object]]
    caller: str
    path: tuple[_RouteParameters, ...]
    query: _RouteParameters | None
    response: TypeAdapter[Any] | None

    async def handle(self, request: Request) -> Response:
        values, faults = {self.caller: await self.authenticate(request)}, list[ErrorDict]()
        given = request.path_params
        for each in self.path:
            values[each.name] = _checked(each, given[each.alias], ("path", each.alias), faults)
        if self.query is not None:
            values[self.query.name] = _checked(self.query, dict(request.query_params), ("query",), faults)
        if faults:
            raise to_validation_error(faults)
        return self._answer(await self.route.endpoint(**values))

    def _answer(self, found: object) -> Response:
        if isinstance(found, Response):
            return found
        if self.response is None:
            raise TypeError(f"{self.route.path} declares no response model")
        body = self.response.dump_json(found, exclude_none=self.route.response_model_exclude_none)
        return Response(body, media_type="application/json")


def make_fast_handler(route: APIRoute) -> Handler | None:
    """Return a handler, or `None` if the route has other parameters."""
    needs = route.dependant
    others = (needs.header_params, needs.cookie_params, needs.body_params)
    if route.methods != {"GET"} or any(others) or needs.response_param_name or needs.request_param_name:
        return None
    models = [each for each in needs.query_params if _is_flat(each.field_info.annotation)]
    if len(needs.dependencies) != 1 or len(models) != len(needs.query_params) or len(models) > 1:
        return None
    (credential,) = needs.dependencies
    taken = [_RouteParameters(each.name, each.alias, _adapter(each)) for each in needs.path_params]
    asked = [_RouteParameters(each.name, each.alias, _adapter(each)) for each in models]
    return _FastHandler(
        route=route,
        authenticate=cast("Callable[[Request], Awaitable[object]]", credential.call),
        caller=cast("str", credential.name),
        path=tuple(taken),
        query=asked[0] if asked else None,
        response=_adapter(route.response_field) if route.response_field else None,
    ).handle


def as_asgi(handle: Handler) -> ASGIApp:
    """Wrap a handler without FastAPI's exit stacks, which are not needed. Its error handlers still apply."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        response = await handle(Request(scope, receive, send))
        await response(scope, receive, send)

    return serve


def _is_flat(kind: object) -> bool:
    """Return whether each field of a model is a single value. Of a repeated parameter, the last one counts."""
    if not isinstance(kind, type) or not issubclass(kind, BaseModel):
        return False
    return not any(_holds_many(each.annotation) for each in kind.model_fields.values())


def _holds_many(kind: object) -> bool:
    return get_origin(kind) in {list, tuple, set, frozenset} or any(map(_holds_many, get_args(kind)))


def _adapter(field: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - the type of fields is private
    adapter: TypeAdapter[Any] = field._type_adapter  # noqa: SLF001 - validates as FastAPI does
    return adapter


def _checked(
    taken: _RouteParameters, value: object, place: tuple[str, ...], faults: list[ErrorDict]
) -> object:
    try:
        return taken.adapter.validate_python(value)
    except ValidationError as error:
        found = cast("list[ErrorDict]", error.errors(include_url=False))
        faults += [{**fault, "loc": (*place, *fault["loc"])} for fault in found]
        return None
