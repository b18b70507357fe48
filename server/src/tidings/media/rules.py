"""Names, types and headers of files. Pure."""

import re
import unicodedata
from collections.abc import Collection
from urllib.parse import quote

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import UserId
from tidings.media.model import MAX_FILE_BYTES, CheckState, Upload
from tidings.schema.tables.items.media import MAX_NAME_BYTES
from tidings.tenants.model import MediaPolicy

INLINE_TYPES = frozenset(
    {
        *("image/png", "image/jpeg", "image/gif", "image/webp"),
        *("audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav", "audio/flac", "audio/webm"),
        *("video/mp4", "video/webm", "video/ogg", "video/quicktime"),
    }
)
"""Types that browsers show and that cannot contain scripts. HTML, SVG, XML and PDF are not among them."""
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
OPAQUE = "application/octet-stream"
_FALLBACK = "file"
_SEPARATORS = re.compile(r"[/\\:*?\"<>|]+")
_NOT_QUOTABLE = re.compile(r"[^A-Za-z0-9 ._()-]")


def sanitize_name(name: str) -> str:
    """Return a file name without paths, control characters, bidirectional marks and leading dots."""
    text = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    kept = "".join(each for each in text if unicodedata.category(each)[0] != "C")
    kept = " ".join(_SEPARATORS.sub("_", kept).split()).strip(". ")
    while len(kept.encode()) > MAX_NAME_BYTES:
        stem, dot, suffix = kept.rpartition(".")
        kept = f"{stem[:-1]}{dot}{suffix}" if len(stem) > 1 else kept[:-1]
    return kept or _FALLBACK


def disposition(name: str, *, is_inline: bool) -> str:
    """Return the header `Content-Disposition` (RFC 6266)."""
    kind = "inline" if is_inline else "attachment"
    plain = _NOT_QUOTABLE.sub("_", name)
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def served_type(upload: Upload) -> str:
    """Return the type that the file is served with: that of its bytes if it is harmless, otherwise an opaque one."""
    found = upload.facts.type
    return found if upload.check is CheckState.READY and found in INLINE_TYPES else OPAQUE


def download_refusal(upload: Upload, user: UserId, *, must_be_checked: bool) -> Code | None:
    """Return why a member of the chat may not download an attachment now, or None if they may.

    `must_be_checked`: only its owner can download a file that the media worker has not checked yet.
    """
    if upload.check is CheckState.REFUSED:
        return Code.UPLOAD_REFUSED
    if upload.check is CheckState.READY or user == upload.owner or not must_be_checked:
        return None
    return Code.UPLOAD_PROCESSING


def is_type_allowed(type_: str, allowed: Collection[str]) -> bool:
    """Return whether a list of types such as `image/*` and `application/pdf` contains this one. Empty: all."""
    return not allowed or type_ in allowed or f"{type_.partition('/')[0]}/*" in allowed


def check_file(policy: MediaPolicy, type_: str, size: int) -> None:
    """Raise `upload_too_large` or `request_invalid` for a file that a tenant does not allow."""
    limit = min(policy.max_file_mb * 1024 * 1024, MAX_FILE_BYTES)
    if not 1 <= size <= limit:
        raise TidingsError(Code.UPLOAD_TOO_LARGE, f"The file has {size} bytes; 1 to {limit} are allowed.")
    if not is_type_allowed(type_, policy.types):
        raise TidingsError(Code.REQUEST_INVALID, f"Files of the type {type_} are not allowed.")
