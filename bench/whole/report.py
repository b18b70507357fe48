"""Generate the report from result files: a Markdown page with separate plots, and one self-contained HTML page.

Every figure comes from a result file. A test replaces all numbers in the results and verifies that no other number is
left on the page.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.whole import draw, words
from bench.whole.beside_others import beside_others
from bench.whole.model import Figure, Growth, Line, Point, Result
from bench.whole.page import Block, Plot, Table, Text, html, markdown
from bench.whole.shape import shape_of

TITLE = "Tidings benchmarks"
NAME = "report"
_HEAD = ("", "median", "lowest to highest", "noise")
_TARGET_HEAD = ("", "median", "target", "reached")
_UNITS = ("write units", "read units")


def write(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write `report.md`, `report.html` and `plots/`, and delete plots of earlier reports."""
    blocks = list(report(results))
    plots = folder / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    for block in blocks:
        if isinstance(block, Plot):
            (plots / f"{block.name}.svg").write_text(block.drawn())
    pages = {folder / f"{NAME}.md": markdown(blocks), folder / f"{NAME}.html": html(TITLE, blocks)}
    for path, text in pages.items():
        path.write_text(text)
    return list(pages)


def report(results: Sequence[Result]) -> Iterator[Block]:
    ours = [result for result in results if not result.peer and not result.found.skipped]
    peers = [result for result in results if result.peer]
    yield Text(f"# {TITLE}")
    yield from _preface(results)
    yield from _summary(ours)
    yield from _costs(ours)
    yield from _growths(ours)
    yield from beside_others(peers)
    yield from _targets(ours)
    yield from _parts(results)


def _preface(results: Sequence[Result]) -> Iterator[Block]:
    here = [result for result in results if not result.elsewhere]
    if any(result.is_short for result in here):
        yield Text(
            "> **A short run.** It shows that every benchmark works and what the report looks like."
            " Do not use its figures; replace them with those of a full run."
        )
    yield Text(
        "This report shows what a message costs in Tidings, how costs grow with the size of chats, groups and"
        " installations, and how Tidings compares with other servers. `just bench all` generates it from the files in"
        " `results/`."
    )
    machine = dict(pair for result in here for pair in result.machine.items())
    if machine:
        on = ", ".join(f"{name} {value}" for name, value in machine.items())
        yield Text(f"Everything ran on one machine: {on}.")
    yield Text("How to read the figures:")
    yield Text("\n".join(f"- {line}" for line in _HOW_TO_READ))


_HOW_TO_READ = (
    (
        "Tidings, its engines and the load generator share the cores of the machine. CPU per message and ratios are"
        " reliable; rates are a lower bound."
    ),
    "Each figure is the median of its rounds.",
    (
        "**Noise** belongs to a ratio of two measurements. It is the ratio of two measurements of the same thing in the same"
        " rounds, which would be one on a quiet machine."
    ),
    "**p50** is the median latency; **p99** is the latency that one in a hundred messages exceeds.",
    "**Write and read units** are the units that DynamoDB charges for. CPU time is in µs of one core.",
)


def _summary(results: Sequence[Result]) -> Iterator[Block]:
    """Show the figures that have a target: these are the most important ones."""
    figures = [figure for result in results for figure in result.found.figures if figure.goal]
    if figures:
        yield Text("## Summary")
        yield Text(
            "The most important figures. The section Targets lists those that do not reach their target, with the reason."
        )
        yield _figure_table(figures)


def _targets(results: Sequence[Result]) -> Iterator[Block]:
    figures = [figure for result in results for figure in result.found.figures if figure.goal]
    if not figures:
        return
    yield Text("## Targets")
    yield Text("The targets of the project for these figures, and which of them are reached.")
    yield Table(
        _TARGET_HEAD,
        tuple(
            (
                words.titled(figure.name, figure.unit),
                words.number(figure.median),
                words.goal(figure),
                words.verdict(figure),
            )
            for figure in figures
        ),
    )
    missed = [line for figure in figures if (line := _missed(figure))]
    if missed:
        yield Text("Targets that are not reached, and the reason:")
        yield Text("\n".join(missed))


def _missed(figure: Figure) -> str:
    if figure.goal is None or figure.goal.is_reached_by(figure.median):
        return ""
    limit = figure.goal.limit or "the reason is not known yet."
    value, target = words.number(figure.median), words.number(figure.goal.value)
    return f"- **{figure.name}** ({value} instead of {target}): {limit}"


def _figures(figures: Sequence[Figure]) -> Iterator[Table]:
    """Show figures as a table, and pairs of write and read units as a second table with one row for each operation."""
    units = [figure for figure in figures if _operation(figure)]
    others = [figure for figure in figures if not _operation(figure)]
    if others:
        yield _figure_table(others)
    if units:
        values = {(_operation(figure), figure.name.partition(": ")[0]): figure for figure in units}
        rows = [
            (
                name,
                *(
                    words.number(values[name, unit].median) if (name, unit) in values else ""
                    for unit in _UNITS
                ),
            )
            for name in dict.fromkeys(_operation(figure) for figure in units)
        ]
        yield Table(("operation", *_UNITS), tuple(rows))


def _operation(figure: Figure) -> str:
    """Return the operation of a figure such as `write units: create a direct chat`, or an empty string."""
    unit, _, operation = figure.name.partition(": ")
    return operation if unit in _UNITS else ""


