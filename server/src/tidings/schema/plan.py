"""Plans for tables and topics: what differs from the declaration, what is refused, and how a plan is shown. Pure.

`tables.diff` and `topics.diff` find the differences; `reconcile` applies a plan.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tidings.kernel.errors import Code, TidingsError


class ChangeKind(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    UNKNOWN = "unknown extra"


class Severity(StrEnum):
    GOOD = "good"
    CHANGE = "change"
    BAD = "bad"
    QUIET = "quiet"
    PLAIN = "plain"


_SEVERITIES = {
    ChangeKind.CREATE: Severity.GOOD,
    ChangeKind.CHANGE: Severity.CHANGE,
    ChangeKind.UNCHANGED: Severity.QUIET,
    ChangeKind.REFUSED: Severity.BAD,
    ChangeKind.UNKNOWN: Severity.QUIET,
}


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of a plan on the terminal."""

    text: str
    tone: Severity = Severity.PLAIN


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """Words and error codes for tables or topics. `refused_detail` is the field of the error's details."""

    plural: str
    failed: Code
    drift: Code
    destructive: Code
    refused_detail: str
    refused_hint: str
    failed_hint: str


@dataclass(frozen=True, slots=True)
class Change[A: StrEnum]:
    """One difference. `refused` says what would be lost or reordered; such a change is never made.

    `index` is the index of a table that changes, `setting` Kafka's name and value of a topic's setting.
    """

    aspect: A
    before: str
    after: str
    index: str = ""
    note: str = ""
    refused: str = ""
    setting: tuple[str, str] | None = None

    @property
    def subject(self) -> str:
        return f"{self.aspect} {self.index}" if self.index else f"{self.aspect}"


@dataclass(frozen=True, slots=True)
class ResourcePlan[D, S, A: StrEnum]:
    """One table or topic. `declared` is None for a resource that exists and is not declared."""

    name: str
    verdict: ChangeKind
    changes: tuple[Change[A], ...] = ()
    declared: D | None = None
    seen: S | None = None


@dataclass(frozen=True, slots=True)
class SchemaPlan[D, S, A: StrEnum]:
    """All tables or topics. The engine does not support the aspects in `not_known`, so they are not compared."""

    kind: ResourceKind
    entries: tuple[ResourcePlan[D, S, A], ...]
    not_known: frozenset[A] = frozenset()

    @property
    def drift(self) -> tuple[str, ...]:
        return tuple(line for entry in self.entries for line in _drift(entry))

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(
            f"{entry.name}: {change.refused}"
            for entry in self.entries
            for change in entry.changes
            if change.refused
        )

    @property
    def todo(self) -> int:
        return len([*self.having(ChangeKind.CREATE), *self.having(ChangeKind.CHANGE)])

    def having(self, verdict: ChangeKind) -> Iterator[tuple[str, D]]:
        """Yield the names and declarations of the resources with this verdict."""
        for entry in self.entries:
            if entry.verdict is verdict and entry.declared is not None:
                yield entry.name, entry.declared

    def check(self) -> None:
        """Raise an error with every difference from the declaration."""
        if self.drift:
            raise TidingsError(
                self.kind.drift,
                "\n".join(
                    [f"The {self.kind.plural} are not as declared:", *(f"  - {line}" for line in self.drift)]
                ),
                hint=f"Run `tidings {self.kind.plural} plan` to see what `tidings {self.kind.plural} apply` "
                "would change.",
                details={"drift": list(self.drift)},
            )

    def check_nothing_is_lost(self) -> None:
        """Raise an error if a change would destroy or reorder data."""
        if self.refused:
            raise TidingsError(
                self.kind.destructive,
                "\n".join(["Refused, because data would be lost or reordered:", *_bullets(self.refused)]),
                hint=f"Run `tidings {self.kind.plural} plan` to see the differences. {self.kind.refused_hint}",
                details={self.kind.refused_detail: list(self.refused)},
            )

    def lines(
        self,
        shape: Callable[[ResourcePlan[D, S, A]], str],
        contents: Callable[[D], str],
        totals: Iterable[PlanLine],
    ) -> Iterator[PlanLine]:
        """Show the plan: a line for each resource with its `shape`, its changes, then `totals` and refusals."""
        width = max((len(entry.name) for entry in self.entries), default=0)
        for entry in self.entries:
            text = f"{entry.name:<{width}}  {entry.verdict:<13}  {_declared_shape(entry, shape)}"
            yield PlanLine(text.rstrip(), _SEVERITIES[entry.verdict])
            if entry.verdict is ChangeKind.CREATE and entry.declared is not None:
                yield PlanLine(f"    {contents(entry.declared)}", Severity.QUIET)
            yield from (_change_line(change) for change in entry.changes)
        yield PlanLine("")
        counts = Counter(entry.verdict for entry in self.entries)
        yield PlanLine(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
        yield from totals
        if self.refused:
            yield PlanLine("Refused, because data would be lost or reordered:", Severity.BAD)
            yield from (PlanLine(f"  {line}", Severity.BAD) for line in self.refused)


def plan_resource[D, S, A: StrEnum](
    name: str, declared: D, seen: S | None, changes: Iterable[Change[A]]
) -> ResourcePlan[D, S, A]:
    if seen is None:
        return ResourcePlan(name, ChangeKind.CREATE, declared=declared)
    found = tuple(changes)
    verdict = ChangeKind.CHANGE if found else ChangeKind.UNCHANGED
    if any(change.refused for change in found):
        verdict = ChangeKind.REFUSED
    return ResourcePlan(name, verdict, found, declared, seen)


def plan_all[D, S, A: StrEnum](
    kind: ResourceKind,
    declared: Iterable[ResourcePlan[D, S, A]],
    seen: Mapping[str, S],
    removed: Callable[[S], Change[A] | None],
    not_known: frozenset[A] = frozenset(),
) -> SchemaPlan[D, S, A]:
    """Plan the declared resources, and others of `seen`.

    `removed` returns the refused change of a resource that an earlier version declared, and None for any other, which
    belongs to another owner and is left alone.
    """
    entries = list(declared)
    names = {entry.name for entry in entries}
    for name, other in sorted(seen.items()):
        if name in names:
            continue
        change = removed(other)
        verdict = ChangeKind.UNKNOWN if change is None else ChangeKind.REFUSED
        entries.append(ResourcePlan(name, verdict, (change,) if change else (), seen=other))
    return SchemaPlan(kind, tuple(entries), not_known)


def _drift[D, S, A: StrEnum](entry: ResourcePlan[D, S, A]) -> Iterator[str]:
    if entry.verdict is ChangeKind.CREATE:
        yield f"{entry.name}: missing"
    for change in entry.changes:
        yield f"{entry.name}: {change.subject}: {change.before}, declared {change.after}"


def _declared_shape[D, S, A: StrEnum](
    entry: ResourcePlan[D, S, A], shape: Callable[[ResourcePlan[D, S, A]], str]
) -> str:
    if entry.declared is not None:
        return shape(entry)
    return "not declared, left alone" if entry.verdict is ChangeKind.UNKNOWN else "no longer declared"


def _change_line[A: StrEnum](change: Change[A]) -> PlanLine:
    note = f" ({change.note})" if change.note else ""
    text = f"    {change.subject}: {change.before} → {change.after}{note}"
    return PlanLine(f"{text}  REFUSED", Severity.BAD) if change.refused else PlanLine(text, Severity.CHANGE)


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"  - {line}" for line in lines]
