"""`tidings user create | show | list | find | chats | export | sessions | end-sessions | suspend | unsuspend | erase | erasure | approve-erasure | reject-erasure`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import click

from tidings.accounts.model import Session, SessionId, User
from tidings.accounts.rules import check_user_id, parse_phone
from tidings.accounts.users import MAX_READ
from tidings.app.settings.loader import load
from tidings.app.wiring.accounts import LoginServices, open_login_services
from tidings.app.wiring.engine_clients import open_tables
from tidings.app.wiring.trace import SupportLookup, build_support_lookup
from tidings.chats.model import chat_type
from tidings.cli import erasure
from tidings.cli.output import SafeConsole, SafeTable, echo, echo_json, show_fields, show_wide
from tidings.cli.tenant import explain_missing_tenant, require_tenant
from tidings.cli.user_export import export
from tidings.kernel.clock import SystemClock, format_ms, format_ms_or_none
from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatId, TenantId, UserId, message_id
from tidings.trace.lookup import UserChat

_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
_COUNTED_CHATS = 1_000
"""A user with more chats is shown without a number: counting all would need many reads."""


@click.group(name="user")
def group() -> None:
    """Users and their sessions."""


group.add_command(export)
group.add_command(erasure.erase)
group.add_command(erasure.approve)
group.add_command(erasure.reject)
group.add_command(erasure.show_erasure)


@group.command()
@click.argument("tenant")
@click.option("--id", "user", help="The app's own id for the user.  [default: a new ULID]")
@click.option("--phone", help="A number in E.164, +4915112345678, for phone login.")
@click.option("--name", help="Display name.")
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
    """Create a user of TENANT."""

    async def act(people: LoginServices) -> User:
        return await people.users.create(
            TenantId(tenant),
            None if user is None else check_user_id(user),
            phone=None if phone is None else parse_phone(phone),
            display_name=name,
            avatar_uri=avatar_uri,
        )

    show_fields(_user_fields(_run(act)), as_json=as_json)


@group.command()
@click.argument("tenant")
@click.argument("user", required=False)
@click.option("--phone", help="Find the user by this number instead.")
@_JSON
def show(tenant: str, user: str | None, phone: str | None, *, as_json: bool) -> None:
    """Show the profile of USER, or of the user with a phone number, their last connection and number of chats."""
    if (user is None) == (phone is None):
        raise click.UsageError("Give USER or --phone, one of them.")

    async def act(people: LoginServices, lookup: SupportLookup) -> dict[str, object]:
        if user is not None:
            found = await people.users.read(TenantId(tenant), check_user_id(user))
        elif (owner := await people.users.by_phone(TenantId(tenant), parse_phone(phone or ""))) is not None:
            found = owner
        else:
            raise TidingsError(Code.USER_NOT_FOUND, "No user has this phone number.")
        return _user_fields(found) | await _activity(found, lookup)

    show_fields(_find_user(act, _tenant_of_number(tenant, phone)), as_json=as_json)


async def _activity(user: User, lookup: SupportLookup) -> dict[str, object]:
    """Read what is cheap to show with the profile: one Query and one read of Redis."""
    presence = await lookup.presence(user.tenant, user.user)
    return {
        "presence": None if presence is None else presence.status.value,
        "last_seen_at": None if presence is None else format_ms_or_none(presence.seen_ms),
        "chats": await lookup.chats.count(user.tenant, user.user, _COUNTED_CHATS),
    }


@group.command()
@click.argument("tenant")
@click.argument("user")
@click.option("--after", help="Continue after this chat: the greatest id of the page before.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1_000))
@_JSON
def chats(tenant: str, user: str, after: str | None, limit: int, *, as_json: bool) -> None:
    """List the chats of USER with their other members, the most recently active first.

    Pages go by chat id, and each page is sorted by activity. A chat of the last seconds may be missing.
    """

    async def act(_: LoginServices, lookup: SupportLookup) -> Sequence[UserChat]:
        start = None if after is None else ChatId(after)
        return await lookup.chats.page(TenantId(tenant), check_user_id(user), start, limit)

    found = [_chat_fields(UserId(user), each) for each in _find_user(act)]
    if as_json:
        echo_json(found)
        return
    table = SafeTable("chat", "type", "name", "others", "last activity", "newest", "member")
    for each in found:
        more = f" and {each['more_others']} more" if each["more_others"] else ""
        cells = ("chat", "type", "name", "others", "last_activity_at", "newest_message", "is_member")
        shown = each | {
            "others": ", ".join(each["others"]) + more,
            "is_member": "yes" if each["is_member"] else "left",
        }
        table.add_row(*(str(shown[name] or "-") for name in cells))
    show_wide(table)
    if len(found) == limit:
        echo(f"There may be more: --after {max(each['chat'] for each in found)}", dim=True)


def _chat_fields(user: UserId, found: UserChat) -> dict[str, Any]:
    chat, newest = found.chat, found.newest
    others = sorted((chat.some_members if chat else frozenset()) - {user})
    counted = 0 if chat is None else chat.member_count - found.membership.is_member
    return {
        "chat": found.id,
        "type": chat_type(found.id).value,
        "name": None if chat is None else chat.name,
        "others": others,
        "more_others": max(0, counted - len(others)),
        "last_activity_at": None if newest is None else format_ms(newest.created_at_ms),
        "newest_message": None if newest is None else message_id(found.id, newest.sequence),
        "is_member": found.membership.is_member,
    }


_LIMIT = click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000))


@group.command(name="list")
@click.argument("tenant")
@click.option("--after", help="Continue after this user: the last one of the list before.")
@_LIMIT
@_JSON
def list_(tenant: str, after: str | None, limit: int, *, as_json: bool) -> None:
    """List the users of TENANT, in the order of its directory."""
    start = None if after is None else check_user_id(after)
    _show_found(_run(lambda people: _found(people, tenant, limit, start)), as_json=as_json)


@group.command()
@click.argument("tenant")
@click.option("--prefix", help="Ids that begin with this.")
@click.option("--name", help="Display names that contain this, in any case. Reads every user of TENANT.")
@click.option("--phone", help="This number, in E.164.")
@_LIMIT
@_JSON
def find(
    tenant: str, prefix: str | None, name: str | None, phone: str | None, limit: int, *, as_json: bool
) -> None:
    """Find users of TENANT by id, display name or phone number."""
    if sum(each is not None for each in (prefix, name, phone)) != 1:
        raise click.UsageError("Give one of --prefix, --name and --phone.")

    async def act(people: LoginServices) -> Sequence[User]:
        if phone is not None:
            user = await people.users.by_phone(TenantId(tenant), parse_phone(phone))
            return [] if user is None else [user]
        return await _found(people, tenant, limit, prefix=prefix or "", name=name or "")

    _show_found(_run(act, _tenant_of_number(tenant, phone)), as_json=as_json)


async def _found(
    login_services: LoginServices,
    tenant: str,
    limit: int,
    after: UserId | None = None,
    *,
    prefix: str = "",
    name: str = "",
) -> Sequence[User]:
    found: list[User] = []
    while len(found) < limit:
        page = await login_services.users.list(TenantId(tenant), after, MAX_READ, prefix)
        found.extend(each for each in page.users if name.casefold() in (each.display_name or "").casefold())
        if (after := page.after) is None:
            break
    return found[:limit]


@group.command()
@click.argument("tenant")
@click.argument("user")
def suspend(tenant: str, user: str) -> None:
    """Refuse every credential of USER and close their sockets, everywhere within 10 s."""
    _run(lambda people: people.users.suspend(TenantId(tenant), check_user_id(user), is_on=True))
    echo(f"ok: {user} is suspended")


@group.command()
@click.argument("tenant")
@click.argument("user")
def unsuspend(tenant: str, user: str) -> None:
    """Accept the credentials of USER again."""
    _run(lambda people: people.users.suspend(TenantId(tenant), check_user_id(user), is_on=False))
    echo(f"ok: {user} is no longer suspended")


@group.command()
@click.argument("tenant")
@click.argument("user")
@_JSON
def sessions(tenant: str, user: str, *, as_json: bool) -> None:
    """List the sessions of USER. A session that was created just now can be missing."""
    found = _run(lambda people: people.sessions.list(TenantId(tenant), check_user_id(user)))
    if as_json:
        echo_json([_session_fields(session) for session in found])
    else:
        _show_sessions(found)


@group.command(name="end-sessions")
@click.argument("tenant")
@click.argument("user")
@click.option("--session", help="End only this session.")
@_JSON
def end_sessions(tenant: str, user: str, session: str | None, *, as_json: bool) -> None:
    """Log USER out, everywhere or on one device, within 10 s: sockets are closed, credentials refused.

    Without --session, tokens that the tenant's own server signed before are refused too.
    """

    async def act(people: LoginServices) -> int:
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


def _tenant_of_number(tenant: str, phone: str | None) -> TenantId | None:
    """Return the tenant of a look-up by number. It must exist: the look-up would create keys for a mistyped one."""
    return None if phone is None else TenantId(tenant)


def _run[T](act: Callable[[LoginServices], Awaitable[T]], required: TenantId | None = None) -> T:
    return _find_user(lambda people, _: act(people), required)


def _find_user[T](
    act: Callable[[LoginServices, SupportLookup], Awaitable[T]], required: TenantId | None = None
) -> T:
    """Run a command. Fail first if the tenant `required` does not exist."""

    async def run() -> T:
        settings = load().settings
        clock = SystemClock()
        async with (
            open_tables(settings.dynamo) as client,
            open_login_services(settings, client, clock) as people,
            explain_missing_tenant(settings, client),
        ):
            if required is not None:
                await require_tenant(settings, client, required)
            return await act(people, build_support_lookup(settings, client, clock))

    return asyncio.run(run())


def _show_found(found: Sequence[User], *, as_json: bool) -> None:
    if as_json:
        echo_json([_user_fields(user) for user in found])
        return
    table = SafeTable("user", "name", "phone", "since", "suspended")
    for user in found:
        shown = _user_fields(user)
        names = ("user", "display_name", "phone", "created_at", "suspended_at")
        table.add_row(*(shown[name] or "-" for name in names))
    SafeConsole().print(table)


def _show_sessions(found: Sequence[Session]) -> None:
    table = SafeTable("session", "device", "name", "since", "last refreshed")
    for session in found:
        shown = _session_fields(session)
        table.add_row(*(shown[name] for name in ("session", "device", "name", "created_at", "refreshed_at")))
    SafeConsole().print(table)


def _user_fields(user: User) -> dict[str, Any]:
    return {
        "tenant": user.tenant,
        "user": user.user,
        "phone": user.phone,
        "display_name": user.display_name,
        "avatar_uri": user.avatar_uri,
        "created_at": format_ms(user.created_at_ms),
        "updated_at": format_ms(user.updated_at_ms),
        "suspended_at": None if user.suspended_at_ms is None else format_ms(user.suspended_at_ms),
    }


def _session_fields(session: Session) -> dict[str, str]:
    """Return the sessions without their hashes."""
    return {
        "session": session.session,
        "device": session.device.id,
        "name": session.device.name,
        "created_at": format_ms(session.created_at_ms),
        "refreshed_at": format_ms(session.refreshed_at_ms),
        "expires_at": format_ms(session.expires_at_ms),
    }
