"""Uploads and attachments over HTTP."""

from typing import Any

from fixtures.media_env import sha256_base64
from fixtures.rest_app import RestApp
from fixtures.use_cases import ANNA, BEN, UseCaseEnv

from tidings.kernel.errors import Code
from tidings.media.model import SINGLE_BYTES, CheckState, MediaFacts
from tidings.media.store.uploads import DynamoUploadStore

BODY = b"hello"


def body_of(chat: str, size: int = len(BODY), **more: Any) -> dict[str, Any]:
    given = {"chat": chat, "name": "a.png", "size": size, "type": "image/png", "sha256": sha256_base64(BODY)}
    return given | more


async def uploaded(api: RestApp, chat: str) -> str:
    made = await api.user(ANNA).ok("POST", "/v1/uploads", body_of(chat))
    key = made["put"]["url"].removeprefix("https://bucket.example/").partition("?")[0]
    await api.objects.put(key, BODY, "image/png")
    done = await api.user(ANNA).ok("POST", f"/v1/uploads/{made['id']}/complete", {})
    assert done["state"] == "uploaded"
    return str(made["id"])


async def test_a_file_goes_from_an_upload_to_a_download(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    chat = (await use_cases.group(BEN)).chat
    upload = await uploaded(api, chat)
    shown = await api.user(ANNA).ok("GET", f"/v1/uploads/{upload}")
    assert (shown["state"], shown["check"]) == ("uploaded", "waiting")
    said = {"attachments": [upload], "client_message_id": "k1"}
    message = (await api.user(ANNA).ok("POST", f"/v1/chats/{chat}/messages", said))["id"]
    assert (await api.user(ANNA).ok("POST", f"/v1/chats/{chat}/messages", said))["id"] == message
    ben = api.user(BEN)
    listed = (await ben.ok("GET", f"/v1/chats/{chat}/messages"))["entries"][0]
    assert (listed["text"], listed["attachments"]) == ("", [upload])
    path = f"/v1/messages/{message}/attachments/{upload}"
    assert await ben.code("GET", path) is Code.UPLOAD_PROCESSING
    store = DynamoUploadStore(use_cases.client)
    row = await store.find(use_cases.tenant, upload)
    assert row is not None
    facts = MediaFacts(
        type="image/png", width=2, height=3, is_clean=True, has_thumbnail=True, blurhash="L00000"
    )
    await store.record_facts(row, CheckState.READY, facts)
    link = await ben.ok("GET", path)
    assert (link["type"], link["is_inline"], link["width"]) == ("image/png", True, 2)
    assert "/clean?" in link["url"]
    assert "/thumbnail?" in link["thumbnail_url"]
    assert await api.user(ANNA).code("DELETE", f"/v1/uploads/{upload}") is Code.UPLOAD_ATTACHED
    await api.user(ANNA).ok("DELETE", f"/v1/messages/{message}")
    assert await ben.code("GET", path) is Code.UPLOAD_NOT_FOUND
    assert "attachments" not in (await ben.ok("GET", f"/v1/messages/{message}"))


async def test_a_large_file_has_parts(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases)
    chat = (await use_cases.group()).chat
    anna = api.user(ANNA)
    made = await anna.ok("POST", "/v1/uploads", body_of(chat, SINGLE_BYTES + 1))
    assert (made["part_count"], "put" in made) == (3, False)
    parts = {"parts": [{"number": 2, "sha256": sha256_base64(b"x")}]}
    signed = await anna.ok("POST", f"/v1/uploads/{made['id']}/parts", parts)
    assert signed["parts"][0]["headers"]["Content-Length"] == str(8 * 1024 * 1024)
    assert (await anna.ok("GET", f"/v1/uploads/{made['id']}"))["received"] == []
    assert await anna.code("POST", f"/v1/uploads/{made['id']}/complete", parts) is Code.UPLOAD_INCOMPLETE
    await anna.ok("DELETE", f"/v1/uploads/{made['id']}")
    assert await anna.code("GET", f"/v1/uploads/{made['id']}") is Code.UPLOAD_NOT_FOUND


async def test_an_installation_without_a_store_says_so(use_cases: UseCaseEnv) -> None:
    api = RestApp(use_cases, has_media=False)
    chat = (await use_cases.group()).chat
    assert await api.user(ANNA).code("POST", "/v1/uploads", body_of(chat)) is Code.MEDIA_NOT_CONFIGURED
