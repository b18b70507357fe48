"""Uploads are retried part by part, and deleted if they fail. `docs/howto/send-attachments.md` runs on a real bucket."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from scripted_api import serve

from tidings_sdk import Attachments, Client, RequestRefused
from tidings_sdk.credentials import Credentials

PART = 8
FILE = b"0123456789abcdefghij"


@dataclass
class ScriptedBucket:
    """The REST API of uploads and the bucket. `failures`: statuses of the next requests with this start."""

    failures: list[tuple[str, int]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    parts: dict[int, bytes] = field(default_factory=dict)
    completed: object = None
    url: str = ""

    def answer(self, request: str, headers: Any, body: bytes) -> tuple[int, bytes]:
        self.requests.append(request)
        for failure in self.failures:
            if request.startswith(failure[0]):
                self.failures.remove(failure)
                return failure[1], json.dumps({"code": "scripted", "detail": "no"}).encode()
        if request.startswith("PUT"):
            assert headers["x-amz-checksum-sha256"] == b64encode(hashlib.sha256(body).digest()).decode()
            self.parts[int(request.rpartition("/")[2])] = body
            return 200, b""
        if request.startswith("GET /file"):
            return 200, b"".join(self.parts[number] for number in sorted(self.parts))
        self.tokens.append(headers["Authorization"])
        return 200, json.dumps(self._rest(request, json.loads(body) if body else None)).encode()

    def _rest(self, request: str, body: Any) -> object:
        if request.endswith("/parts"):
            return {"parts": [self._signed(part["number"], part["sha256"]) for part in body["parts"]]}
        if request.endswith("/complete"):
            self.completed = body
            return {}
        if "/attachments/" in request:
            known = {"id": "u1", "name": "plan.txt", "size": 1, "type": "text/plain", "is_inline": False}
            return known | {"url": f"{self.url}/file", "expires_at": "2026-11-18T02:16:21.957Z"}
        if request == "POST /v1/uploads" and body["size"] > 2 * PART:
            return {"id": "u1", "part_bytes": PART, "part_count": -(-body["size"] // PART)}
        return {"id": "u1", "put": self._signed(0, body["sha256"]) if body else None}

    def _signed(self, number: int, sha256: str) -> object:
        return {"url": f"{self.url}/bucket/{number}", "headers": {"x-amz-checksum-sha256": sha256}}


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedBucket]:
    monkeypatch.setattr("tidings_sdk.attachments.random.random", lambda: 0.001)
    scripted = ScriptedBucket()

    with serve(scripted.answer) as scripted.url:
        yield scripted


@pytest.fixture
def attachments(bucket: ScriptedBucket) -> Attachments:
    return Attachments(bucket.url, Credentials("anna"))


async def test_a_small_file_is_sent_in_one_piece(bucket: ScriptedBucket, attachments: Attachments) -> None:
    assert await attachments.upload("g1", b"plan", name="plan.txt") == "u1"
    assert (bucket.parts, bucket.completed) == ({0: b"plan"}, {"parts": []})


async def test_a_large_file_is_sent_in_parts_and_reports_its_progress(
    bucket: ScriptedBucket, attachments: Attachments, tmp_path: Path
) -> None:
    path, seen = tmp_path / "film.bin", list[tuple[int, int]]()
    path.write_bytes(FILE)
    await attachments.upload("g1", path, on_progress=lambda sent, size: seen.append((sent, size)))
    assert bucket.parts == {1: FILE[:8], 2: FILE[8:16], 3: FILE[16:]}
    assert seen == [(8, 20), (16, 20), (20, 20)]
    assert len(bucket.completed["parts"]) == 3  # type: ignore[index]


async def test_only_the_part_that_failed_is_sent_again(
    bucket: ScriptedBucket, attachments: Attachments
) -> None:
    bucket.failures = [("PUT /bucket/2", 503), ("PUT /bucket/2", 403)]
    await attachments.upload("g1", FILE)
    puts = [request for request in bucket.requests if request.startswith("PUT")]
    assert puts == ["PUT /bucket/1", *["PUT /bucket/2"] * 3, "PUT /bucket/3"]


async def test_an_upload_that_the_bucket_refuses_is_deleted(
    bucket: ScriptedBucket, attachments: Attachments
) -> None:
    bucket.failures = [("PUT /bucket/2", 400)]
    with pytest.raises(RequestRefused, match="upload_failed"):
        await attachments.upload("g1", FILE)
    assert bucket.requests[-1] == "DELETE /v1/uploads/u1"


async def test_an_expired_token_is_renewed_once(bucket: ScriptedBucket) -> None:
    tokens = iter(["old", "new"])

    async def token() -> str:
        return next(tokens)

    bucket.failures = [("POST /v1/uploads", 401)]
    await Attachments(bucket.url, Credentials(token)).upload("g1", b"plan")
    assert set(bucket.tokens) == {"Bearer new"}


def has_partial(folder: Path) -> bool:
    return any(folder.glob("*.part"))


async def test_a_download_replaces_the_file_only_when_it_is_complete(
    bucket: ScriptedBucket, attachments: Attachments, tmp_path: Path
) -> None:
    target = tmp_path / "copy.txt"
    target.write_bytes(b"before")
    bucket.parts, bucket.failures = {1: b"after"}, [("GET /file", 404)]
    with pytest.raises(RequestRefused):
        await attachments.download("g1", 3, "u1", target)
    assert (target.read_bytes(), has_partial(tmp_path)) == (b"before", False)
    link = await attachments.download("g1", 3, "u1", target)
    assert (link.name, target.read_bytes()) == ("plan.txt", b"after")


def test_a_client_without_the_address_of_the_api_has_no_attachments() -> None:
    with pytest.raises(ValueError, match="api"):
        _ = Client("ws://127.0.0.1:1", "anna").attachments
