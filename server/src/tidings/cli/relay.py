"""`tidings relay repair`: after an outage longer than the stream keeps, hold rows against logs."""

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
    """What the relay can't put right by itself."""


@group.command()
@click.option("--tenant", help="Of the chats and users that are named.")
@click.option("--chat", "chats", multiple=True, help="A chat of the tenant; several are allowed.")
@click.option("--user", "users", multiple=True, help="All chats of this user; several are allowed.")
@click.option(
    "--from",
    "listed",
    type=click.File(),
    help="A list of chats, a line each: TENANT#CHAT, as the table `chats` has them. `-` is stdin.",
)
@click.option("--chats-per-s", default=50.0, show_default=True, type=click.FloatRange(min=0.01))
@click.option(
    "--progress",
    "place",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keeps how many were done: the same command goes on there.",
)
@click.option("--dry-run", is_flag=True, help="Tell what is behind, and change nothing.")
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
    """Mend the chats that are named: what their rows have missed is handled, and published again."""
    if (chats or users) and tenant is None:
        raise click.UsageError("--chat and --user need --tenant.")
    if not chats and not users and listed is None:
        raise click.UsageError("Name chats by --chat, --user or --from.")
    settings = load().settings
    validate_settings(settings, (dynamo_endpoint, kafka_config))

    async def act() -> RepairRun:
        async with open_repair(settings) as bench:
            walk = RepairRun(
                bench.repair.inspect if dry_run else bench.repair.repair, chats_per_s, place, _print_result
            )
            await walk.run(_chats(bench, TenantId(tenant or ""), chats, users, listed or ()))
            return walk

    done = asyncio.run(act())
    what = "are behind" if dry_run else "were behind and are mended"
    echo(f"{done.seen} chats looked at, {done.repaired} {what}, {done.entries} entries in all")


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
    echo(f"{chat.tenant}#{chat.chat}: {found.after + 1} to {found.head}")
