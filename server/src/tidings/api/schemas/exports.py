"""Schemas of exports."""

from typing import Annotated, Literal, Self

from pydantic import Field
from pydantic.config import JsonDict

from tidings.api.schemas.api_model import ApiModel, Time, UserName, with_examples
from tidings.exports.model import ArchiveLink, Export, ExportState
from tidings.exports.rules import expires_ms
from tidings.kernel.clock import format_ms

_EXPORT: JsonDict = {
    "id": "01JCQ4Z7N3V5X9B2M8K6T1R0WD",
    "user": "anna",
    "state": "ready",
    "requested_at": "2026-11-15T02:11:21.957Z",
    "finished_at": "2026-11-15T02:11:24.102Z",
    "expires_at": "2026-11-22T02:11:21.957Z",
    "counts": {"chats": 3, "entries": 214, "notifications": 12, "attachments": 5},
    "size": 4194304,
    "url": "https://tidings-media.s3.eu-central-1.amazonaws.com/…",
    "url_expires_at": "2026-11-15T02:20:00.000Z",
}


class ExportCountsResponse(ApiModel):
    chats: int
    entries: int
    notifications: int
    attachments: int


class ExportResponse(ApiModel):
    model_config = with_examples(_EXPORT)

    id: Annotated[str, Field(description="The id of the export, and of the job that runs it.")]
    user: UserName
    state: Annotated[
        Literal["running", "ready", "failed", "expired"],
        Field(description="`ready`: the archive can be downloaded. `expired`: it was deleted."),
    ]
    requested_at: Time
    finished_at: Time | None = None
    expires_at: Annotated[Time, Field(description="When the archive is deleted, 7 days after the request.")]
    counts: Annotated[
        ExportCountsResponse, Field(description="Contents of the archive, or of its parts so far.")
    ]
    size: Annotated[int | None, Field(description="Bytes of the archive.")] = None
    failure: Annotated[
        str | None,
        Field(description="Why the export failed: an error code, or `timed_out` after 6 days."),
    ] = None
    url: Annotated[
        str | None, Field(description="Downloads the archive, a ZIP file, without further credentials.")
    ] = None
    url_expires_at: Annotated[
        Time | None, Field(description="When the URL becomes invalid. Get the export again for another one.")
    ] = None

    @classmethod
    def of(cls, export: Export, link: ArchiveLink | None) -> Self:
        counts = export.counts
        return cls(
            id=export.id,
            user=export.user,
            state="expired" if export.state is ExportState.READY and link is None else export.state.value,
            requested_at=format_ms(export.requested_ms),
            finished_at=None if export.finished_ms is None else format_ms(export.finished_ms),
            expires_at=format_ms(expires_ms(export)),
            counts=ExportCountsResponse(
                chats=counts.chats,
                entries=counts.entries,
                notifications=counts.notifications,
                attachments=counts.attachments,
            ),
            size=export.archive_bytes,
            failure=export.failure,
            url=None if link is None else link.url,
            url_expires_at=None if link is None else format_ms(link.expires_ms),
        )
