"""Find the route of a request by its path segments, instead of trying one regular expression after the other."""

from collections.abc import Iterable
from typing import Final

from tidings.api.auth import AuthenticatedRoute
from tidings.api.route_executor import is_plain_path


class _Node:
    """One position in paths: the nodes after each fixed segment, and the node after any other segment."""

    __slots__ = ("after_any", "after_fixed", "routes")

    def __init__(self) -> None:
        self.after_fixed: dict[str, _Node] = {}
        self.after_any: _Node | None = None
        self.routes: dict[str, tuple[AuthenticatedRoute, tuple[str, ...]]] = {}


class KnownRoutes:
    """Routes that are executed without the framework. Everything that is not found here is left to the framework.

    A fixed segment precedes a parameter. A test compares the results with those of the framework.
    """

    def __init__(self, routes: Iterable[AuthenticatedRoute] = ()) -> None:
        self._root: Final = _Node()
        for route in routes:
            if route.handler is not None and is_plain_path(route.path):
                self._add(route)

    def _add(self, route: AuthenticatedRoute) -> None:
        node, names = self._root, list[str]()
        for segment in route.path.split("/"):
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.after_any = node = node.after_any or _Node()
            else:
                node = node.after_fixed.setdefault(segment, _Node())
        for method in route.methods or ():
            node.routes.setdefault(method, (route, tuple(names)))

    def find(self, method: str, path: str) -> tuple[AuthenticatedRoute, dict[str, str]] | None:
        """Return the route and the parameters of its path."""
        node, values = self._root, list[str]()
        for segment in path.split("/"):
            following = node.after_fixed.get(segment)
            if following is None:
                following = node.after_any
                if following is None or not segment:
                    return None
                values.append(segment)
            node = following
        found = node.routes.get(method)
        if found is None:
            return None
        route, names = found
        return route, dict(zip(names, values, strict=True))
