"""Read the runbooks: one section for each alert, with its commands."""

import re
from pathlib import Path
from typing import Final

from infra.monitoring.alerts import ALERTS
from infra.monitoring.model import Alert
from infra.monitoring.rules import RUNBOOKS

_PAGE: Final = Path(__file__).parents[2] / RUNBOOKS
_BLOCK: Final = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def read_sections(text: str | None = None) -> dict[str, str]:
    """Return the text of each section of the page, by its heading."""
    parts = re.split(r"^## (.+)$", _PAGE.read_text() if text is None else text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands_of(alert: Alert, sections: dict[str, str]) -> list[str]:
    """Return the commands of an alert's runbook, one for each line. Empty if it has no runbook."""
    found = _BLOCK.search(sections.get(alert.name, ""))
    return found[1].strip().splitlines() if found else []


def alerts_without_runbook(sections: dict[str, str]) -> list[str]:
    return [alert.name for alerts in ALERTS.values() for alert in alerts if not commands_of(alert, sections)]
