"""Tenants, their API keys and signing keys."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from msgspec.structs import replace
from pydantic import Field

from tidings.accounts.api_keys import ApiKey, ApiKeyName
from tidings.accounts.model import Scope
from tidings.accounts.signing_keys import SigningKey
from tidings.api.console.policy import ConsoleRoute, Reach, allow
from tidings.api.console.session import AsOperator
from tidings.api.schemas.api_model import ApiModel, TenantInPath, Time
from tidings.kernel.clock import SystemClock, format_ms, format_ms_or_none
from tidings.operators.model import Role
from tidings.tenants.model import Tenant, TenantSettings

router = APIRouter(prefix="/admin/v1", route_class=ConsoleRoute, tags=["tenants"])


class TenantsResponse(ApiModel):
    tenants: list[str]


class TenantSettingsResponse(ApiModel):
    name: str
    audiences: list[str]
    jwks_url: str | None = None
    skew_s: int
    issuer: str | None = None
    typ: str | None = None
    phone_login: bool
    phone_prefixes: list[str]
    find_by_phone: bool
    push_previews: bool
    search: bool
    erasure_approval: bool


class TenantResponse(ApiModel):
    id: str
    settings: TenantSettingsResponse
    version: int
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, tenant: Tenant) -> "TenantResponse":
        settings, tokens = tenant.settings, tenant.settings.tokens
        return cls(
            id=tenant.id,
            settings=TenantSettingsResponse(
                name=settings.name,
                audiences=list(tokens.audiences),
                jwks_url=tokens.jwks_url,
                skew_s=tokens.skew_s,
                issuer=tokens.issuer,
                typ=tokens.typ,
                phone_login=settings.has_phone_login,
                phone_prefixes=list(settings.phone_prefixes),
                find_by_phone=settings.has_phone_search,
                push_previews=settings.push.has_previews,
                search=settings.has_search,
                erasure_approval=settings.has_erasure_approval,
            ),
            version=tenant.version,
            created_at=format_ms(tenant.created_at_ms),
            updated_at=format_ms(tenant.updated_at_ms),
        )


class CreateTenantBody(ApiModel):
    id: Annotated[str, Field(max_length=32)]
    name: Annotated[str, Field(max_length=64)] | None = None


class SetTenantBody(ApiModel):
    """A field that is left out keeps its value."""

    name: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    phone_login: bool | None = None
    phone_prefixes: list[str] | None = None
    find_by_phone: bool | None = None
    push_previews: bool | None = None
    erasure_approval: bool | None = None

    def apply_to(self, settings: TenantSettings) -> TenantSettings:
        given: dict[str, Any] = {
            "name": self.name,
            "has_phone_login": self.phone_login,
            "phone_prefixes": None if self.phone_prefixes is None else tuple(self.phone_prefixes),
            "has_phone_search": self.find_by_phone,
            "has_erasure_approval": self.erasure_approval,
            "push": None
            if self.push_previews is None
            else replace(settings.push, has_previews=self.push_previews),
        }
        return replace(settings, **{name: value for name, value in given.items() if value is not None})


class ApiKeyResponse(ApiModel):
    id: str
    title: str
    scopes: list[str]
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None
    last_used_at: Time | None = None

    @classmethod
    def of(cls, key: ApiKey) -> "ApiKeyResponse":
        return cls(
            id=key.name.key,
            title=key.title,
            scopes=sorted(key.scopes),
            created_at=format_ms(key.created_at_ms),
            expires_at=format_ms_or_none(key.expires_at_ms),
            revoked_at=format_ms_or_none(key.revoked_at_ms),
            last_used_at=format_ms_or_none(key.last_used_at_ms),
        )


class ApiKeysResponse(ApiModel):
    api_keys: list[ApiKeyResponse]


class IssueApiKeyBody(ApiModel):
    title: Annotated[str, Field(min_length=1, max_length=32)]
    scopes: Annotated[
        list[str], Field(min_length=1, json_schema_extra={"enum": [each.value for each in Scope]})
    ]
    life_s: Annotated[int, Field(ge=60)] | None = None


class IssuedApiKeyResponse(ApiModel):
    """A new key. Its secret is not stored and cannot be shown again."""

    api_key: ApiKeyResponse
    secret: str


class SigningKeyResponse(ApiModel):
    kid: str
    kind: str
    created_at: Time
    not_after: Time | None = None

    @classmethod
    def of(cls, key: SigningKey) -> "SigningKeyResponse":
        return cls(
            kid=key.kid,
            kind=str(key.jwk.get("crv")),
            created_at=format_ms(key.created_at_ms),
            not_after=format_ms_or_none(key.not_after_ms),
        )


class SigningKeysResponse(ApiModel):
    signing_keys: list[SigningKeyResponse]


class AddSigningKeyBody(ApiModel):
    jwk: dict[str, Any]


@router.get("/tenants", **allow("list_tenants", Role.VIEWER, Reach.OWN, is_recorded=False))
async def list_tenants(call: AsOperator) -> TenantsResponse:
    """List the tenants that the operator has a grant for."""
    found = await call.context.services.tenant_admin.list()
    return TenantsResponse(tenants=[each for each in found if call.operator.may_act_on(each)])


@router.post(
    "/tenants",
    **allow(
        "create_tenant", Role.OWNER, Reach.INSTALLATION, needs_reason=True, is_recorded=True, status_code=201
    ),
)
async def create_tenant(call: AsOperator, body: CreateTenantBody) -> TenantResponse:
    """Create a tenant. Its id never changes."""
    settings = TenantSettings(name=body.name or body.id)
    return TenantResponse.of(await call.context.services.tenant_admin.create(body.id, settings))


@router.get("/tenants/{tenant}", **allow("get_tenant", Role.VIEWER, is_recorded=False))
async def get_tenant(call: AsOperator, tenant: TenantInPath) -> TenantResponse:
    """Get the settings of a tenant."""
    return TenantResponse.of(await call.context.services.tenant_admin.read(tenant))


@router.patch("/tenants/{tenant}", **allow("set_tenant", Role.OWNER, needs_reason=True, is_recorded=True))
async def set_tenant(call: AsOperator, tenant: TenantInPath, body: SetTenantBody) -> TenantResponse:
    """Change settings of a tenant. Processes apply them within `accounts.tenant_refresh_s`."""
    return TenantResponse.of(await call.context.services.tenant_admin.change(tenant, body.apply_to))


@router.get("/tenants/{tenant}/api-keys", **allow("list_api_keys", Role.OPERATOR, is_recorded=False))
async def list_api_keys(call: AsOperator, tenant: TenantInPath) -> ApiKeysResponse:
    """List the API keys of a tenant, without their secrets."""
    found = await call.context.services.api_keys.list(tenant)
    return ApiKeysResponse(api_keys=[ApiKeyResponse.of(each) for each in found])


@router.post(
    "/tenants/{tenant}/api-keys",
    **allow("issue_api_key", Role.OWNER, needs_reason=True, is_recorded=True, status_code=201),
)
async def issue_api_key(
    call: AsOperator, tenant: TenantInPath, body: IssueApiKeyBody
) -> IssuedApiKeyResponse:
    """Issue an API key. The answer has its secret, which is not stored."""
    scopes = [Scope(each) for each in body.scopes]
    issued = await call.context.services.api_keys.issue(tenant, body.title, scopes, body.life_s)
    return IssuedApiKeyResponse(api_key=ApiKeyResponse.of(issued.key), secret=issued.text.reveal())


@router.delete(
    "/tenants/{tenant}/api-keys/{key}",
    **allow("revoke_api_key", Role.OWNER, needs_reason=True, is_recorded=True, status_code=204),
)
async def revoke_api_key(call: AsOperator, tenant: TenantInPath, key: str) -> None:
    """Revoke an API key. Processes refuse it within `accounts.api_key_refresh_s`."""
    await call.context.services.api_keys.revoke(ApiKeyName(tenant, key))


@router.get("/tenants/{tenant}/signing-keys", **allow("list_signing_keys", Role.OPERATOR, is_recorded=False))
async def list_signing_keys(call: AsOperator, tenant: TenantInPath) -> SigningKeysResponse:
    """List the public keys that verify the tenant's tokens."""
    found = await call.context.services.signing_keys.list(tenant)
    return SigningKeysResponse(signing_keys=[SigningKeyResponse.of(each) for each in found])


@router.post(
    "/tenants/{tenant}/signing-keys",
    **allow("add_signing_key", Role.OWNER, needs_reason=True, is_recorded=True, status_code=201),
)
async def add_signing_key(
    call: AsOperator, tenant: TenantInPath, body: AddSigningKeyBody
) -> SigningKeyResponse:
    """Register a public key, as a JWK."""
    return SigningKeyResponse.of(await call.context.services.signing_keys.add(tenant, body.jwk))


@router.delete(
    "/tenants/{tenant}/signing-keys/{kid}",
    **allow("retire_signing_key", Role.OWNER, needs_reason=True, is_recorded=True, status_code=204),
)
async def retire_signing_key(
    call: AsOperator, tenant: TenantInPath, kid: str, after_s: Annotated[int, Query(ge=0)] = 0
) -> None:
    """Refuse tokens of a key, now or after some seconds."""
    end_ms = SystemClock().now_ms() + after_s * 1000
    await call.context.services.signing_keys.retire(tenant, kid, end_ms)
