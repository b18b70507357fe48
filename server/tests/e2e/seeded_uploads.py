"""Uploads for tests that call every operation."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fixtures.media_env import send, sha256_base64

from tidings.media.model import SINGLE_BYTES


def seed_uploads(
    ok: Callable[..., Any], chat: str, bodies: dict[str, dict[str, Any]]
) -> dict[str, dict[str, list[Any]]]:
    """Start uploads, and send a message with-a-file. Return values by operation, and add bodies that succeed."""
    small = {
        "chat": chat,
        "name": "a.txt",
        "size": 5,
        "type": "text/plain",
        "sha256": sha256_base64(b"hello"),
    }

    def uploaded() -> str:
        started = ok("POST", "/v1/uploads", small)
        signed = started["put"]
        assert asyncio.run(send("PUT", signed["url"], b"hello", signed["headers"])) == HTTPStatus.OK
        ok("POST", f"/v1/uploads/{started['id']}/complete", {})
        return str(started["id"])

    large, attached = ok("POST", "/v1/uploads", small | {"size": SINGLE_BYTES + 1})["id"], uploaded()
    said = {"attachments": [attached], "client_message_id": "with-a-file"}
    message = ok("POST", f"/v1/chats/{chat}/messages", said)["id"]
    sums = [{"number": 1, "sha256": small["sha256"]}]
    bodies |= {"start_upload": small, "sign_parts": {"parts": sums}, "complete_upload": {}}
    return {
        "start_upload": {"chat": [chat], "size": [5]},
        "get_upload": {"upload": [uploaded(), large]},
        "sign_parts": {"upload": [large]},
        "complete_upload": {"upload": [uploaded()], "parts": [[]]},
        "delete_upload": {"upload": [uploaded() for _ in range(8)]},
        "get_attachment": {"message": [message], "upload": [attached]},
        "get_link_preview": {"message": [message]},
    }
