"""Dashboards and alerts, each described once in Python and written for Grafana and Prometheus."""
