"""A call and its outcome as data, so that our client and boto3 can make the same call."""

from dataclasses import dataclass, field
from typing import Any

from tidings.platform.dynamo.codec import Attributes
from tidings.platform.dynamo.operations import AccessPattern


@dataclass(frozen=True)
class Call:
    """`options` are the keyword arguments of our client's method."""

    pattern: AccessPattern
    what: Any
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.pattern.operation} {self.what} {self.options}"


@dataclass(frozen=True)
class Update:
    """UpdateItem takes two things."""

    key: Attributes
    expression: str


@dataclass(frozen=True)
class Outcome:
    """The result or error of a call, in the same format for both clients."""

    value: Any = None
    code: str = ""
    message: str = ""
    item: Any = None
    reasons: tuple[tuple[str, str, Any], ...] = ()
