"""`tidings relay repair`: compare chat rows with logs, after an outage longer than the stream's retention or a restore."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path

import click

from tidings.accounts.rules import check_user_id
from tidings.app.settings.loader import load
from tidings.app.wiring.delivery import RepairTools, open_repair
from tidings.app.wiring.options import dynamo_endpoint, kafka_config, validate_settings
from tidings.cli.output import echo
from tidings.kernel.ids import ChatId, ChatKey, TenantId
from tidings.relay.repair import RepairResult, RepairRun


@click.group(name="relay")
def group() -> None:
    """Repair chats that the relay cannot repair automatically."""


@group.command()
@click.option("--tenant", help="The tenant of --chat and --user.")
@click.option("--chat", "chats", multiple=True, help="A chat of the tenant; several are allowed.")
@click.option("--user", "users", multiple=True, help="All chats of this user; several are allowed.")
@click.option(
    "--from",
    "listed",
    type=click.File(),
    help="A list of chats, one TENANT#CHAT in each line. `-` is stdin.",
)
@click.option("--chats-per-s", default=50.0, show_default=True, type=click.FloatRange(min=0.01))
@click.option(
    "--progress",
    "place",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file for the progress: the same command continues there.",
)
@click.option("--dry-run", is_flag=True, help="Show which chats are behind, and change nothing.")
def repair(
    *,
    tenant: str | None,
    chats: Sequence[str],
    users: Sequence[str],
    listed: Iterable[str] | None,
    chats_per_s: float,
    place: Path | None,
    dry_run: bool,
) -> None:
    """Repair the given chats: entries that their rows lack are handled and published again."""
    if (chats or users) and tenant is None:
        raise click.UsageError("--chat and --user need --tenant.")
    if not chats and not users and listed is None:
        raise click.UsageError("Give chats with --chat, --user or --from.")
    settings = load().settings
    validate_settings(settings, (dynamo_endpoint, kafka_config))

    async def act() -> RepairRun:
        async with open_repair(settings) as bench:
            run = RepairRun(
                bench.repair.inspect if dry_run else bench.repair.repair, chats_per_s, place, _print_result
            )
            await run.run(_chats(bench, TenantId(tenant or ""), chats, users, listed or ()))
            return run

    done = asyncio.run(act())
    what = "are behind" if dry_run else "were behind and are repaired"
    echo(f"{done.seen} chats checked, {done.repaired} {what}, {done.entries} entries in all")


async def _chats(
    bench: RepairTools, tenant: TenantId, chats: Sequence[str], users: Sequence[str], listed: Iterable[str]
) -> AsyncIterator[ChatKey]:
    for chat in chats:
        yield ChatKey(tenant, ChatId(chat))
    for user in users:
        for key in await bench.reader.chats_of(tenant, check_user_id(user)):
            yield key
    for line in listed:
        if line.strip():
            owner, _, chat = line.strip().partition("#")
            yield ChatKey(TenantId(owner), ChatId(chat))


def _print_result(chat: ChatKey, found: RepairResult) -> None:
    name = f"{chat.tenant}#{chat.chat}"
    if found.after < found.head:
        echo(f"{name}: {found.after + 1} to {found.head}")
    for sequence in found.unredacted:
        echo(f"{name}: message {sequence} was redacted and still had its text")
