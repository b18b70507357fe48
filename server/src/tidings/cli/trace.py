"""`tidings trace`: show where a message is, from stored data. Changes nothing, and never shows content."""

import click
import msgspec
from rich.text import Text

from tidings.cli.output import SafeConsole, echo_json
from tidings.kernel.errors import Code, TidingsError
from tidings.trace.model import RecipientState, RecipientTrace, Trace, TraceOutcome

EXITS = {TraceOutcome.IN_PROGRESS: 3, TraceOutcome.UNKNOWN: 4}
"""The exit code of every other outcome is 0."""
_STYLES = {
    RecipientState.READ: ("✓", "green"),
    RecipientState.DELIVERED: ("✓", "green"),
    RecipientState.SENDER: ("·", "dim"),
    RecipientState.NOT_RECIPIENT: ("·", "dim"),
    RecipientState.WAITING: ("…", "yellow"),
    RecipientState.OFFLINE: ("…", "yellow"),
}
_OTHERWISE = ("!", "bold red")
type Cost = dict[str, tuple[int, float]]


@click.command(name="trace")
@click.argument("message")
@click.option("--tenant", help="The tenant of the message; or before its id: acme#gAB12.40")
@click.option("--user", "users", multiple=True, help="Only this recipient; may be repeated.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.option("--cost", "has_cost", is_flag=True, help="Show the reads of the search in DynamoDB.")
def group(*, message: str, tenant: str | None, users: tuple[str, ...], is_json: bool, has_cost: bool) -> None:
    """Show where MESSAGE is: committed, published, handled, and its state for each recipient.

    The id is <chat>.<sequence>. Exit codes: 0 if every recipient that can be reached has the message, 3 if it is still
    on its way to a recipient, 4 if that is unknown, 1 if there is no such message.
    """
    owner, name = _owner(message, tenant)
    found, cost = _search(owner, name, users)
    if is_json:
        echo_json(_with_cost(found, cost) if has_cost else found)
    else:
        _show(found)
        if has_cost:
            _show_cost(cost)
    raise click.exceptions.Exit(EXITS.get(found.outcome, 0))


def _owner(message: str, tenant: str | None) -> tuple[str, str]:
    before, sign, name = message.partition("#")
    if not sign:
        before, name = "", message
    if not (before or tenant):
        raise click.UsageError("The tenant is missing: give --tenant, or write it before the id: acme#<id>.")
    if before and tenant and before != tenant:
        raise click.UsageError(f"--tenant says {tenant}, the id says {before}.")
    return before or tenant or "", name


def _search(tenant: str, name: str, users: tuple[str, ...]) -> tuple[Trace, Cost]:
    import asyncio  # noqa: PLC0415 - with what follows a second that `--help` need not wait

    from tidings.accounts.rules import check_user_id  # noqa: PLC0415 - as above
    from tidings.app.settings.loader import load  # noqa: PLC0415 - as above
    from tidings.app.wiring.options import validate_settings  # noqa: PLC0415 - as above
    from tidings.app.wiring.trace import BUILDS, open_trace_search  # noqa: PLC0415 - as above
    from tidings.kernel.clock import SystemClock  # noqa: PLC0415 - as above
    from tidings.kernel.ids import TenantId  # noqa: PLC0415 - as above
    from tidings.schema.tables.model import KeyPartError  # noqa: PLC0415 - as above
    from tidings.trace import rules  # noqa: PLC0415 - as above

    settings = load().settings
    validate_settings(settings, BUILDS)

    async def searched() -> tuple[Trace, Cost]:
        async with open_trace_search(settings, SystemClock()) as search:
            found = await search.collector.collect(
                TenantId(tenant), name, [check_user_id(user) for user in users]
            )
            return rules.build_trace(found), search.cost()

    try:
        return asyncio.run(searched())
    except KeyPartError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Not a valid id: {error}") from error


def _with_cost(found: Trace, cost: Cost) -> Trace:
    return msgspec.structs.replace(found, cost={name: units for name, (_, units) in cost.items()})


def _show(found: Trace) -> None:
    console = SafeConsole(soft_wrap=True)
    console.print(Text(found.verdict, "bold"))
    for name, value in _facts(found):
        console.print(Text.assemble((f"  {name:<11}", "dim"), value))
    for each in found.recipients:
        console.print(_line(each))
    if found.recipients and found.has_more_recipients:
        console.print(Text("  and others, who are not listed: name one by --user", "dim"))


def _facts(found: Trace) -> list[tuple[str, str]]:
    changed = [("edited", found.edited_at), ("redacted", found.redacted_at), ("expires", found.expires_at)]
    return [
        ("committed", f"{found.committed_at}, a {found.kind} of {found.sender}"),
        *((name, at) for name, at in changed if at is not None),
        ("published", found.published.verdict),
        ("handled", found.handled.verdict),
    ]


def _line(each: RecipientTrace) -> Text:
    sign, style = _STYLES.get(each.state, _OTHERWISE)
    text = Text.assemble((f"{sign} ", style), f"{each.user}: {each.verdict}")
    for note in each.notes:
        text.append(f"\n    {note}", "dim")
    for push in each.pushes:
        device_name = "" if push.device is None else f"{push.device}: "
        text.append(f"\n    {device_name}{push.verdict}, {push.at}", "dim")
        for attempt in push.attempts:
            answer = f"{attempt.status or 'no status'} {attempt.answer or attempt.provider_id}".rstrip()
            text.append(f"\n      {attempt.at} {attempt.action}: {answer}", "dim")
    for device in each.devices:
        suffix = "" if device.is_gateway_there else ", which is not running"
        words = f"{device.id} on gateway {device.gateway} since {device.connected_since}{suffix}"
        text.append(f"\n    {words}", "dim")
    return text


def _show_cost(cost: Cost) -> None:
    console = SafeConsole(soft_wrap=True)
    calls, units = sum(each[0] for each in cost.values()), sum(each[1] for each in cost.values())
    console.print(Text(f"read with {calls} calls, {units:g} read units, no writes", "dim"))
    for name, (count, read) in sorted(cost.items()):
        console.print(Text(f"  {name:<26} {count} calls, {read:g} units", "dim"))
