"""Write a dashboard as the JSON that Grafana imports and provisions."""

import json
from typing import Any

from infra.monitoring.model import Dashboard, Panel

_WIDTH, _HEIGHT, _COLUMNS = 12, 8, 2
_SCHEMA = 39
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


def render_dashboard(dashboard: Dashboard) -> str:
    """Return the JSON of a dashboard. Its data source is a variable, so it can be imported anywhere."""
    page = {
        "uid": f"tidings-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["tidings"],
        "schemaVersion": _SCHEMA,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
            ]
        },
        "links": [{"type": "dashboards", "tags": ["tidings"], "title": "Tidings", "asDropdown": True}],
        "panels": [_panel(number, panel) for number, panel in enumerate(dashboard.panels)],
    }
    return json.dumps(page, indent=2) + "\n"


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    place = {
        "x": number % _COLUMNS * _WIDTH,
        "y": number // _COLUMNS * _HEIGHT,
        "w": _WIDTH,
        "h": _HEIGHT,
    }
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.help,
        "datasource": _DATASOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "custom": {"fillOpacity": 8, "showPoints": "never"}},
            "overrides": [],
        },
        "options": {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": _DATASOURCE,
                "expr": query.expr,
                "legendFormat": query.legend,
            }
            for index, query in enumerate(panel.queries)
        ],
    }