def _figure_table(figures: Sequence[Figure]) -> Table:
    """Omit columns that are empty for all figures."""
    rows = [
        (
            words.titled(figure.name, figure.unit),
            words.number(figure.median),
            words.spread(figure.runs),
            words.spread(figure.noise) if figure.noise else "",
        )
        for figure in figures
    ]
    shown = [at for at in range(len(_HEAD)) if any(row[at] for row in rows)]
    return Table(tuple(_HEAD[at] for at in shown), tuple(tuple(row[at] for at in shown) for row in rows))


def _costs(results: Sequence[Result]) -> Iterator[Block]:
    """Show the parts that measure one operation at a fixed size."""
    some = [result for result in results if not result.found.growths]
    if some:
        yield Text("## What a message costs")
    for result in some:
        yield Text(f"### {result.title}")
        if result.found.remarks:
            yield Text("\n".join(f"- {remark}" for remark in result.found.remarks))
        yield from _figures(result.found.figures)
        yield from _path(result)


def _path(result: Result) -> Iterator[Block]:
    if result.found.latencies:
        yield Text(
            "Latency from send to delivery, by percentile. All lines are runs with the same load: the difference between"
            " them is noise."
        )
        yield Plot(
            f"{result.part}-latency",
            "Latency from send to delivery",
            partial(draw.latency_svg, result.found.latencies),
        )
    for at, shares in enumerate(result.found.shares):
        yield Text(f"{shares.title}. {shares.about}".rstrip())
        yield Plot(f"{result.part}-shares-{_letter(at)}", shares.title, partial(draw.shares_svg, shares))
        yield _shares_table(shares.unit, [(s.of, s.name, s.value) for s in shares.shares])


def _shares_table(unit: str, shares: Sequence[tuple[str, str, float]]) -> Table:
    columns = list(dict.fromkeys(of for of, _, _ in shares))
    names = list(dict.fromkeys(name for _, name, _ in shares))
    values = {(of, name): value for of, name, value in shares}
    rows = [
        (name, *(words.number(values[of, name]) if (of, name) in values else "" for of in columns))
        for name in names
    ]
    return Table((unit, *columns), tuple(rows))


def _growths(results: Sequence[Result]) -> Iterator[Block]:
    found = [(result, growth) for result in results for growth in result.found.growths]
    if found:
        yield Text("## How costs grow")
        yield Text(
            "Both axes of each plot are logarithmic. A constant cost is a horizontal line; a linear cost rises by one"
            " decade for each decade to the right. The classification of a line uses its last three points. Bands show"
            " the lowest and the highest value of several rounds."
        )
    for result, growth in found:
        yield Text(f"### {growth.title}")
        yield Text(growth.why)
        yield Text(growth_text(growth))
        yield Plot(result.part, growth.title, partial(draw.growth_svg, growth))
        yield _growth_table(growth)
        yield from _figures(result.found.figures)


def growth_text(growth: Growth) -> str:
    """List the classification of each line with its first and last value."""
    return "\n".join(f"- {line.name}: {_line_text(line)}" for line in growth.lines)


def _line_text(line: Line) -> str:
    shape, first, last = shape_of(line.points), line.points[0], line.points[-1]
    if shape.summit:
        top = f"**peak at {words.number(shape.summit.x)}**: {_value(shape.summit)} {line.unit}"
        return f"{top}; {_at(first)}, {_at(last)}"
    ends = f"{_value(first)} {line.unit} at {words.number(first.x)}, {_at(last)}"
    if not shape.of_tail:
        return f"**{shape.word}**; {ends}"
    doubled = f"twice the number costs {words.number(shape.doubled)} times as much"
    return f"**{shape.word}** from {words.number(shape.tail_x)} on: {doubled}; {ends}"


def _at(point: Point) -> str:
    return f"{_value(point)} at {words.number(point.x)}"


def _value(point: Point) -> str:
    return words.number(point.median)


def _growth_table(growth: Growth) -> Table:
    xs = sorted({point.x for line in growth.lines for point in line.points})
    columns = [{point.x: _value(point) for point in line.points} for line in growth.lines]
    head = (growth.along, *(words.titled(line.name, line.unit) for line in growth.lines))
    rows = [(words.number(x), *(column.get(x, "") for column in columns)) for x in xs]
    return Table(head, tuple(rows))


def _parts(results: Iterable[Result]) -> Iterator[Block]:
    """List the commit, time and command of each part, because a part can be measured again alone."""
    yield Text("## Reproduce the results")
    yield Text(
        "Each part runs alone with the command in its row. Load is the load average of the last minute, before and after"
        " the part."
    )
    rows = [
        (
            result.part,
            f"`{result.commit}`",
            result.began_at,
            words.number(result.took_s),
            f"{words.number(result.load_before)}, {words.number(result.load_after)}",
            f"`{result.command}`",
        )
        for result in results
        if not result.elsewhere and not result.found.skipped
    ]
    yield Table(("part", "commit", "start", "duration, s", "load before, after", "command"), tuple(rows))
    skipped = [f"- {result.part}: {result.found.skipped}" for result in results if result.found.skipped]
    if skipped:
        yield Text("Parts without results:\n\n" + "\n".join(skipped))


def _letter(at: int) -> str:
    """Name plots without digits, so that a test can treat every digit of the page as a figure."""
    return "abcdefghijklmnopqrstuvwxyz"[at]
