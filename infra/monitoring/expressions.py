"""Expressions of Prometheus that many panels share."""

from infra.monitoring.model import RATE_INTERVAL, Query


def rate(metric: str, by: str = "", where: str = "") -> str:
    chosen = f"{metric}{{{where}}}" if where else metric
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({chosen}[{RATE_INTERVAL}]))"


def quantile(share: float, metric: str, by: str = "", where: str = "") -> str:
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', labels, where)})"


def percentiles(metric: str, where: str = "") -> list[Query]:
    return [Query(quantile(share, metric, where=where), f"p{share * 100:g}") for share in (0.5, 0.99)]
