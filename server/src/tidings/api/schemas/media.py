"""Schemas of uploads and attachments."""

from typing import Annotated, Literal, Self

from fastapi import Path
from pydantic import Field

from tidings.api.schemas.api_model import PART, SHOWN, ApiModel, Time, with_examples
from tidings.kernel.clock import format_ms
from tidings.kernel.ids import ChatId, ChatKey, TenantId, UserId
from tidings.media.link_previews import LinkResult
from tidings.media.model import (
    MAX_FILE_BYTES,
    MAX_PARTS,
    PART_BYTES,
    AttachmentLink,
    PartSum,
    SignedRequest,
    Upload,
    UploadProgress,
    UploadRequest,
)
from tidings.media.rules import served_type
from tidings.media.service import part_count
from tidings.messages.model import UPLOAD_ID

_ID = "01JCQ4Z7N3V5X9B2M8K6T1R0WD"
_SUM = "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
_URL = "https://tidings-media.s3.eu-central-1.amazonaws.com/…"
MAX_SIGNED_PARTS = 100

Sha256 = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$", description="SHA-256 in base64.", examples=[_SUM])
]
UploadInPath = Annotated[str, Path(pattern=UPLOAD_ID, description="The id of an upload.", examples=[_ID])]


class StartUploadBody(ApiModel):
    model_config = with_examples(
        {
            "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
            "name": "beach.jpg",
            "size": 4,
            "type": "image/jpeg",
            "sha256": _SUM,
        }
    )

    chat: Annotated[ChatId, Field(min_length=1, max_length=64, pattern=PART, description="A chat id.")]
    name: Annotated[str, Field(min_length=1, max_length=255, pattern=SHOWN, examples=["beach.jpg"])]
    size: Annotated[int, Field(ge=1, le=MAX_FILE_BYTES, description="Bytes of the file.")]
    type: Annotated[
        str,
        Field(
            max_length=127,
            pattern=r"^[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+$",
            description="The media type, in lower case and without parameters.",
            examples=["image/jpeg"],
        ),
    ]
    sha256: Sha256

    def request(self, tenant: TenantId, owner: UserId) -> UploadRequest:
        return UploadRequest(ChatKey(tenant, self.chat), owner, self.name, self.type, self.size, self.sha256)


class SignedRequestResponse(ApiModel):
    """A PUT request to the bucket. Send the bytes with exactly these headers."""

    url: Annotated[str, Field(examples=[_URL])]
    headers: dict[str, str]

    @classmethod
    def of(cls, signed: SignedRequest) -> Self:
        return cls(url=signed.url, headers=signed.headers)


class ReceivedPart(ApiModel):
    number: int
    size: int


class UploadResponse(ApiModel):
    """An upload. `put`: where a small file goes. `part_bytes` and `part_count`: how a large file is divided."""

    model_config = with_examples(
        {
            "id": _ID,
            "chat": "gLAJWK6M7H3QFQ3PWXCZ5GZQD",
            "name": "beach.jpg",
            "size": 4,
            "type": "image/jpeg",
            "state": "pending",
            "check": "waiting",
            "expires_at": "2026-11-19T02:11:21.957Z",
            "put": {"url": _URL, "headers": {"Content-Type": "image/jpeg"}},
        }
    )

    id: str
    chat: str
    name: Annotated[str, Field(description="The name without paths and control characters.")]
    size: int
    type: str
    state: Literal["pending", "uploaded", "attached", "deleting"]
    check: Annotated[
        Literal["waiting", "ready", "refused"],
        Field(description="Whether the media worker has processed the file."),
    ]
    reason: Annotated[str | None, Field(description="Why the file was refused.")] = None
    expires_at: Annotated[
        Time | None, Field(description="The upload is deleted if no message refers to it by then.")
    ] = None
    put: SignedRequestResponse | None = None
    part_bytes: int | None = None
    part_count: int | None = None
    received: Annotated[
        list[ReceivedPart] | None, Field(description="Parts that the bucket has, to resume an upload.")
    ] = None

    @classmethod
    def of(cls, upload: Upload, put: SignedRequest | None = None) -> Self:
        is_multipart = upload.multipart_id is not None
        return cls(
            id=upload.id,
            chat=upload.chat,
            name=upload.name,
            size=upload.size,
            type=upload.type,
            state=upload.state.value,
            check=upload.check.value,
            reason=upload.facts.reason,
            expires_at=None if upload.expires_ms is None else format_ms(upload.expires_ms),
            put=None if put is None else SignedRequestResponse.of(put),
            part_bytes=PART_BYTES if is_multipart else None,
            part_count=part_count(upload.size) if is_multipart else None,
        )

    @classmethod
    def of_progress(cls, progress: UploadProgress) -> Self:
        shown = cls.of(progress.upload)
        if progress.upload.multipart_id is None or progress.upload.state != "pending":
            return shown
        received = [ReceivedPart(number=number, size=size) for number, size in progress.received]
        return shown.model_copy(update={"received": received})


