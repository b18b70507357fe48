"""Names of files in the archive, keys of objects in the bucket, and how long an export is kept. Pure."""

import re
import unicodedata
from typing import Final
from urllib.parse import quote, unquote

from tidings.exports.model import Export, ExportId, ExportState
from tidings.jobs.model import Job, JobId, JobKind
from tidings.kernel.ids import TenantId, UserId, encode_ulid, ulid_ms

_DAY_MS: Final = 86_400_000
KEPT_MS: Final = 7 * _DAY_MS
"""How long after the request the archive is kept. The sweeper deletes all objects that are older."""
MAX_RUN_MS: Final = 6 * _DAY_MS
"""How long after the request a worker may continue an export: no part of it has been swept by then."""

MAX_NAME_CHARS = 80
_ULID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_UNSAFE = re.compile(r"[^\w .()+-]+")
_ACTIVE = frozenset(
    {
        *("htm", "html", "shtml", "xhtml", "xht", "mht", "mhtml", "hta", "svg", "svgz", "xml", "xsl", "xslt"),
        *(
            "js",
            "mjs",
            "wsf",
            "vbs",
            "swf",
            "exe",
            "com",
            "bat",
            "cmd",
            "ps1",
            "scr",
            "lnk",
            "url",
            "desktop",
        ),
    }
)
"""Files that run scripts or programs when they are opened from a disk."""


def page_name(chat: int, page: int) -> str:
    """Return the path of a page of a chat. Chats have numbers: ids differ in case, which some file systems ignore."""
    return f"chats/{chat:05d}.html" if page == 0 else f"chats/{chat:05d}-{page + 1}.html"


def media_name(upload: str, name: str) -> str:
    """Return the path of an attachment: a name that every file system accepts, and that opens no script.

    The id of the upload makes it unique, and keeps it from being a reserved name.
    """
    text = unicodedata.normalize("NFC", name)
    kept = "".join(each for each in text if unicodedata.category(each)[0] != "C")
    stem, dot, suffix = _UNSAFE.sub("_", kept).strip(". ").rpartition(".")
    suffix = suffix[:MAX_NAME_CHARS]
    short = f"{stem[: MAX_NAME_CHARS - len(suffix)].rstrip('. ')}{dot}{suffix}"
    safe = f"{short}.txt" if suffix.lower() in _ACTIVE else short
    return f"media/{upload}-{safe}"


def expires_ms(export: Export) -> int:
    return export.requested_ms + KEPT_MS


def may_run(export: Export, now_ms: int) -> bool:
    """Return whether a worker may continue an export."""
    return export.state is ExportState.RUNNING and now_ms < export.requested_ms + MAX_RUN_MS


def is_downloadable(export: Export, now_ms: int) -> bool:
    return export.state is ExportState.READY and now_ms < expires_ms(export)


def new_export_id(now_ms: int, random_bits: int, replaced: Export | None) -> ExportId:
    """Return an id that sorts after that of the export that it replaces, also if the clocks of machines differ."""
    earliest_ms = 0 if replaced is None else ulid_ms(replaced.id) + 1
    return ExportId(encode_ulid(max(now_ms, earliest_ms), random_bits))


def job_of(export: Export) -> Job:
    """Return the job that runs an export. A repeated start finds it."""
    return Job(
        tenant=export.tenant,
        id=JobId(export.id),
        kind=JobKind.EXPORT,
        source=JobId(export.id),
        total=1,
        created_ms=export.requested_ms,
        user=export.user,
        chunk_users=1,
    )


def tenant_prefix(tenant: TenantId) -> str:
    """Return the start of the keys of all exports of a tenant. Uploads have other ones."""
    return f"{tenant}/exports/"


def user_prefix(tenant: TenantId, user: UserId) -> str:
    return f"{tenant_prefix(tenant)}{quote(user, safe='')}/"


def export_prefix(tenant: TenantId, user: UserId, export: ExportId) -> str:
    return f"{user_prefix(tenant, user)}{export}/"


def archive_key(export: Export) -> str:
    return f"{export_prefix(export.tenant, export.user, export.id)}archive.zip"


def export_of_key(tenant: TenantId, key: str) -> tuple[UserId, ExportId] | None:
    """Return the user and the export that an object belongs to; None for an object of others."""
    user, _, rest = key.removeprefix(tenant_prefix(tenant)).partition("/")
    export, _, name = rest.partition("/")
    if not name or not _ULID.fullmatch(export):
        return None
    return UserId(unquote(user)), ExportId(export)


def is_swept(export: ExportId, now_ms: int) -> bool:
    """Return whether an export is so old that its objects are deleted."""
    return ulid_ms(export) + KEPT_MS <= now_ms
