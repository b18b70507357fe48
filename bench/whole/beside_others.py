"""Generate the comparison with other servers: the largest differences as text, then a table and plots."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from bench.whole import draw, words
from bench.whole.model import Figure, Result
from bench.whole.page import Block, Plot, Table, Text

OURS = "Tidings"
_ENOUGH = 3
"""Minimum number of servers in a plot, and maximum number of differences in a sentence."""


_BUSY = 4.0
"""Load average above which the report adds a warning. Earlier parts leave a load of one or two behind."""


class Compared(NamedTuple):
    """One figure of several servers."""

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
    yield Text("## Comparison with other servers")
    yield Text(
        "The same load generator gives each server the same work, one server after the other. Figures of Tidings include"
        " all of its processes; its database figures include its engines for DynamoDB, Kafka and Redis."
    )
    yield Text("### What an acknowledgement guarantees")
    yield Text("A server that guarantees less has less work per message:")
    yield Text("\n".join(_introduced(peers)))
    there = [result for result in peers if not result.found.skipped]
    yield Text("### Why the costs differ")
    yield Text(_WHY)
    yield from _wins(there)
    yield Text("### All figures of the comparison")
    yield _table(there)
    yield from _plot(there)


_WHY = (
    "A direct message takes a longer path in Tidings than in most of these servers. The gateway commits it to DynamoDB before"
    " it acknowledges it. The commit goes through Kafka to a delivery worker, which updates the chat rows of both users and"
    " publishes the message over Redis to the receiver's gateway. On this path every process can fail without losing an"
    " acknowledged message, and gateways and workers scale separately; each hop costs CPU and latency. Tidings is also"
    " written in Python. NATS, Centrifugo and Tinode are written in Go, and ejabberd in Erlang."
)


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
    """Warn if the machine did other work during the measurement."""
    if result.load_before > _BUSY:
        yield (
            f"The machine did other work during this measurement (load {words.number(result.load_before)} before,"
            f" {words.number(result.load_after)} after), so rates and latencies may be better on a quiet machine."
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
    """Plot figures above zero of at least three servers: a logarithmic axis cannot show zero."""
    rows = []
    for row in compared(peers):
        shown = [(peer, figure) for peer, figure in row.by_peer.items() if min(figure.runs) > 0]
        if len(shown) >= _ENOUGH:
            rows.append((f"{row.title} ({shown[0][1].better} is better)", shown))
    if rows:
        title = "Comparison with other servers"
        yield Plot("peers", title, partial(draw.compared_svg, title, rows))


def _wins(peers: Sequence[Result]) -> Iterator[Block]:
    """State the largest differences to each server with both values, in favour of either side."""
    yield Text("### Largest differences")
    rows = [row for row in compared(peers) if OURS in row.by_peer]
    for result in peers:
        if result.peer != OURS:
            duels = [_Duel.of(row, result.peer) for row in rows if result.peer in row.by_peer]
            yield Text(_paragraph(result.peer, [duel for duel in duels if duel.counts]))


class _Duel(NamedTuple):
    """A figure of another server and of Tidings. `times` is the ratio of the larger to the smaller value."""

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
        """Return whether the figure compares servers: not the load generator's own, and above zero for both.

        A server without a database has zero database CPU.
        """
        is_of_server = not self.name.startswith("load generator")
        return is_of_server and min(self.theirs, self.ours) > 0 and self.theirs != self.ours

    @property
    def times(self) -> float:
        low, high = sorted((self.theirs, self.ours))
        return high / low

    @property
    def subject(self) -> str:
        """Return the operation, which a server's figure and its database's figure share."""
        return self.name.partition(",")[0]

    def text(self) -> str:
        """Return the difference as a clause, with the value of the other server first."""
        unit = f" {self.unit}" if self.unit else ""
        clause = _CLAUSES.get(self.name, f"{self.name} is {{other}}{unit}, with Tidings {{tidings}}")
        return clause.format(other=words.number(self.theirs), tidings=words.number(self.ours))


_FIRST = "CPU per direct message, server"
_CLAUSES: Mapping[str, str] = {
    "direct messages at saturation": "it accepts {other} direct messages per second, Tidings {tidings}",
    "send to acknowledgement at low load, p50": (
        "it acknowledges a message after {other} ms, Tidings after {tidings}"
    ),
    "send to receipt at low load, p50": "it delivers a message after {other} ms, Tidings after {tidings}",
    "wire size of a received message with 100 bytes of text": (
        "it sends {other} bytes for a text of a hundred bytes, Tidings {tidings}"
    ),
    "connect and receive 100 missed messages, p50": (
        "a device receives a hundred missed messages after {other} ms, with Tidings after {tidings}"
    ),
    "CPU per direct message, server": "a direct message costs {other} µs of server CPU, with Tidings {tidings}",
    "CPU per direct message, database": (
        "a direct message costs {other} µs of database CPU, with Tidings {tidings}"
    ),
    "CPU per fan-out delivery, server": (
        "a delivery in a fan-out costs {other} µs of server CPU, with Tidings {tidings}"
    ),
    "CPU per fan-out delivery, database": (
        "a delivery in a fan-out costs {other} µs of database CPU, with Tidings {tidings}"
    ),
    "CPU per connect, server": "a connect costs {other} µs of server CPU, with Tidings {tidings}",
    "CPU per connect, database": ("a connect costs {other} µs of database CPU, with Tidings {tidings}"),
    "CPU to connect and receive 100 missed messages, server and database": (
        "a connect with a hundred missed messages costs {other} µs of CPU in total, with Tidings {tidings}"
    ),
    "memory per idle connection": "an idle connection needs {other} KB of memory, with Tidings {tidings}",
}


def _paragraph(peer: str, duels: Sequence[_Duel]) -> str:
    theirs = [duel for duel in duels if duel.they_win]
    ours = [duel for duel in duels if not duel.they_win]
    share = _how_much(len(theirs), len(duels))
    rest = "the others" if ours and theirs else "all" if ours else "none"
    return "\n\n".join(
        [
            f"**{peer}** is better in {share} of the shared figures{_most_clearly(theirs)}",
            f"**Tidings** is better in {rest}{_most_clearly(ours)}",
        ]
    )


def _how_much(won: int, of: int) -> str:
    """Return a share as a word, so that every digit of the page is a measured one."""
    share = won / of if of else 0.0
    names = ((1.0, "all"), (0.75, "nearly all"), (0.5, "most"), (0.25, "some"), (0.01, "few"))
    return next((name for least, name in names if share >= least), "none")


def _most_clearly(duels: Sequence[_Duel]) -> str:
    """List the largest differences, one for each operation. The cost of a direct message comes first."""
    by_subject: dict[str, _Duel] = {}
    for duel in sorted(duels, key=lambda duel: (duel.name != _FIRST, -duel.times)):
        by_subject.setdefault(duel.subject, duel)
    largest = list(by_subject.values())[:_ENOUGH]
    if not largest:
        return "."
    most = ", most clearly" if len(duels) > len(largest) else ""
    return "\n- ".join([f"{most}:\n", *(duel.text() for duel in largest)])
