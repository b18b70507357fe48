"""Write the tables of docs/explanation/append-models.md from the results of the models."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from model.cases import HELD, Bounds, explored
from model.mutants import MISSING, NOT_MODELLED, STATED, Rule

FOLDER = Path(__file__).parent
_STATES_IN_GATE = 10_000
_NOT_MODELS = ("test_", "page.", "__main__")
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "append-models.md"


def tables() -> dict[str, str]:
    """Return the tables that a test compares with the page. `just models --wide --write` writes the wide one."""
    return {
        "held": held(HELD),
        "said": broken(STATED),
        "missing": broken(MISSING),
        "elsewhere": table(("rule", "where it is tested"), NOT_MODELLED),
        "sources": sources(),
    }


def sources() -> str:
    """Return a sentence with the checksum of the models' code, which uses no code of the product.

    The full gate explores the large cases only if it is not the recorded one: then a test fails until the page is
    written again, which explores all of them. The nightly run explores them always.
    """
    files = sorted(path for path in FOLDER.rglob("*.py") if not path.name.startswith(_NOT_MODELS))
    code = b"".join(path.relative_to(FOLDER).as_posix().encode() + path.read_bytes() for path in files)
    return (
        f"The tables were computed from models with the checksum `{hashlib.sha256(code).hexdigest()[:16]}`."
    )


_HELD_ROW = re.compile(r"^\| `(\w+)\.py` \| ([^|]+) \| [^|]+ \| ([\d,]+) \|", re.MULTILINE)
_BROKEN_ROW = re.compile(r"^\| [^|]*\| [^|]+ \| `(\w+\.\w+)`, [^|]+ \| .* \| ([\d,]+) \|$", re.MULTILINE)


def recorded_states(page: Path) -> dict[str, int]:
    """Return the number of states of each case and mutant, by the name of its test, from the tables of a page."""
    text = page.read_text().partition("<!-- wide -->")
    text_without_wide = text[0] + text[2].partition("<!-- end of wide -->")[2]
    held_rows = {
        f"{model}-{scenario}": states for model, scenario, states in _HELD_ROW.findall(text_without_wide)
    }
    return {
        name: int(states.replace(",", ""))
        for name, states in (held_rows | dict(_BROKEN_ROW.findall(text_without_wide))).items()
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


def case(value: object, name: str, states: Mapping[str, int]) -> Any:
    """Return a case of a test. The full gate leaves out the large ones, and new ones until the page has them."""
    is_small = states.get(name, _STATES_IN_GATE) < _STATES_IN_GATE
    return pytest.param(value, id=name, marks=() if is_small else pytest.mark.long)
