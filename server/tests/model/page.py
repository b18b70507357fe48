"""Write the tables of docs/explanation/append-models.md from the results of the models."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from model.cases import HELD, Bounds, explored
from model.mutants import MISSING, NOT_MODELLED, STATED, Rule

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "append-models.md"


def tables() -> dict[str, str]:
    """Return the tables that a test compares with the page. `just models --wide --write` writes the wide one."""
    return {
        "held": held(HELD),
        "said": broken(STATED),
        "missing": broken(MISSING),
        "elsewhere": table(("rule", "where it is tested"), NOT_MODELLED),
    }


def held(all_bounds: Iterable[Bounds]) -> str:
    return table(("model", "scenario", "contents", "states", "steps"), map(_held_row, all_bounds))


def _held_row(bounds: Bounds) -> tuple[str, ...]:
    found = explored(bounds)
    return (f"`{bounds.model}.py`", bounds.scenario, bounds.what, f"{found.states:,}", f"{found.steps:,}")


def broken(rules: Iterable[Rule]) -> str:
    head = ("rule", "mutant: instead …", "model, scenario", "promise that breaks", "steps", "states")
    return table(head, (row for rule in rules for row in _broken_rows(rule)))


def _broken_rows(rule: Rule) -> Iterator[tuple[str, ...]]:
    for one in rule.breaks:
        found = explored(one.bounds, one.mutant)
        length = found.breach.length if found.breach else "-"
        first = rule.sentence if one is rule.breaks[0] else ""
        where = f"`{one.name}`, {one.bounds.scenario}"
        yield (first, one.mutant.value, where, one.falls.value, str(length), f"{found.states:,}")


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def with_tables(text: str, new: dict[str, str]) -> str:
    """Return the page with its tables replaced; each is between `<!-- name -->` and `<!-- end of name -->`."""
    for name, lines in new.items():
        start, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, found, rest = text.partition(start)
        if not found or end not in rest:
            raise LookupError(f"the page has no markers for the table {name!r}")
        text = before + start + lines + rest[rest.index(end) :]
    return text
