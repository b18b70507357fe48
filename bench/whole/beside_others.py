"""The report's part about other servers: who wins in what, in words, as a table and as plots."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from bench.whole import draw, words
from bench.whole.model import Figure, Result
from bench.whole.page import Block, Plot, Table, Text

OURS = "Tidings"
_ENOUGH = 3
"""So many must have a figure to be drawn, and so many are told in a sentence."""


_BUSY = 4.0


class Compared(NamedTuple):
    """One figure that several servers have."""

    name: str
    unit: str
    by_peer: dict[str, Figure]

    @property
    def title(self) -> str:
        return words.titled(self.name, self.unit)


def compared(peers: Sequence[Result]) -> list[Compared]:
    rows: dict[str, Compared] = {}
    for result in peers:
        for figure in result.found.figures:
            row = rows.setdefault(figure.name, Compared(figure.name, figure.unit, {}))
            row.by_peer[result.peer] = figure
    return list(rows.values())


def beside_others(peers: Sequence[Result]) -> Iterator[Block]:
    if not peers:
        return
    yield Text("## Beside others")
    yield Text(
        "One loader gives each server the same work, one after the other; Tidings with all of its processes. Mind what"
        " an ack means when you compare: who promises less has less to do."
    )
    yield Text("\n".join(_introduced(peers)))
    there = [result for result in peers if not result.found.skipped]
    yield from _wins(there)
    yield Text("### Side by side")
    yield _table(there)
    yield from _plot(there)


def _introduced(peers: Sequence[Result]) -> Iterator[str]:
    for result in peers:
        if result.found.skipped:
            yield f"- **{result.peer}** was not measured: {result.found.skipped}"
        elif result.found.remarks:
            star = " \\*" if result.elsewhere else ""
            yield f"- **{result.peer}**{star}: {' '.join([*result.found.remarks, *_busy(result)])}"
    for elsewhere in dict.fromkeys(result.elsewhere for result in peers if result.elsewhere):
        yield f"- \\* {elsewhere}."


def _busy(result: Result) -> Iterator[str]:
    """Of what a part before it left behind, a load of one or two is told."""
    if result.load_before > _BUSY:
        yield (
            f"Measured while the machine did other work (load {words.number(result.load_before)} before,"
            f" {words.number(result.load_after)} after): its rates and times may be better on a quiet one."
        )


def _starred(result: Result) -> str:
    return f"{result.peer} \\*" if result.elsewhere else result.peer


def _table(peers: Sequence[Result]) -> Table:
    rows = []
    for row in compared(peers):
        cells = (row.by_peer.get(result.peer) for result in peers)
        rows.append((row.title, *(words.ends(each.runs) if each else "" for each in cells)))
    return Table(("", *map(_starred, peers)), tuple(rows))


def _plot(peers: Sequence[Result]) -> Iterator[Block]:
    """What at least three have; a logarithmic axis has no place for nothing."""
    rows = []
    for row in compared(peers):
        shown = [(peer, figure) for peer, figure in row.by_peer.items() if min(figure.runs) > 0]
        if len(shown) >= _ENOUGH:
            rows.append((f"{row.title} ({shown[0][1].better} is better)", shown))
    if rows:
        yield Plot("peers", "Beside others", partial(draw.compared_svg, "Beside others", rows))


def _wins(peers: Sequence[Result]) -> Iterator[Block]:
    """Said plainly, whoever it is; the largest differences, with both values."""
    yield Text("### Where they win, and where Tidings does")
    rows = [row for row in compared(peers) if OURS in row.by_peer]
    for result in peers:
        if result.peer != OURS:
            duels = [_Duel.of(row, result.peer) for row in rows if result.peer in row.by_peer]
            yield Text(_paragraph(result.peer, [duel for duel in duels if duel.counts]))


class _Duel(NamedTuple):
    """A figure of theirs beside ours. `times`: how much better the better one is."""

    name: str
    unit: str
    theirs: float
    ours: float
    they_win: bool

    @classmethod
    def of(cls, row: Compared, peer: str) -> "_Duel":
        theirs, ours = row.by_peer[peer], row.by_peer[OURS]
        they_win = (theirs.median < ours.median) == (theirs.better == "less")
        return cls(row.name, row.unit, theirs.median, ours.median, they_win)

    @property
    def counts(self) -> bool:
        """Who has no database spends nothing on it, and the loader is nobody's merit."""
        is_theirs = not self.name.startswith("loader's own")
        return is_theirs and min(self.theirs, self.ours) > 0 and self.theirs != self.ours

    @property
    def times(self) -> float:
        low, high = sorted((self.theirs, self.ours))
        return high / low

    @property
    def subject(self) -> str:
        """What a server and its database do together."""
        return self.name.partition(",")[0]

    def told(self) -> str:
        """Theirs first: it is their paragraph."""
        unit = f" {self.unit}" if self.unit else ""
        clause = _CLAUSES.get(self.name, f"{self.name} is {{theirs}}{unit}, at Tidings {{ours}}")
        return clause.format(theirs=words.number(self.theirs), ours=words.number(self.ours))


