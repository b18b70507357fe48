"""Which requests a fault applies to."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from faults.proxy.dynamo_request import Body, Request

type Predicate = Callable[[Body], bool]


@dataclass(frozen=True, slots=True)
class Match:
    """A condition on requests. All given parts must hold; one matching table of a request is enough.

    `where` receives the decoded body and runs in the proxy's thread.
    """

    operations: AbstractSet[str] | None = None
    tables: AbstractSet[str] | None = None
    where: Predicate | None = None

    def __post_init__(self) -> None:
        for name in ("operations", "tables"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is a set of names, not one string: {getattr(self, name)!r}")

    def holds(self, request: Request) -> bool:
        if self.operations is not None and request.operation not in self.operations:
            return False
        if self.tables is not None and self.tables.isdisjoint(request.tables):
            return False
        return self.where is None or self.where(request.body)


EVERYTHING = Match()
