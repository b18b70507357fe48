"""Decide whether a message may refer to uploads."""

from collections.abc import Sequence

from tidings.kernel.errors import Code, TidingsError
from tidings.kernel.ids import ChatKey, ClientKey, UserId
from tidings.media.model import CheckState, Upload, UploadState
from tidings.media.ports import UploadStore


class UploadCheck:
    """Checks uploads before a message is appended. An upload belongs to one message, of its owner, in its chat.

    The append attaches them in its own transaction, with the same conditions. So a message and its uploads refer to each
    other from one moment on, and a killed process leaves neither without the other.
    """

    def __init__(self, uploads: UploadStore) -> None:
        self._uploads = uploads

    async def check(
        self, chat: ChatKey, sender: UserId, client_key: ClientKey, uploads: Sequence[str]
    ) -> Code | None:
        found = await self._uploads.find_many(chat.tenant, uploads)
        for name in uploads:
            upload = found.get(name)
            if upload is None or upload.state is UploadState.DELETING or upload.owner != sender:
                # The message may have been appended and redacted, and this is its retry: the append decides.
                return Code.UPLOAD_NOT_FOUND
            if upload.state is UploadState.ATTACHED and upload.client_key == client_key:
                continue
            _check_free(upload, chat)
        return None


def _check_free(upload: Upload, chat: ChatKey) -> None:
    """Raise the reason why an upload cannot be attached. None of these uploads is part of an appended message."""
    if upload.state is UploadState.ATTACHED:
        raise TidingsError(Code.UPLOAD_ATTACHED, f"Another message refers to the upload {upload.id}.")
    if upload.chat != chat.chat:
        raise TidingsError(Code.UPLOAD_NOT_FOUND, f"The upload {upload.id} is for another chat.")
    if upload.check is CheckState.REFUSED:
        raise TidingsError(Code.UPLOAD_REFUSED, f"The file was refused: {upload.facts.reason}")
    if upload.state is UploadState.PENDING:
        raise TidingsError(
            Code.UPLOAD_INCOMPLETE,
            f"The upload {upload.id} is not complete.",
            hint="Send the file to its URL, then POST /v1/uploads/{id}/complete.",
        )
