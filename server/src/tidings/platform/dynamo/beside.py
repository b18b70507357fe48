"""Writes that one store makes ready for another's transaction, so that subjects need not know each other's items."""

from dataclasses import dataclass

from tidings.platform.dynamo.access import AccessPattern
from tidings.platform.dynamo.transactions import TransactAction


@dataclass(frozen=True, slots=True)
class TransactionPart:
    """`pattern` names the whole transaction, the entry and its idempotency row included."""

    pattern: AccessPattern
    actions: tuple[TransactAction, ...]
