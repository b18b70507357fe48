"""How the report spells numbers. Pure."""

from bench.whole.model import Figure

_WHOLE_FROM = 100
_TENTHS_FROM = 10


def number(value: float) -> str:
    """Three digits that count, and no more than a measurement has."""
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
    """One value, or from which to which."""
    return spread(runs) or number(runs[0])


def short(value: float) -> str:
    """Where there is little room, as under an axis."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return number(value)


def titled(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def with_spread(figure: Figure) -> str:
    ends = spread(figure.runs)
    return number(figure.median) + (f" ({ends})" if ends else "")


def goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    sign = "≤" if figure.goal.better == "less" else "≥"
    return f"{sign} {number(figure.goal.value)}"


def verdict(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    return "yes" if figure.goal.is_reached_by(figure.median) else "**no**"
