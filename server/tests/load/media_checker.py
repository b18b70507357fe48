"""Check uploads after a run: table, bucket and messages agree, and nothing is left of files that were deleted."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from load.violations import Violations
from tidings.media.model import Upload, UploadState


@dataclass(kw_only=True)
class SentFile:
    """A file of the run. `message`: chat and sequence, once the server has acknowledged it.

    is_gone: the server acknowledged a redaction, the author was erased, or the message has expired. urls: those that could
        download it before.
    """

    upload: str
    owner: str
    chat: str
    size: int
    sha256: str
    message: tuple[str, int] | None = None
    is_gone: bool = False
    urls: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class VisibleMessage:
    """A message whose content can be read, and its attachments."""

    chat: str
    sequence: int
    attachments: Sequence[str]


@dataclass(kw_only=True)
class FinalState:
    """Table, bucket and messages after the last sweep.

    wrong_bytes: attachments that the API did not return, or with other bytes. readable: URLs of deleted files that the bucket
        still serves.
    """

    rows: Sequence[Upload] = ()
    objects: Sequence[str] = ()
    multiparts: Sequence[str] = ()
    total_bytes: int = 0
    messages: Sequence[VisibleMessage] = ()
    wrong_bytes: Sequence[str] = ()
    readable: Sequence[str] = ()


class MediaRule(StrEnum):
    ORPHAN = "every object belongs to a row that expects it"
    MISSING = "every row has its objects"
    REFERENCE = "every attachment of a visible message has a row that belongs to this message"
    KEPT = "the files of an acknowledged message can be downloaded with their bytes"
    DELETED = "nothing is left of the files of redacted and expired messages and of erased users"
    UNUSED = "nothing is left of files that no message refers to"
    MULTIPART = "no multipart upload stays open"
    TOTAL = "the bytes of the tenant are those of its rows"


def check_media(files: Sequence[SentFile], state: FinalState) -> dict[MediaRule, str]:
    """Return an example of each violation."""
    broken = Violations[MediaRule]()
    rows = {row.id: row for row in state.rows}
    _check_objects(rows, state, broken)
    _check_messages(rows, state, broken)
    for file in files:
        _check_file(file, rows.get(file.upload), broken)
    for url in state.readable:
        broken.add(MediaRule.DELETED, url)
    for name in state.wrong_bytes:
        broken.add(MediaRule.KEPT, name)
    for key in state.multiparts:
        broken.add(MediaRule.MULTIPART, key)
    stored = sum(row.size for row in state.rows)
    if stored != state.total_bytes:
        broken.add(MediaRule.TOTAL, f"{state.total_bytes} instead of {stored}")
    return broken.found


def _check_objects(rows: Mapping[str, Upload], state: FinalState, broken: Violations[MediaRule]) -> None:
    expected = {key for row in rows.values() for key in row.expected}
    for key in state.objects:
        if key not in expected:
            broken.add(MediaRule.ORPHAN, key)
    for key in expected.difference(state.objects):
        broken.add(MediaRule.MISSING, key)


def _check_messages(rows: Mapping[str, Upload], state: FinalState, broken: Violations[MediaRule]) -> None:
    referred: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for message in state.messages:
        for upload in message.attachments:
            referred[upload].append((message.chat, message.sequence))
            row = rows.get(upload)
            is_attached = row is not None and row.state is UploadState.ATTACHED
            if row is None or not is_attached or (row.chat, row.sequence) != (message.chat, message.sequence):
                broken.add(MediaRule.REFERENCE, f"{upload} of {message.chat} {message.sequence}")
    for row in rows.values():
        if not referred[row.id]:
            broken.add(MediaRule.UNUSED, f"{row.id}, {row.state}")


def _check_file(file: SentFile, row: Upload | None, broken: Violations[MediaRule]) -> None:
    if file.message is None:
        return  # `UNUSED` covers it.
    if file.is_gone:
        if row is not None:
            broken.add(MediaRule.DELETED, f"{file.upload}, {row.state}")
    elif row is None or row.state is not UploadState.ATTACHED:
        broken.add(MediaRule.KEPT, f"{file.upload} of {file.message}: {row and row.state}")
