"""Format the numbers of the report."""

from bench.whole.model import Figure

_WHOLE_FROM = 100
_TENTHS_FROM = 10


def number(value: float) -> str:
    """Format a value with three significant digits, which is what the measurements support."""
    size = abs(value)
    if size >= _WHOLE_FROM or value == int(value):
        return f"{value:,.0f}"
    if size >= _TENTHS_FROM:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 1 else f"{value:.3g}"


def spread(runs: tuple[float, ...]) -> str:
    low, high = number(min(runs)), number(max(runs))
    return f"{low} to {high}" if len(runs) > 1 and low != high else ""


def ends(runs: tuple[float, ...]) -> str:
    """Format the range of the values, or the value if all are equal."""
    return spread(runs) or number(runs[0])


def short(value: float) -> str:
    """Format a value for an axis, where space is limited."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return number(value)


def titled(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    sign = "≤" if figure.goal.better == "less" else "≥"
    return f"{sign} {number(figure.goal.value)}"


def verdict(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    return "yes" if figure.goal.is_reached_by(figure.median) else "**no**"
