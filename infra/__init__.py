"""Files for operators: dashboards, alerts, deployment examples, and their checks."""
