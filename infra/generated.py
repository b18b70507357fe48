"""The generated files: `python -m infra write` writes them, and a test compares them."""

from pathlib import Path
from typing import Final

from infra.aws.policies import render_policies
from infra.aws.tables import MODULE, TABLES_FILE, render_tables
from infra.monitoring.dashboards import DASHBOARDS
from infra.monitoring.grafana import render_dashboard
from infra.monitoring.rules import RULES_FILE, TESTS_FILE, render_rule_tests, render_rules

ROOT: Final = Path(__file__).parents[1]
INFRA: Final = ROOT / "infra"
PROMETHEUS: Final = INFRA / "prometheus"


def render_all() -> dict[Path, str]:
    """Return the text of each generated file."""
    rules = render_rules()
    pages = {
        PROMETHEUS / RULES_FILE: rules,
        PROMETHEUS / TESTS_FILE: render_rule_tests(),
        INFRA / "chart" / "files" / RULES_FILE: rules,
        MODULE / TABLES_FILE: render_tables(),
    }
    boards = {INFRA / "grafana" / f"{each.name}.json": render_dashboard(each) for each in DASHBOARDS}
    return pages | boards | render_policies()


def write_all() -> list[Path]:
    """Write the files that differ, and return them."""
    changed = [
        (path, text) for path, text in render_all().items() if not path.exists() or path.read_text() != text
    ]
    for path, text in changed:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return [path for path, _ in changed]
