"""Makes what knows people, as the settings say: users, sessions, access tokens, login by phone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tidings.accounts import phone, sessions
from tidings.accounts.access import Access
from tidings.accounts.admission import KEEP, Admission
from tidings.accounts.live import LiveSessions
from tidings.accounts.outbox import Courier, Outbox
from tidings.accounts.phone import PhoneLogin
from tidings.accounts.ports import Keys, Limits, SmsSender, Tenants
from tidings.accounts.sessions import Sessions
from tidings.accounts.sms_console import ConsoleSms
from tidings.accounts.store.codes import DynamoCodes
from tidings.accounts.store.sessions import DynamoSessions
from tidings.accounts.store.users import DynamoUsers
from tidings.accounts.users import Users
from tidings.kernel.clock import Clock
from tidings.platform.dynamo.authentic import AuthenticRows
from tidings.platform.dynamo.client import Client
from tidings.run.keys import kms_of, policy_of
from tidings.run.settings import Settings
from tidings.tenants.keys import KeyRing
from tidings.tenants.ports import Kms
from tidings.tenants.signing import SigningPolicy, SigningRing
from tidings.tenants.store import DynamoKeyStore

_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """`live.validate` after `access.verify`: one tells who, the other whether the session is still on."""

    users: Users
    sessions: Sessions
    live: LiveSessions
    access: Access
    admission: Admission


@asynccontextmanager
async def open_people(settings: Settings, client: Client, clock: Clock) -> AsyncIterator[People]:
    """With a key service of its own, for commands. A process that has one says so to `people_of`."""
    async with kms_of(settings) as kms:
        keys = KeyRing(DynamoKeyStore(client), kms, clock, policy_of(settings.encryption))
        yield people_of(settings, client, clock, kms, keys)


def people_of(settings: Settings, client: Client, clock: Clock, kms: Kms, keys: Keys) -> People:
    wanted = settings.accounts
    authentic = AuthenticRows(keys)
    user_rows, rows = DynamoUsers(client, authentic), DynamoSessions(client, authentic)
    signing = SigningRing(DynamoKeyStore(client), kms, clock, signing_policy(settings))
    access = Access(signing, clock, wanted.access_life_s)
    world = sessions.World(rows=rows, users=user_rows, access=access, keys=keys, clock=clock)
    users = Users(user_rows, clock)
    admission = Admission(users, clock, replace(KEEP, fresh_s=wanted.user_check_s))
    return People(
        users=users,
        sessions=Sessions(
            world,
            wanted.session_idle_days * _DAY_S,
            wanted.session_max_days * _DAY_S,
            wanted.sessions_per_user,
        ),
        live=LiveSessions(rows, admission, clock, kept_s=wanted.session_check_s),
        access=access,
        admission=admission,
    )


def phone_login(
    settings: Settings,
    client: Client,
    clock: Clock,
    people: People,
    *,
    keys: Keys,
    limits: Limits,
    tenants: Tenants,
) -> tuple[PhoneLogin, Outbox]:
    """The outbox is to be kept running: `Outbox.run`."""
    wanted = settings.accounts
    is_open = wanted.sign_up == "open"
    courier = Courier(people.users, sms_of(settings), text=wanted.sms_text, is_sign_up_open=is_open)
    outbox = Outbox(courier, clock)
    world = phone.World(
        codes=DynamoCodes(client, keys),
        users=people.users,
        sessions=people.sessions,
        outbox=outbox,
        keys=keys,
        limits=limits,
        tenants=tenants,
        clock=clock,
    )
    policy = phone.Policy(
        code_life_s=wanted.code_life_s, is_sign_up_open=is_open, sends_codes=wanted.sms != "none"
    )
    return PhoneLogin(world, policy), outbox


def sms_of(settings: Settings) -> SmsSender:
    wanted = settings.accounts
    if wanted.sms != "sns":  # `none`: `PhoneLogin` makes no code, so nothing reaches the sender
        return ConsoleSms()
    endpoint = None if wanted.sms_endpoint == "aws" else wanted.sms_endpoint
    from tidings.accounts.sms_sns import SnsSms, sns_client  # noqa: PLC0415 - it loads botocore

    return SnsSms(sns_client(wanted.sms_region or settings.dynamo.region, endpoint), wanted.sms_sender_id)


def signing_policy(settings: Settings) -> SigningPolicy:
    wanted = settings.encryption
    return SigningPolicy(
        token_life_s=settings.accounts.access_life_s,
        rotate_after_s=wanted.rotate_after_days * _DAY_S,
        refresh_s=wanted.refresh_s,
    )
