"""`tidings run media`: a photo is sent, stripped, downloaded and redacted, while workers are killed."""

import asyncio
import io
import urllib.error
import urllib.request
from typing import Any

import pytest
from contract.telemetry.running import eventually
from e2e.conftest import Api, Start
from fixtures.engines import Namespace
from fixtures.media_env import make_bucket, open_bucket, sha256_base64
from fixtures.topics import make_topics
from PIL import Image

from tidings.schema.topics.model import MEDIA

BUSY = (409, "upload_processing")


def ok(api: Api, method: str, path: str, body: object = None, **more: str) -> Any:
    answer = api.ask(method, path, body, **more)
    assert 200 <= answer.status < 300, answer.body
    return answer.body


def photo() -> bytes:
    exif = Image.Exif()
    exif[0x010E] = "secret-place"
    out = io.BytesIO()
    Image.new("RGB", (640, 480), (10, 120, 200)).save(out, "JPEG", exif=exif)
    return out.getvalue()


def put(url: str, data: bytes, headers: dict[str, str]) -> None:
    request = urllib.request.Request(url, data=data, headers=headers, method="PUT")
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200


def get(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""


def upload(api: Api, chat: str, data: bytes, *, is_completed: bool = True) -> str:
    body = {"chat": chat, "name": "beach.jpg", "size": len(data), "type": "image/jpeg"}
    started = ok(api, "POST", "/v1/uploads", body | {"sha256": sha256_base64(data)})
    put(started["put"]["url"], data, started["put"]["headers"])
    if is_completed:
        ok(api, "POST", f"/v1/uploads/{started['id']}/complete", {})
    return str(started["id"])


@pytest.fixture
def settings(s3: str, kafka: str, space: Namespace) -> dict[str, str]:
    make_topics(kafka, space, (MEDIA,))
    return make_bucket(s3, space)


def keys(s3: str, space: Namespace) -> list[str]:
    async def listed() -> list[str]:
        async with open_bucket(s3, space) as bucket:
            return [key async for key in bucket.keys("")]

    return asyncio.run(listed())


@pytest.mark.deadline(300.0)
def test_a_photo_is_stripped_downloaded_and_deleted_with_its_message(
    start: Start, settings: dict[str, str], s3: str, space: Namespace
) -> None:
    api = start(**settings)
    start(kind="delivery", **settings)
    worker = start(kind="media", **settings)
    chat = ok(
        api,
        "POST",
        "/v1/chats",
        {"type": "group", "name": "us", "members": ["ben"], "client_message_id": "g"},
    )
    data = photo()
    sent = upload(api, chat["id"], data)
    said = {"text": "look", "attachments": [sent], "client_message_id": "k1"}
    message = ok(api, "POST", f"/v1/chats/{chat['id']}/messages", said)["id"]
    path = f"/v1/messages/{message}/attachments/{sent}"

    def link() -> Any:
        answer = api.ask("GET", path, user="ben")
        if answer.status == 200:
            return answer.body
        assert (answer.status, answer.body["code"]) == BUSY
        return None

    shown = eventually(link, "a processed file", 120)
    assert (shown["width"], shown["height"], shown["is_inline"]) == (640, 480, True)
    status, body = get(shown["url"])
    assert status == 200
    assert b"secret-place" in data
    assert b"secret-place" not in body
    worker.popen.kill()
    worker.exit_code()
    ok(api, "DELETE", f"/v1/messages/{message}")
    assert api.ask("GET", path, user="ben").status == 404
    start(kind="media", **settings)
    eventually(lambda: keys(s3, space) == [] or None, "an empty bucket", 120)
    assert get(shown["url"])[0] == 404


@pytest.mark.deadline(300.0)
def test_the_sweeper_of_the_worker_deletes_uploads_that_no_message_refers_to(
    start: Start, settings: dict[str, str], s3: str, space: Namespace
) -> None:
    short = settings | {"TIDINGS_MEDIA_UPLOAD_LIFE_S": "60", "TIDINGS_MEDIA_SWEEP_INTERVAL_S": "1"}
    api = start(**short)
    chat = ok(api, "POST", "/v1/chats", {"type": "direct", "user": "ben"})
    kept = upload(api, chat["id"], photo(), is_completed=False)
    assert len(keys(s3, space)) == 1
    start(kind="media", **short)
    ok(api, "DELETE", f"/v1/uploads/{kept}")
    eventually(lambda: keys(s3, space) == [] or None, "an empty bucket", 120)