_FIRST = "CPU of a direct message, server"
_CLAUSES: Mapping[str, str] = {
    "direct messages, saturated": "it takes {theirs} direct messages a second, Tidings {ours}",
    "ack of a light send, p50": "an ack comes after {theirs} ms, at Tidings after {ours}",
    "light send to receive, p50": "a message is received after {theirs} ms, at Tidings after {ours}",
    "bytes to the receiver of a text of a hundred": (
        "a text of a hundred bytes has {theirs} on the wire, at Tidings {ours}"
    ),
    "connect and a hundred missed, p50": (
        "a device that missed a hundred messages has them after {theirs} ms, at Tidings after {ours}"
    ),
    "CPU of a direct message, server": "a direct message costs its server {theirs} µs of CPU, Tidings {ours}",
    "CPU of a direct message, engines or database": (
        "a direct message costs its database {theirs} µs of CPU, Tidings' engines {ours}"
    ),
    "CPU of a delivery in a fan-out, server": (
        "a delivery in a fan-out costs its server {theirs} µs of CPU, Tidings {ours}"
    ),
    "CPU of a delivery in a fan-out, engines or database": (
        "a delivery in a fan-out costs its database {theirs} µs of CPU, Tidings' engines {ours}"
    ),
    "CPU to connect, server": "connecting costs its server {theirs} µs of CPU, Tidings {ours}",
    "CPU to connect, engines or database": (
        "connecting costs its database {theirs} µs of CPU, Tidings' engines {ours}"
    ),
    "CPU to connect and get a hundred missed, server and database": (
        "connecting and getting a hundred missed messages costs it {theirs} µs of CPU in all, Tidings {ours}"
    ),
    "memory of an idle connection": "an idle connection takes {theirs} KB of memory, at Tidings {ours}",
}


def _paragraph(peer: str, duels: Sequence[_Duel]) -> str:
    theirs = [duel for duel in duels if duel.they_win]
    ours = [duel for duel in duels if not duel.they_win]
    share = _how_much(len(theirs), len(duels))
    return (
        f"**{peer}** wins in {share} of what both were measured in{_most_clearly(theirs)}."
        f" Tidings wins in {'the rest' if ours and theirs else 'all' if ours else 'nothing'}{_most_clearly(ours)}."
    )


def _how_much(won: int, of: int) -> str:
    """In words: every digit of the page is a measured one."""
    share = won / of if of else 0.0
    names = ((1.0, "all"), (0.75, "nearly all"), (0.5, "most"), (0.25, "some"), (0.01, "little"))
    return next((name for least, name in names if share >= least), "nothing")


def _most_clearly(duels: Sequence[_Duel]) -> str:
    """The largest differences, one of each subject; what a message costs is told in any case."""
    by_subject: dict[str, _Duel] = {}
    for duel in sorted(duels, key=lambda duel: (duel.name != _FIRST, -duel.times)):
        by_subject.setdefault(duel.subject, duel)
    largest = list(by_subject.values())[:_ENOUGH]
    most = ", most clearly" if len(duels) > len(largest) else ""
    return f"{most}: {'; '.join(duel.told() for duel in largest)}" if duels else ""
