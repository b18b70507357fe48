"""Uploads and attachments. The bytes go directly between the client and the bucket."""

from fastapi import APIRouter

from tidings.api.auth import AsUser, AuthenticatedRoute, UserRequest
from tidings.api.openapi import OF_BODIES, OF_CONTENT_KEYS, route_options
from tidings.api.request_parsing import locate_message
from tidings.api.schemas.api_model import MessageInPath
from tidings.api.schemas.media import (
    AttachmentResponse,
    CompleteUploadBody,
    LinkPreviewResponse,
    SignedPartsResponse,
    SignedRequestResponse,
    SignPartsBody,
    StartUploadBody,
    UploadInPath,
    UploadResponse,
)
from tidings.api.services import MediaServices
from tidings.kernel.errors import Code, TidingsError
from tidings.media.service import MediaService

router = APIRouter(prefix="/v1", route_class=AuthenticatedRoute, tags=["attachments"])

_OFF = Code.MEDIA_NOT_CONFIGURED


def _service(call: UserRequest) -> MediaService:
    return _services(call).uploads


def _services(call: UserRequest) -> MediaServices:
    if call.services.media is None:
        raise TidingsError(_OFF, "This installation has no attachments.", hint="Set media.endpoint.")
    return call.services.media


@router.post(
    "/uploads",
    **route_options(
        "start_upload",
        *OF_BODIES,
        _OFF,
        Code.CHAT_NOT_FOUND,
        Code.NOT_A_MEMBER,
        Code.BLOCKED,
        Code.UPLOAD_TOO_LARGE,
        Code.STORAGE_FULL,
        Code.OUTCOME_UNKNOWN,
        Code.KEYS_UNAVAILABLE,
        touches=("uploads.create", "uploads.read_totals", "memberships.check", "tenants.read_settings"),
        status_code=201,
        summary="Start an upload",
    ),
)
async def start_upload(call: AsUser, body: StartUploadBody) -> UploadResponse:
    """Start to upload a file for one chat. The bucket accepts only bytes with this size and checksum.

    Send a small file with the request `put`. Divide a larger one into parts of `part_bytes`, and get a request for each.
    Then complete the upload, and send a message with its id.
    """
    upload, put = await _service(call).start(body.request(call.tenant, call.user))
    return UploadResponse.of(upload, put)


@router.get(
    "/uploads/{upload}",
    **route_options(
        "get_upload", _OFF, Code.UPLOAD_NOT_FOUND, touches=("uploads.read",), summary="Get an upload"
    ),
)
async def get_upload(call: AsUser, upload: UploadInPath) -> UploadResponse:
    """Get an upload of the user. `received` lists the parts that need not be sent again."""
    return UploadResponse.of_progress(await _service(call).progress(call.tenant, call.user, upload))


@router.post(
    "/uploads/{upload}/parts",
    **route_options(
        "sign_parts",
        *OF_BODIES,
        _OFF,
        Code.UPLOAD_NOT_FOUND,
        touches=("uploads.read",),
        summary="Get requests for parts",
    ),
)
async def sign_parts(call: AsUser, upload: UploadInPath, body: SignPartsBody) -> SignedPartsResponse:
    """Get a request for each of these parts. Parts can be sent in any order, and again."""
    parts = [each.part() for each in body.parts]
    signed = await _service(call).sign_parts(call.tenant, call.user, upload, parts)
    return SignedPartsResponse(parts=[SignedRequestResponse.of(each) for each in signed])


@router.post(
    "/uploads/{upload}/complete",
    **route_options(
        "complete_upload",
        *OF_BODIES,
        _OFF,
        Code.UPLOAD_NOT_FOUND,
        Code.UPLOAD_INCOMPLETE,
        Code.OUTCOME_UNKNOWN,
        touches=("uploads.read", "uploads.change"),
        summary="Complete an upload",
    ),
)
async def complete_upload(call: AsUser, upload: UploadInPath, body: CompleteUploadBody) -> UploadResponse:
    """Complete an upload, so that a message can refer to it. A media worker processes the file.

    A retry returns the present state.
    """
    parts = [each.part() for each in body.parts]
    return UploadResponse.of(await _service(call).complete(call.tenant, call.user, upload, parts))


@router.delete(
    "/uploads/{upload}",
    **route_options(
        "delete_upload",
        _OFF,
        Code.UPLOAD_NOT_FOUND,
        Code.UPLOAD_ATTACHED,
        Code.WRITE_CONFLICT,
        Code.OUTCOME_UNKNOWN,
        touches=("uploads.read", "uploads.change"),
        status_code=204,
        summary="Delete an upload",
    ),
)
async def delete_upload(call: AsUser, upload: UploadInPath) -> None:
    """Delete an upload that no message refers to."""
    await _service(call).delete(call.tenant, call.user, upload)


@router.get(
    "/messages/{message}/attachments/{upload}",
    **route_options(
        "get_attachment",
        _OFF,
        Code.MESSAGE_NOT_FOUND,
        Code.UPLOAD_NOT_FOUND,
        Code.UPLOAD_PROCESSING,
        Code.UPLOAD_REFUSED,
        Code.DECRYPTION_FAILED,
        Code.KEYS_UNAVAILABLE,
        touches=(
            "memberships.check",
            "messages.read_one",
            "messages.read_ephemeral",
            "uploads.read",
            "tenants.read_settings",
            *OF_CONTENT_KEYS,
        ),
        summary="Get an attachment",
    ),
)
async def get_attachment(call: AsUser, message: MessageInPath, upload: UploadInPath) -> AttachmentResponse:
    """Get URLs of a file of a message that the user may read. Others than the sender wait until it was processed."""
    chat, sequence = locate_message(call.tenant, message)
    link = await _service(call).link(chat, call.user, sequence, upload)
    return AttachmentResponse.of(link)


@router.get(
    "/messages/{message}/link-preview",
    **route_options(
        "get_link_preview",
        _OFF,
        Code.MESSAGE_NOT_FOUND,
        Code.DECRYPTION_FAILED,
        Code.KEYS_UNAVAILABLE,
        touches=(
            "memberships.check",
            "messages.read_one",
            "messages.read_ephemeral",
            "tenants.read_settings",
            *OF_CONTENT_KEYS,
        ),
        summary="Get the preview of a link",
    ),
)
async def get_link_preview(call: AsUser, message: MessageInPath) -> LinkPreviewResponse:
    """Get title, description and picture of the first link of a message that the user may read.

    The media worker fetches the page once for the tenant. Only tenants that allow it have previews.
    """
    chat, sequence = locate_message(call.tenant, message)
    found = await _services(call).link_previews.preview(chat, call.user, sequence)
    return LinkPreviewResponse.of(found)
