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
    """A key that is older than it should be. By age alone: why no count is needed is in the docs."""
    return now_ms - key.created_at_ms >= rotate_after_s * 1000


def signs_from_ms(key: WrappedKey, announced_s: float) -> int:
    """A new signing key waits until every process has seen it: then none meets a token whose key it does not know."""
    return key.created_at_ms + round(announced_s * 1000)


def signing_version(keys: Mapping[int, WrappedKey], now_ms: int, announced_s: float) -> int:
    """The newest that everybody knows; the first key of all has nobody to wait for."""
    known = [version for version, key in keys.items() if signs_from_ms(key, announced_s) <= now_ms]
    return max(known, default=min(keys))


def still_verifies(
    keys: Mapping[int, WrappedKey], version: int, now_ms: int, announced_s: float, token_life_s: float
) -> bool:
    """While the next one is not yet in use, or tokens of this one may still live. So an old key that leaked is of no use."""
    if version not in keys:
        return False
    later = [key for newer, key in keys.items() if newer > version]
    return not later or now_ms < min(signs_from_ms(key, announced_s) for key in later) + token_life_s * 1000
