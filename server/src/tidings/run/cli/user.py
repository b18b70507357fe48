"""`tidings user create | show | sessions | end-sessions`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import click

from tidings.accounts.model import SessionId
from tidings.accounts.records import Session, User
from tidings.accounts.rules import check_user_id, phone_of
from tidings.kernel.clock import SystemClock, time_text
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.opening import open_client
from tidings.run.cli.output import SafeConsole, SafeTable, echo, echo_json
from tidings.run.people import People, open_people
from tidings.run.settings.load import load

_JSON = click.option("--json", "as_json", is_flag=True, help="For programs: one JSON value.")


@click.group(name="user")
def group() -> None:
    """Users and their sessions."""


@group.command()
@click.argument("tenant")
@click.option("--id", "user", help="The app's own id for the user.  [default: a new ULID]")
@click.option("--phone", help="In E.164, +4915112345678: they may log in with it.")
@click.option("--name", help="As others see them.")
@click.option("--avatar-uri", help="An https:// address.")
@_JSON
def create(
    tenant: str,
    user: str | None,
    phone: str | None,
    name: str | None,
    avatar_uri: str | None,
    *,
    as_json: bool,
) -> None:
    """Make a user of TENANT."""

    async def act(people: People) -> User:
        return await people.users.create(
            TenantId(tenant),
            None if user is None else check_user_id(user),
            phone=None if phone is None else phone_of(phone),
            display_name=name,
            avatar_uri=avatar_uri,
        )

    _show_user(_run(act), as_json=as_json)


@group.command()
@click.argument("tenant")
@click.argument("user", required=False)
@click.option("--phone", help="Find the user by this number instead.")
@_JSON
def show(tenant: str, user: str | None, phone: str | None, *, as_json: bool) -> None:
    """The profile of USER, or of who has a phone number."""
    if (user is None) == (phone is None):
        raise click.UsageError("Give USER or --phone, one of them.")

    async def act(people: People) -> User:
        if user is not None:
            return await people.users.read(TenantId(tenant), check_user_id(user))
        found = await people.users.by_phone(TenantId(tenant), phone_of(phone or ""))
        if found is None:
            raise TidingsError(Code.USER_NOT_FOUND, "Nobody has this phone number.")
        return found

    _show_user(_run(act), as_json=as_json)


@group.command()
@click.argument("tenant")
@click.argument("user")
@_JSON
def sessions(tenant: str, user: str, *, as_json: bool) -> None:
    """Where USER is logged in. A login of this very moment may be missing."""
    found = _run(lambda people: people.sessions.list(TenantId(tenant), check_user_id(user)))
    if as_json:
        echo_json([_session_fields(session) for session in found])
    else:
        _show_sessions(found)


@group.command(name="end-sessions")
@click.argument("tenant")
@click.argument("user")
@click.option("--session", help="This one alone.")
@_JSON
def end_sessions(tenant: str, user: str, session: str | None, *, as_json: bool) -> None:
    """Log USER out, everywhere or on one device. Holds within `accounts.session_check_s`."""

    async def act(people: People) -> int:
        if session is None:
            return await people.sessions.revoke_all(TenantId(tenant), check_user_id(user))
        if not await people.sessions.revoke(TenantId(tenant), check_user_id(user), SessionId(session)):
            raise TidingsError(Code.USER_NOT_FOUND, f"{user} has no session {session}.")
        return 1

    ended = _run(act)
    if as_json:
        echo_json({"ended": ended})
    else:
        echo(f"ok: {ended} sessions ended")


def _run[T](act: Callable[[People], Awaitable[T]]) -> T:
    async def run() -> T:
        settings = load().settings
        place = settings.dynamo
        if place.endpoint is None:
            raise TidingsError(
                Code.SETTINGS_INVALID,
                "dynamo.endpoint is not set, so there is nothing to look at",
                hint='Run `tidings engines start`, or set dynamo.endpoint to "aws" or to the URL of an engine.',
            )
        clock = SystemClock()
        async with (
            open_client(place.endpoint, place.region, place.table_prefix) as client,
            open_people(settings, client, clock) as people,
        ):
            return await act(people)

    return asyncio.run(run())


def _show_user(user: User, *, as_json: bool) -> None:
    fields = _user_fields(user)
    if as_json:
        echo_json(fields)
        return
    table = SafeTable()
    for name, value in fields.items():
        table.add_row(name.replace("_", " "), "-" if value is None else str(value))
    SafeConsole().print(table)


def _show_sessions(found: Sequence[Session]) -> None:
    table = SafeTable("session", "device", "name", "since", "last refreshed")
    for session in found:
        shown = _session_fields(session)
        table.add_row(*(shown[name] for name in ("session", "device", "name", "created_at", "refreshed_at")))
    SafeConsole().print(table)


def _user_fields(user: User) -> dict[str, str | None]:
    return {
        "tenant": user.tenant,
        "user": user.user,
        "phone": user.phone,
        "display_name": user.display_name,
        "avatar_uri": user.avatar_uri,
        "created_at": time_text(user.created_at_ms),
        "updated_at": time_text(user.updated_at_ms),
    }


def _session_fields(session: Session) -> dict[str, str]:
    """Without the hashes: they help nobody."""
    return {
        "session": session.session,
        "device": session.device.id,
        "name": session.device.name,
        "created_at": time_text(session.created_at_ms),
        "refreshed_at": time_text(session.refreshed_at_ms),
        "expires_at": time_text(session.expires_at_ms),
    }
