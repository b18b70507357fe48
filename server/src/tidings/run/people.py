"""Makes what knows people, as the settings say: users, sessions, access tokens, login by phone."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from tidings.accounts import phone, sessions
from tidings.accounts.access import AccessTokenService
from tidings.accounts.admission import ADMISSION_CACHE, UserAdmission
from tidings.accounts.live import SessionCache
from tidings.accounts.outbox import SmsCodeSender, SmsQueue
from tidings.accounts.phone import PhoneLogin
from tidings.accounts.ports import LoginLimiter, SmsSender, TenantKeyProvider, TenantPolicyReader
from tidings.accounts.sessions import SessionService
from tidings.accounts.sms_console import ConsoleSms
from tidings.accounts.store.codes import DynamoCodeStore
from tidings.accounts.store.sessions import DynamoSessionStore
from tidings.accounts.store.users import DynamoUserStore
from tidings.accounts.users import UserService
from tidings.kernel.clock import Clock
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.dynamo.client import DynamoClient
from tidings.run.keys import key_policy, make_kms
from tidings.run.settings import Settings
from tidings.tenants.keys import KeyRing
from tidings.tenants.ports import Kms
from tidings.tenants.signing import SigningKeyRing, SigningPolicy
from tidings.tenants.store import DynamoKeyStore

_DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginServices:
    """`live.validate` after `access.verify`: one tells who, the other whether the session is still on."""

    users: UserService
    sessions: SessionService
    live: SessionCache
    access: AccessTokenService
    admission: UserAdmission


@asynccontextmanager
async def open_login_services(
    settings: Settings, client: DynamoClient, clock: Clock
) -> AsyncIterator[LoginServices]:
    """With a key service of its own, for commands. A process that has one says so to `build_login_services`."""
    async with make_kms(settings) as kms:
        keys = KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))
        yield build_login_services(settings, client, clock, kms, keys)


def build_login_services(
    settings: Settings, client: DynamoClient, clock: Clock, kms: Kms, keys: TenantKeyProvider
) -> LoginServices:
    wanted = settings.accounts
    authentic = AuthenticatedRows(keys)
    user_rows, rows = DynamoUserStore(client, authentic), DynamoSessionStore(client, authentic)
    signing = SigningKeyRing(DynamoKeyStore(client), kms, clock, signing_policy(settings))
    access = AccessTokenService(signing, clock, wanted.access_life_s)
    world = sessions.SessionDeps(rows=rows, users=user_rows, access=access, keys=keys, clock=clock)
    users = UserService(user_rows, clock)
    admission = UserAdmission(users, clock, replace(ADMISSION_CACHE, fresh_s=wanted.user_check_s))
    return LoginServices(
        users=users,
        sessions=SessionService(
            world,
            wanted.session_idle_days * _DAY_S,
            wanted.session_max_days * _DAY_S,
            wanted.sessions_per_user,
        ),
        live=SessionCache(rows, admission, clock, kept_s=wanted.session_check_s),
        access=access,
        admission=admission,
    )


def build_phone_login(
    settings: Settings,
    client: DynamoClient,
    clock: Clock,
    login_services: LoginServices,
    *,
    keys: TenantKeyProvider,
    limits: LoginLimiter,
    tenants: TenantPolicyReader,
) -> tuple[PhoneLogin, SmsQueue]:
    """The outbox is to be kept running: `SmsQueue.run`."""
    wanted = settings.accounts
    is_open = wanted.sign_up == "open"
    courier = SmsCodeSender(
        login_services.users, make_sms_sender(settings), text=wanted.sms_text, is_sign_up_open=is_open
    )
    outbox = SmsQueue(courier, clock)
    world = phone.PhoneLoginDeps(
        codes=DynamoCodeStore(client, keys),
        users=login_services.users,
        sessions=login_services.sessions,
        outbox=outbox,
        keys=keys,
        limits=limits,
        tenants=tenants,
        clock=clock,
    )
    policy = phone.PhoneLoginPolicy(
        code_life_s=wanted.code_life_s, is_sign_up_open=is_open, sends_codes=wanted.sms != "none"
    )
    return PhoneLogin(world, policy), outbox


def make_sms_sender(settings: Settings) -> SmsSender:
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
