"""The tenant `dev`, the key that signs its users' tokens, its server's API key: made once, kept with the data.

After `--fresh`, or with other engines, the tenant does not know the kept keys: then new ones are made.
"""

import json
import secrets
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from tidings.accounts.api_keys import PREFIX, ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.signatures import sign_jws
from tidings.accounts.signing_keys import SigningKeyService
from tidings.accounts.store.signing_keys import DynamoSigningKeyStore
from tidings.kernel.clock import Clock
from tidings.kernel.ids import TenantId
from tidings.platform.dynamo.authentic import AuthenticatedRows
from tidings.platform.dynamo.client import DynamoClient
from tidings.run.accounts import open_api_keys, open_tables
from tidings.run.dev.place import StateDir, read_json, write_private
from tidings.run.keys import open_key_ring
from tidings.run.settings import Settings
from tidings.tenants.model import TenantSettings
from tidings.tenants.store import DynamoTenantStore

TENANT = TenantId("dev")
_SCOPES = frozenset({Scope.USERS, Scope.ACT_AS_USER, Scope.NOTIFICATIONS})
_AUDIENCE = "tidings"
# Codes are printed here, so they cost nothing.
_ANY_COUNTRY = tuple(f"+{digit}" for digit in range(1, 10))


class DevKeys(Struct, frozen=True, kw_only=True):
    """`signing` is a private JWK, `server` an API key."""

    signing: dict[str, Any]
    server: str
    cursor_secret: str

    def token(self, user: str, now_s: int, life_s: int) -> str:
        claims = {"tenant": TENANT, "sub": user, "aud": _AUDIENCE, "iat": now_s, "exp": now_s + life_s}
        return sign_jws(claims, self.signing)


async def create_dev_tenant(settings: Settings, state_dir: StateDir, clock: Clock) -> DevKeys:
    """Safe to repeat."""
    async with open_tables(settings.dynamo) as client, open_key_ring(settings, client, clock) as ring:
        rows = AuthenticatedRows(ring)
        store = DynamoTenantStore(client, rows)
        if await store.read(TENANT) is None:
            wanted = TenantSettings(name="Dev", has_phone_login=True, phone_prefixes=_ANY_COUNTRY)
            await store.create(TENANT, wanted, clock.now_ms())
        keys = await _keys(settings, client, state_dir, clock, rows)
    write_private(state_dir.keys, json.dumps(asdict(keys), indent=1))
    return keys


async def _keys(
    settings: Settings, client: DynamoClient, state_dir: StateDir, clock: Clock, rows: AuthenticatedRows
) -> DevKeys:
    kept = read_json(state_dir.keys)
    return DevKeys(
        signing=await _signing(
            SigningKeyService(DynamoSigningKeyStore(client, rows), clock), kept.get("signing")
        ),
        server=await _server(open_api_keys(settings.accounts, client, clock, rows), kept.get("server")),
        cursor_secret=kept.get("cursor_secret") or secrets.token_urlsafe(32),
    )


async def _signing(keys: SigningKeyService, kept: object) -> dict[str, Any]:
    good = {key.kid for key in await keys.list(TENANT) if key.not_after_ms is None}
    if isinstance(kept, dict) and kept.get("kid") in good:
        return kept
    return (await keys.make(TENANT, "Ed25519")).private


async def _server(keys: ApiKeyService, kept: object) -> str:
    """One that an older version made may do too little."""
    listed = await keys.list(TENANT)
    good = {key.name.key for key in listed if key.revoked_at_ms is None and key.scopes >= _SCOPES}
    if isinstance(kept, str) and kept.removeprefix(PREFIX).split(".")[1:2] and kept.split(".")[2] in good:
        return kept
    return (await keys.issue(TENANT, "tidings dev", _SCOPES)).text.reveal()
