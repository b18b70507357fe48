"""Where sealed content belongs, as bytes; when a key is due. Pure."""

from collections.abc import Mapping

from tidings.kernel.ids import ChatKey, TenantId
from tidings.tenants.model import KeyName, Purpose, WrappedKey


def place(purpose: Purpose, chat: ChatKey, sequence: int) -> bytes:
    """Two different places never spell the same, and none is the beginning of another: names carry their length."""
    tenant, name = chat
    return f"{purpose}{len(tenant)}:{tenant}{len(name)}:{name}{sequence};".encode()


def context(tenant: TenantId, name: KeyName) -> Mapping[str, str]:
    """What a data key is wrapped for: in another tenant's row, or under another name, it does not unwrap."""
    return {"tenant": tenant, "key": str(name), "purpose": name.kind.value}


def is_due(key: WrappedKey, now_ms: int, rotate_after_s: float) -> bool:
    """A content key that is older than it should be. By age alone: why no count is needed is in the docs."""
    return now_ms - key.created_at_ms >= rotate_after_s * 1000