class PartBody(ApiModel):
    number: Annotated[int, Field(ge=1, le=MAX_PARTS)]
    sha256: Sha256

    def part(self) -> PartSum:
        return PartSum(self.number, self.sha256)


class SignPartsBody(ApiModel):
    model_config = with_examples({"parts": [{"number": 1, "sha256": _SUM}]})

    parts: Annotated[list[PartBody], Field(min_length=1, max_length=MAX_SIGNED_PARTS)]


class SignedPartsResponse(ApiModel):
    """A request for each part, in the order of the parts that were asked for."""

    model_config = with_examples({"parts": [{"url": _URL, "headers": {"Content-Length": "8388608"}}]})

    parts: list[SignedRequestResponse]


class CompleteUploadBody(ApiModel):
    model_config = with_examples({}, {"parts": [{"number": 1, "sha256": _SUM}]})

    parts: Annotated[
        list[PartBody],
        Field(max_length=MAX_PARTS, description="All parts of a file that was uploaded in parts."),
    ] = Field(default_factory=list)


class AttachmentResponse(ApiModel):
    """A file of a message. `url` and `thumbnail_url` are valid until `expires_at`, and need no credential until then."""

    model_config = with_examples(
        {
            "id": _ID,
            "name": "beach.jpg",
            "size": 4,
            "type": "image/jpeg",
            "is_inline": True,
            "url": _URL,
            "thumbnail_url": _URL,
            "expires_at": "2026-11-18T02:16:21.957Z",
            "width": 1024,
            "height": 768,
            "blurhash": "LEHV6nWB2yk8pyo0adR*.7kCMdnj",
        }
    )

    id: str
    name: str
    size: Annotated[int, Field(description="Bytes of the file as it was uploaded.")]
    type: Annotated[
        str, Field(description="The type of the bytes; `application/octet-stream` if it could be harmful.")
    ]
    is_inline: Annotated[bool, Field(description="Whether a browser shows the file instead of saving it.")]
    url: str
    thumbnail_url: str | None = None
    expires_at: Time
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    blurhash: str | None = None

    @classmethod
    def of(cls, link: AttachmentLink) -> Self:
        upload, facts = link.upload, link.upload.facts
        return cls(
            id=upload.id,
            name=upload.name,
            size=upload.size,
            type=served_type(upload),
            is_inline=link.is_inline,
            url=link.url,
            thumbnail_url=link.thumbnail_url,
            expires_at=format_ms(link.expires_ms),
            width=facts.width,
            height=facts.height,
            duration_ms=facts.duration_ms,
            blurhash=facts.blurhash,
        )


class LinkPreviewResponse(ApiModel):
    """Title, description and picture of the page of a link."""

    model_config = with_examples(
        {
            "state": "ready",
            "url": "https://example.com/beach",
            "title": "The beach",
            "description": "Opening hours and arrival.",
        },
        {"state": "loading"},
    )

    state: Annotated[
        Literal["ready", "loading", "none", "off"],
        Field(description="`loading`: ask again in a second. `off`: the tenant has no previews of links."),
    ]
    url: str | None = None
    title: str | None = None
    description: str | None = None
    image: Annotated[str | None, Field(description="A small picture, as a `data:` URL.")] = None

    @classmethod
    def of(cls, result: LinkResult) -> Self:
        found = result.preview
        if found is None:
            return cls(state=result.state.value)
        return cls(
            state=result.state.value,
            url=found.url,
            title=found.title,
            description=found.description or None,
            image=found.image,
        )
