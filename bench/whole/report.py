"""The report out of result files: one Markdown page with plots beside it, one HTML page with everything in it.

No figure is typed here: a test builds it from results whose every number is another one, and finds no old one.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.whole import draw, words
from bench.whole.model import Figure, Growth, Line, Result
from bench.whole.page import Block, Plot, Table, Text, html, markdown

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
    yield from _peers(peers)
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
    yield Text(
        "Made by `just bench all` out of the files in `results/`. Server, engines and loader share the machine, so"
        " CPU per message and ratios within one run are to be trusted; rates are a floor. A figure is the median of its"
        " rounds, with the lowest and the highest beside it. Beside a ratio stands its noise: the same rounds measured"
        " one of its two sides against itself, which would be one on a quiet machine."
    )
    machine = dict(pair for result in here for pair in result.machine.items())
    if machine:
        yield Table(("machine", ""), tuple(machine.items()))


def _in_short(results: Sequence[Result]) -> Iterator[Block]:
    """What has a goal. The rest stands with its part."""
    rows = [_row(figure) for result in results for figure in result.found.figures if figure.goal]
    if rows:
        yield Text("## In short")
        yield Table(_HEAD, tuple(rows))


def _all_figures(results: Sequence[Result]) -> Iterator[Block]:
    yield Text("## Every figure")
    for result in results:
        if result.found.figures:
            yield Text(f"### {result.title}: figures")
            yield Table(_HEAD, tuple(_row(figure) for figure in result.found.figures))


def _row(figure: Figure) -> tuple[str, ...]:
    name = f"{figure.name}, {figure.unit}" if figure.unit else figure.name
    return (
        name,
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
            yield Plot(
                f"{result.part}-latency", "How late", partial(draw.latency_svg, result.found.latencies)
            )
        for at, shares in enumerate(result.found.shares):
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
    for result, growth in found:
        yield Text(f"### {growth.title}")
        yield Text(sentence(growth))
        yield Plot(result.part, growth.title, partial(draw.growth_svg, growth))
        yield _growth_table(growth)


def sentence(growth: Growth) -> str:
    told = "; ".join(_told(line) for line in growth.lines)
    return f"{told[0].upper()}{told[1:]}. {growth.why}"


def _told(line: Line) -> str:
    shape = line.shape
    if shape.summit_x is not None and shape.summit_times is not None:
        return (
            f"{line.name} is **highest at {words.number(shape.summit_x)}**"
            f" ({words.number(shape.summit_times)} times the first), and at the end"
            f" {words.number(shape.times_y)} times for {words.number(shape.times_x)} times as many"
        )
    return (
        f"{line.name} is **{shape.word}** ({words.number(shape.times_y)} times as much"
        f" for {words.number(shape.times_x)} times as many)"
    )


def _growth_table(growth: Growth) -> Table:
    xs = sorted({point.x for line in growth.lines for point in line.points})
    cells = {(line.name, p.x): words.number(p.median) for line in growth.lines for p in line.points}
    head = (growth.along, *(f"{line.name}, {line.unit}" for line in growth.lines))
    rows = [(words.number(x), *(cells.get((line.name, x), "") for line in growth.lines)) for x in xs]
    return Table(head, tuple(rows))


_ENOUGH = 3


class Compared(NamedTuple):
    """One figure that several servers have."""

    name: str
    unit: str
    by_peer: dict[str, Figure]


def compared(peers: Sequence[Result]) -> list[Compared]:
    rows: dict[str, Compared] = {}
    for result in peers:
        for figure in result.found.figures:
            row = rows.setdefault(figure.name, Compared(figure.name, figure.unit, {}))
            row.by_peer[result.peer] = figure
    return list(rows.values())


def _peers(peers: Sequence[Result]) -> Iterator[Block]:
    if not peers:
        return
    yield Text("## Beside others")
    yield Text(
        "The same loader, the same work, one server after the other; Tidings through its real processes."
    )
    for result in peers:
        if result.found.skipped:
            yield Text(f"{result.peer} was not measured: {result.found.skipped}")
        elif result.elsewhere:
            yield Text(f"{result.peer} {result.elsewhere}.")
        yield from (Text(f"{result.peer}: {remark}") for remark in result.found.remarks)
    there = [result for result in peers if not result.found.skipped]
    yield _peers_table(there)
    yield from _peers_plot(there)
    yield from _wins(there)


def _peers_plot(peers: Sequence[Result]) -> Iterator[Block]:
    """What at least three have; a logarithmic axis has no place for nothing."""
    rows = []
    for row in compared(peers):
        shown = [(peer, figure) for peer, figure in row.by_peer.items() if min(figure.runs) > 0]
        if len(shown) >= _ENOUGH:
            rows.append((f"{row.name}, {row.unit}", shown))
    if rows:
        yield Plot("peers", "Beside others", partial(draw.compared_svg, "Beside others", rows))


def _peers_table(peers: Sequence[Result]) -> Table:
    head = ("", *(f"{result.peer} \\*" if result.elsewhere else result.peer for result in peers))
    rows = []
    for row in compared(peers):
        cells = (row.by_peer.get(result.peer) for result in peers)
        rows.append((f"{row.name}, {row.unit}", *(words.with_spread(each) if each else "" for each in cells)))
    return Table(head, tuple(rows))


def _wins(peers: Sequence[Result], ours: str = "Tidings") -> Iterator[Block]:
    """Said plainly, whoever it is."""
    yield Text("### Where they win, and where Tidings does")
    rows = [row for row in compared(peers) if ours in row.by_peer]
    said = []
    for result in peers:
        if result.peer != ours:
            pairs = [(row, row.by_peer[result.peer]) for row in rows if result.peer in row.by_peer]
            won = [
                _margin(row.by_peer[ours], theirs)
                for row, theirs in pairs
                if _beats(theirs, row.by_peer[ours])
            ]
            lost = [row.name for row, theirs in pairs if not _beats(theirs, row.by_peer[ours])]
            said.append(f"- **{result.peer}** wins in {_listed(won)}. Tidings wins in {_listed(lost)}.")
    yield Text("\n".join(said))


def _beats(one: Figure, other: Figure) -> bool:
    return one.median < other.median if one.better == "less" else one.median > other.median


def _margin(ours: Figure, theirs: Figure) -> str:
    low, high = sorted((ours.median, theirs.median))
    return f"{theirs.name} ({words.number(high / low)} times)" if low > 0 else theirs.name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "nothing"


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
