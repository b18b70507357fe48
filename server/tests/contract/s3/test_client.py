"""The client of S3 on a real store."""

from pathlib import Path

import pytest
from fixtures.engines import Namespace
from fixtures.loops import AsyncFixture
from fixtures.media_env import fetch, open_bucket, send, sha256_base64

from tidings.platform.s3.client import S3Client, S3Error

BODY = b"hello, store"
PART = 5 * 1024 * 1024


@pytest.fixture
def bucket(s3: str, space: Namespace) -> AsyncFixture[S3Client]:
    return AsyncFixture(lambda: open_bucket(s3, space))


def _signed(body: bytes) -> dict[str, str]:
    return {
        "Content-Length": str(len(body)),
        "Content-Type": "text/plain",
        "x-amz-checksum-sha256": sha256_base64(body),
    }


async def test_an_object_is_put_read_listed_and_deleted(bucket: S3Client) -> None:
    await bucket.put("t/01/a b+c", BODY, "text/plain")
    assert await bucket.size_of("t/01/a b+c") == len(BODY)
    assert b"".join([chunk async for chunk in bucket.read("t/01/a b+c")]) == BODY
    assert [key async for key in bucket.keys("t/01/")] == ["t/01/a b+c"]
    await bucket.delete("t/01/a b+c")
    await bucket.delete("t/01/a b+c")
    assert await bucket.size_of("t/01/a b+c") is None
    with pytest.raises(S3Error) as refused:
        _ = [chunk async for chunk in bucket.read("t/01/a b+c")]
    assert refused.value.status == 404


async def test_more_keys_than_a_page_are_listed_in_order(
    bucket: S3Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidings.platform.s3.client.LIST_PAGE", 3)
    names = [f"p/{number:02d}/x" for number in range(8)]
    for name in reversed(names):
        await bucket.put(name, b"x", "text/plain")
    assert [key async for key in bucket.keys("p/")] == names


async def test_a_presigned_put_accepts_only_the_signed_bytes(bucket: S3Client) -> None:
    headers = _signed(BODY)
    url = bucket.presign("PUT", "up", 60, headers=headers)
    assert await send("PUT", url, b"other, store", headers) >= 400, "other bytes of the same length"
    assert await send("PUT", url, BODY + b"!", headers | {"Content-Length": str(len(BODY) + 1)}) >= 400
    assert await send("PUT", url, BODY, headers | {"Content-Type": "text/html"}) >= 400
    without = {name: value for name, value in headers.items() if not name.startswith("x-")}
    assert await send("PUT", url, BODY, without) >= 400
    assert await bucket.size_of("up") is None
    assert await send("PUT", url, BODY, headers) == 200
    assert await bucket.size_of("up") == len(BODY)


async def test_a_file_is_put_only_with_the_bytes_of_its_checksum(bucket: S3Client, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BODY)
    checksum, other = sha256_base64(BODY), sha256_base64(b"other, store")
    with pytest.raises(S3Error):
        await bucket.put_file("up", path, size=len(BODY), sha256=other, content_type="text/plain")
    assert await bucket.size_of("up") is None
    await bucket.put_file("up", path, size=len(BODY), sha256=checksum, content_type="text/plain")
    assert b"".join([chunk async for chunk in bucket.read("up")]) == BODY


async def test_a_presigned_get_sets_the_headers_of_the_answer(bucket: S3Client) -> None:
    await bucket.put("page", b"<html>", "text/html")
    asked = {
        "response-content-type": "application/octet-stream",
        "response-content-disposition": "attachment; filename=\"page.html\"; filename*=UTF-8''s%C3%A4ge.html",
    }
    status, body, headers = await fetch(bucket.presign("GET", "page", 60, query=asked))
    assert (status, body) == (200, b"<html>")
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == asked["response-content-disposition"]
    assert await send("GET", bucket.presign("GET", "page", 60).replace("/page", "/other")) == 403


async def test_a_multipart_upload_is_listed_resumed_and_completed(bucket: S3Client) -> None:
    upload = await bucket.start_multipart("big", "video/mp4")
    assert [found.key async for found in bucket.open_multiparts("b")] == ["big"]
    bodies = [b"a" * PART, b"b" * 10]
    for number, body in enumerate(bodies, 1):
        headers = {"Content-Length": str(len(body)), "x-amz-checksum-sha256": sha256_base64(body)}
        query = {"partNumber": str(number), "uploadId": upload}
        url = bucket.presign("PUT", "big", 60, headers=headers, query=query)
        assert await send("PUT", url, b"c" * len(body), headers) >= 400, "other bytes of the same length"
        assert await send("PUT", url, body, headers) == 200
    parts = await bucket.parts("big", upload)
    assert parts is not None
    assert [(part.number, part.size) for part in parts] == [(1, PART), (2, 10)]
    sums = {number: sha256_base64(body) for number, body in enumerate(bodies, 1)}
    await bucket.complete_multipart("big", upload, sums)
    assert await bucket.size_of("big") == PART + 10
    assert await bucket.parts("big", upload) is None
    assert [found async for found in bucket.open_multiparts("b")] == []


async def test_an_aborted_multipart_upload_leaves_nothing(bucket: S3Client) -> None:
    upload = await bucket.start_multipart("gone", "video/mp4")
    await bucket.abort_multipart("gone", upload)
    await bucket.abort_multipart("gone", upload)
    assert [found async for found in bucket.open_multiparts("g")] == []


async def test_parts_are_joined_and_one_with_another_checksum_is_refused(bucket: S3Client) -> None:
    upload_id = await bucket.start_multipart("joined", "application/zip")
    first, last = bytes(5 * 1024 * 1024), b"the end"
    with pytest.raises(S3Error):
        await bucket.put_part("joined", upload_id, 1, first, sha256_base64(last))
    await bucket.put_part("joined", upload_id, 2, last, sha256_base64(last))
    await bucket.put_part("joined", upload_id, 1, first, sha256_base64(first))
    await bucket.complete_multipart("joined", upload_id, {1: sha256_base64(first), 2: sha256_base64(last)})
    assert b"".join([chunk async for chunk in bucket.read("joined")]) == first + last
