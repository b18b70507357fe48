"""Holds a call against the access pattern it was given, once for each pattern, and keeps what follows from it.

So a caller cannot forget ConsistentRead, write with a pattern that reads, or touch a table it did not declare.
"""

from dataclasses import dataclass

from tidings.platform.dynamo.access import AccessPattern, Consistency, Operation
from tidings.platform.dynamo.ledger import CapacityLedger, PatternCounters

_READS = {Operation.GET_ITEM, Operation.QUERY, Operation.BATCH_GET_ITEM, Operation.TRANSACT_GET_ITEMS}
_TRANSACTIONS = {Operation.TRANSACT_GET_ITEMS, Operation.TRANSACT_WRITE_ITEMS}


class PatternError(TypeError):
    """A call that its access pattern does not allow: a mistake in the program."""


@dataclass(frozen=True, slots=True)
class CheckedPattern:
    """`table` is the physical name of the pattern's table; `tables` leads from logical to physical names."""

    pattern: AccessPattern
    table: str
    tables: dict[str, str]
    is_strong: bool
    row: PatternCounters

    def table_of(self, logical: str) -> str:
        physical = self.tables.get(logical)
        if physical is None:
            raise PatternError(
                f"{self.pattern.name} is for {', '.join(self.pattern.tables)}, not for {logical}"
            )
        return physical


class PatternChecker:
    def __init__(self, prefix: str, ledger: CapacityLedger) -> None:
        self._prefix = prefix
        self._ledger = ledger
        self._known: dict[str, CheckedPattern] = {}

    def of(self, pattern: AccessPattern, operation: Operation) -> CheckedPattern:
        plan = self._known.get(pattern.name)
        if plan is None or plan.pattern is not pattern:
            plan = self._learn(pattern)
        if pattern.operation is not operation:
            raise PatternError(f"{pattern.name} is for {pattern.operation}, not for {operation}")
        return plan

    def _learn(self, pattern: AccessPattern) -> CheckedPattern:
        known = self._known.get(pattern.name)
        if known is not None and known.pattern != pattern:
            raise PatternError(f"there are two access patterns named {pattern.name}")
        fault = _fault(pattern)
        if fault:
            raise PatternError(f"{pattern.name}: {fault}")
        tables = {logical: self._prefix + logical for logical in pattern.tables}
        plan = CheckedPattern(
            pattern=pattern,
            table=tables[pattern.tables[0]],
            tables=tables,
            is_strong=pattern.consistency is Consistency.STRONG,
            row=self._ledger.open(pattern.name, pattern.operation),
        )
        self._known[pattern.name] = plan
        return plan


def _fault(pattern: AccessPattern) -> str | None:
    operation = pattern.operation
    if not pattern.tables or (len(pattern.tables) > 1 and operation not in _TRANSACTIONS):
        return f"{operation} is for one table"
    if (operation in _READS) == (pattern.consistency is Consistency.WRITE):
        return f"{operation} is not {pattern.consistency}"
    if operation is Operation.TRANSACT_GET_ITEMS and pattern.consistency is not Consistency.STRONG:
        return f"{operation} is always strong"
    if pattern.index and operation is not Operation.QUERY:
        return "only a Query reads an index"
    if pattern.index and pattern.consistency is Consistency.STRONG:
        return "an index has no strong reads"
    return None
