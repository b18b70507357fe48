"""Contexts of sealed content and wrapped keys, key rotation, and validation of tenants."""

import re
from collections.abc import Mapping

import msgspec

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, TenantId, UserId
from tidings.tenants.model import PROFILE, SETTINGS_FORM, KeyName, Purpose, TenantSettings, WrappedKey

_TENANT_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


def seal_location(purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
    """Encode where content belongs. The encoding is unambiguous and prefix-free: names carry their length."""
    tenant, name = chat
    return f"{purpose}{len(tenant)}:{tenant}{len(name)}:{name}{sequence};".encode()


def profile_location(tenant: TenantId, user: UserId, field: str) -> bytes:
    """Encode a field of a user's profile, as unambiguously as `seal_location`."""
    return f"{PROFILE}{len(tenant)}:{tenant}{len(user)}:{user}{len(field)}:{field};".encode()


def wrap_context(tenant: TenantId, name: KeyName) -> Mapping[str, str]:
    """Return the context that a data key is wrapped with: in the row of another tenant or key it does not unwrap."""
    return {"tenant": tenant, "key": str(name), "purpose": name.kind.value}


def is_due(key: WrappedKey, now_ms: int, rotate_after_s: float) -> bool:
    """Return whether a key must be rotated. Only its age counts; see docs/explanation/encryption.md."""
    return now_ms - key.created_at_ms >= rotate_after_s * 1000


def is_tenant_id(text: str) -> bool:
    """Return whether `text` is a valid tenant id. Ids appear in API keys between dots, in URLs and in file names."""
    return _TENANT_ID.fullmatch(text) is not None


def check_tenant_id(text: str) -> TenantId:
    if not is_tenant_id(text):
        raise TidingsError(
            Code.REQUEST_INVALID,
            f"{text!r} is not a valid tenant id.",
            hint="Use 1 to 32 characters of a-z, 0-9 and `-`, not starting with `-`.",
        )
    return TenantId(text)


def check_settings(settings: TenantSettings) -> TenantSettings:
    """Validate settings. The network of a JWKS URL is checked when it is fetched."""
    if settings.form > SETTINGS_FORM:
        raise TidingsError(
            Code.REQUEST_INVALID,
            "These settings were written by a newer version of Tidings. Writing them here would lose some of them.",
            hint="Use the newer version, or finish the upgrade first.",
        )
    try:
        return msgspec.convert(msgspec.to_builtins(settings), TenantSettings)
    except msgspec.ValidationError as error:
        raise TidingsError(Code.REQUEST_INVALID, f"Invalid tenant settings: {error}") from error
