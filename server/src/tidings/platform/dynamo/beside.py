"""Writes that one store makes ready for another's transaction, so that subjects need not know each other's items."""

from dataclasses import dataclass

from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.transactions import Action


@dataclass(frozen=True, slots=True)
class Beside:
    """`pattern` names the whole transaction, `keyed_pattern` the same with an idempotency row in it."""

    pattern: AccessPattern
    actions: tuple[Action, ...]
    keyed_pattern: AccessPattern | None = None
