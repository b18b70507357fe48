"""Where sealed content belongs, as bytes; when a key is due; what may be set. Pure."""

import re
from collections.abc import Mapping

import msgspec

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId
from tidings.tenants.model import SETTINGS_FORM, KeyName, Purpose, TenantSettings, WrappedKey

_TENANT_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


def seal_location(purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
    """Two different places never spell the same, and none is the beginning of another: names carry their length."""
    tenant, name = chat
    return f"{purpose}{len(tenant)}:{tenant}{len(name)}:{name}{sequence};".encode()


def wrap_context(tenant: TenantId, name: KeyName) -> Mapping[str, str]:
    """What a data key is wrapped for: in another tenant's row, or under another name, it does not unwrap."""
    return {"tenant": tenant, "key": str(name), "purpose": name.kind.value}


def is_due(key: WrappedKey, now_ms: int, rotate_after_s: float) -> bool:
    """A content key that is older than it should be. By age alone: why no count is needed is in the docs."""
    return now_ms - key.created_at_ms >= rotate_after_s * 1000


def is_tenant_id(text: str) -> bool:
    """Narrower than a key part need be: it stands in API keys between dots, in URLs and in file names."""
    return _TENANT_ID.fullmatch(text) is not None


def check_tenant_id(text: str) -> TenantId:
    if not is_tenant_id(text):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{text!r} can't be a tenant's id.",
            hint="1 to 32 of a-z, 0-9 and -, the first not a -.",
        )
    return TenantId(text)


def check_settings(settings: TenantSettings) -> TenantSettings:
    """Holds them against the bounds of their types. Where a JWKS URL may lead is for whoever fetches it."""
    if settings.form > SETTINGS_FORM:
        raise TidingsError(
            Code.REQUEST_INVALID,
            "These settings were written by a newer Tidings; writing them back here would lose some of them.",
            hint="Use the newer one, or finish the upgrade first.",
        )
    try:
        return msgspec.convert(msgspec.to_builtins(settings), TenantSettings)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"The tenant's settings have a fault: {error}") from error
