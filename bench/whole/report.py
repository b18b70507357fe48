"""The report out of result files: one Markdown page with plots beside it, one HTML page with everything in it.

No figure is typed here: a test builds it from results whose every number is another one, and finds no old one.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.whole import draw, words
from bench.whole.beside_others import beside_others
from bench.whole.model import Figure, Growth, Line, Point, Result
from bench.whole.page import Block, Plot, Table, Text, html, markdown
from bench.whole.shape import shape_of

TITLE = "Benchmarks of Tidings"
NAME = "report"
_HEAD = ("", "measured", "noise of the same rounds", "goal", "reached")


def write(results: Sequence[Result], folder: Path) -> list[Path]:
    """`report.md`, `report.html` and `plots/`; plots of before are gone."""
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
    yield from _in_short(ours)
    yield from _path(ours)
    yield from _growths(ours)
    yield from beside_others(peers)
    yield from _remarks(ours)
    yield from _all_figures(ours)
    yield from _parts(results)


def _preface(results: Sequence[Result]) -> Iterator[Block]:
    here = [result for result in results if not result.elsewhere]
    if any(result.is_short for result in here):
        yield Text(
            "> **A short run on a busy machine.** It shows that every part works and what the page looks like."
            " Its figures are noise to be replaced by those of a full run."
        )
    machine = dict(pair for result in here for pair in result.machine.items())
    on = ", ".join(f"{name} {value}" for name, value in machine.items())
    yield Text(
        "What Tidings costs and how quick it is: beside the bare engines that it stands on, as things grow, and beside"
        f" other servers. Made by `just bench all` out of the files in `results/`{f', on one machine: {on}' if on else ''}."
    )
    yield Text("\n".join(f"- {line}" for line in _HOW_TO_READ))


_HOW_TO_READ = (
    "Servers, engines and loader share the machine: trust CPU per message and ratios; rates are a floor.",
    "A figure is the median of its rounds, with the lowest and the highest in brackets.",
    "**Noise**: what the same rounds gave for one side of a ratio beside itself; one, if the machine were quiet.",
    "**p50**: half of all are quicker; p99: all but the slowest of a hundred.",
    "**Write and read units** are what DynamoDB charges for. µs are of one core.",
)


def _in_short(results: Sequence[Result]) -> Iterator[Block]:
    """What has a goal. The rest stands with its part."""
    figures = [figure for result in results for figure in result.found.figures if figure.goal]
    if figures:
        yield Text("## In short")
        yield Table(_HEAD, tuple(map(_row, figures)))
    missed = [line for figure in figures if (line := _missed(figure))]
    if missed:
        yield Text("What is not reached, and what limits it:")
        yield Text("\n".join(missed))


def _missed(figure: Figure) -> str:
    if figure.goal is None or figure.goal.is_reached_by(figure.median):
        return ""
    limit = figure.goal.limit or "not known yet."
    return f"- **{figure.name}** ({words.number(figure.median)}, goal {words.number(figure.goal.value)}): {limit}"


def _all_figures(results: Sequence[Result]) -> Iterator[Block]:
    yield Text("## Every figure")
    for result in results:
        if result.found.figures:
            yield Text(f"### {result.title}: figures")
            yield Table(_HEAD, tuple(_row(figure) for figure in result.found.figures))


def _row(figure: Figure) -> tuple[str, ...]:
    return (
        words.titled(figure.name, figure.unit),
        words.with_spread(figure),
        words.spread(figure.noise) if figure.noise else "",
        words.goal(figure),
        words.verdict(figure),
    )


def _path(results: Sequence[Result]) -> Iterator[Block]:
    for result in results:
        if result.found.latencies or result.found.shares:
            yield Text(f"## {result.title}")
        if result.found.latencies:
            yield Text(
                "How late messages come. Read it from the right: at 99, all but the slowest of a hundred were there"
                " within so many ms. Both lines are the same load, so what is between them is noise."
            )
            yield Plot(
                f"{result.part}-latency", "How late", partial(draw.latency_svg, result.found.latencies)
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
            "Both axes of each plot are logarithmic: what does not grow is level, what is linear rises one step for"
            " each step to the right. A line is called by its last three points, where it shows where it goes. Bands"
            " are the lowest and the highest of several rounds."
        )
    for result, growth in found:
        yield Text(f"### {growth.title}")
        yield Text(told(growth))
        yield Text(growth.why)
        yield Plot(result.part, growth.title, partial(draw.growth_svg, growth))
        yield _growth_table(growth)


def told(growth: Growth) -> str:
    return "\n".join(f"- {line.name}: {_shape_told(line)}" for line in growth.lines)


def _shape_told(line: Line) -> str:
    """What it is called, and where it begins and ends."""
    shape, first, last = shape_of(line.points), line.points[0], line.points[-1]
    if shape.summit:
        top = f"**highest at {words.number(shape.summit.x)}**: {_value(shape.summit)} {line.unit}"
        return f"{top}; {_at(first)}, {_at(last)}"
    ends = f"{_value(first)} {line.unit} at {words.number(first.x)}, {_at(last)}"
    if not shape.of_tail:
        return f"**{shape.word}**; {ends}"
    doubled = f"{words.number(shape.doubled)} times as much for twice as many"
    return f"**{shape.word}** from {words.number(shape.tail_x)} on, {doubled}; {ends}"


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


def _remarks(results: Sequence[Result]) -> Iterator[Block]:
    said = [f"- {remark}" for result in results for remark in result.found.remarks]
    if said:
        yield Text("## What to know about these figures")
        yield Text("\n".join(said))


def _parts(results: Iterable[Result]) -> Iterator[Block]:
    """Which part, when and how: a part may have been run again alone."""
    yield Text("## The parts of this run")
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
    yield Table(("part", "commit", "began", "took, s", "load before, after", "command"), tuple(rows))
    skipped = [f"- {result.part}: {result.found.skipped}" for result in results if result.found.skipped]
    if skipped:
        yield Text("Left out:\n\n" + "\n".join(skipped))


def _letter(at: int) -> str:
    """Names of plots have no digits, so that every digit of a page is a figure."""
    return "abcdefghijklmnopqrstuvwxyz"[at]
