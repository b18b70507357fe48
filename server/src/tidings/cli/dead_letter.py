"""`tidings dead-letter list | show | replay | drop`."""

import asyncio
from collections.abc import Awaitable, Callable

import click

from tidings.app.wiring.dead_letters import open_dead_letters
from tidings.cli.output import SafeTable, echo, show_wide
from tidings.dead_letters.model import DeadLetter, DeadLetterPosition
from tidings.dead_letters.service import DeadLetters
from tidings.kernel.clock import format_ms

_LETTER = click.argument("letter")


@click.group(name="dead-letter")
def group() -> None:
    """Dead letters: records that a worker could not decode, and refused push notifications."""


@group.command(name="list")
@click.argument("topic", required=False)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
@click.option("--from", "start", help="Where the previous list ended.  [default: the oldest]")
def list_(topic: str | None, limit: int, start: str | None) -> None:
    """List the dead letters of TOPIC that wait for an operator, or count those of every topic."""
    if topic is None:
        counts = _run(lambda letters: letters.counts())
        table = SafeTable("topic", "replays to", "waiting")
        for each in counts:
            table.add_row(each.topic, each.replays_to, str(each.waiting))
        show_wide(table)
        return
    after = None if start is None else DeadLetterPosition.parse(start)
    page = _run(lambda letters: letters.page(topic, limit, after))
    table = SafeTable("letter", "since", "bytes", "key", "source", "reason")
    for letter in page.letters:
        since, size = format_ms(letter.at_ms), str(letter.size_bytes)
        table.add_row(str(letter.position), since, size, _key(letter), letter.source, letter.reason)
    show_wide(table)
    if page.next is not None:
        echo(f"There are more: --from {page.next}")


@group.command()
@_LETTER
def show(letter: str) -> None:
    """Show LETTER, such as messages-dead/0/17, without its content."""
    found, mark = _run(lambda letters: letters.find(DeadLetterPosition.parse(letter)))
    table = SafeTable()
    state = "waiting" if mark is None else f"{mark.action} at {format_ms(mark.at_ms)}"
    facts = {
        "letter": str(found.position),
        "state": state,
        "since": format_ms(found.at_ms),
        "reason": found.reason,
        "source": found.source,
        "key": _key(found),
        "bytes": str(found.size_bytes),
        "headers": ", ".join(name for name, _ in found.headers) or "-",
    }
    for name, value in facts.items():
        table.add_row(name, value)
    show_wide(table)


@group.command()
@_LETTER
def replay(letter: str) -> None:
    """Publish LETTER again to the topic that it came from. Do so after the cause is repaired."""
    found = _run(lambda letters: letters.replay(DeadLetterPosition.parse(letter)))
    echo(f"{found.position} was published again. If it still cannot be decoded, a new dead letter appears.")


@group.command()
@_LETTER
def drop(letter: str) -> None:
    """Remove LETTER from the list. Kafka keeps the record until its retention ends."""
    echo(f"{_run(lambda letters: letters.drop(DeadLetterPosition.parse(letter))).position} was dropped.")


def _key(letter: DeadLetter) -> str:
    return "-" if letter.key_text is None else letter.key_text


def _run[T](work: Callable[[DeadLetters], Awaitable[T]]) -> T:
    async def run() -> T:
        async with open_dead_letters() as letters:
            return await work(letters)

    return asyncio.run(run())
