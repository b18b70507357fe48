"""Write the tables of docs/explanation/delivery-models.md from the results of the models."""

from pathlib import Path

from model.page import broken, held, sources, table
from model.receiving.cases import HELD
from model.receiving.mutants import HEALED, MISSING, NOT_MODELLED, SPARED, STATED, Healed, Spared

PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "delivery-models.md"


def tables() -> dict[str, str]:
    """Return the tables that a test compares with the page. `just models --wide --write` writes the wide one."""
    return {
        "held": held(HELD),
        "said": broken(STATED),
        "missing": broken(MISSING),
        "healed": table(("mutant: instead …", "model, scenario", "repaired by"), map(_healed_row, HEALED)),
        "spared": table(
            ("mutant: instead …", "model, scenarios", "why nothing breaks"), map(_spared_row, SPARED)
        ),
        "elsewhere": table(("rule", "where it is tested"), NOT_MODELLED),
        "sources": sources(),
    }


def _spared_row(one: Spared) -> tuple[str, ...]:
    scenarios = ", ".join(bounds.scenario for bounds in one.scenarios)
    return (one.mutant.value, f"`{one.scenarios[0].model}.{one.mutant.name}`, {scenarios}", one.why)


def _healed_row(one: Healed) -> tuple[str, ...]:
    return (
        one.mutant.value,
        f"`{one.bounds.model}.{one.mutant.name}`, {one.bounds.scenario}",
        f"the {one.by}",
    )
