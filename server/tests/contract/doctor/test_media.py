"""The doctor finds a bucket that does not answer, that is public, or that refuses web pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import override

import pytest
from fixtures.engines import Namespace
from fixtures.media_env import make_bucket

from tidings.app.settings import Settings
from tidings.app.settings.loader import LoadedSettings
from tidings.app.settings.media import MediaSettings
from tidings.app.settings.processes import ApiSettings
from tidings.doctor.media import check_media
from tidings.doctor.model import CheckState, DoctorContext, Finding
from tidings.engines.model import LOCAL_S3_KEYS
from tidings.kernel.security import Secret

ORIGIN = "https://app.example"


def found(endpoint: str | None, bucket: str = "tidings-media", public: str | None = None) -> list[Finding]:
    media = MediaSettings(
        endpoint=endpoint,
        public_endpoint=public,
        bucket=bucket,
        access_key=LOCAL_S3_KEYS["access_key"],
        secret_key=Secret(LOCAL_S3_KEYS["secret_key"]),
    )
    api = ApiSettings(allowed_origins=f"{ORIGIN},http://localhost:*")
    settings = Settings(installation="development", media=media, api=api)
    return list(check_media(DoctorContext(LoadedSettings(settings, {}))))


@contextmanager
def store(status: int, allowed: str) -> Iterator[str]:
    """A store that answers every request with this status, and every preflight with this origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.send_header("Access-Control-Allow-Origin", allowed)
            self.end_headers()

        do_OPTIONS = do_GET  # noqa: N815 - the name of the standard library

        @override
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def bucket(s3: str, space: Namespace) -> str:
    return make_bucket(s3, space)["TIDINGS_MEDIA_BUCKET"]


def test_the_local_store_is_private_and_accepts_web_pages(s3: str, bucket: str) -> None:
    findings = found(s3, bucket)
    assert [(each.state, each.details) for each in findings] == [(CheckState.OK, [])] * 3, findings


def test_a_bucket_that_does_not_exist_is_wrong(s3: str) -> None:
    [finding] = found(s3, "no-such-bucket")
    assert (finding.state, "does not exist" in finding.found) == (CheckState.WRONG, True)


def test_a_store_that_does_not_answer_is_wrong() -> None:
    [finding] = found("http://127.0.0.1:1")
    assert (finding.state, "does not answer" in finding.found) == (CheckState.WRONG, True)


@pytest.mark.parametrize("status", [200, 404])
def test_a_public_bucket_is_wrong(s3: str, bucket: str, status: int) -> None:
    with store(status, "*") as public:
        states = [(each.state, "public" in each.found) for each in found(s3, bucket, public)]
    assert states == [(CheckState.OK, False), (CheckState.WRONG, True), (CheckState.OK, False)]


def test_origins_that_the_bucket_refuses_are_listed(s3: str, bucket: str) -> None:
    with store(403, "https://other.example") as public:
        finding = found(s3, bucket, public)[-1]
    assert (finding.state, finding.details) == (CheckState.WRONG, [ORIGIN])


def test_an_installation_without_attachments_is_skipped() -> None:
    assert [each.state for each in found(None)] == [CheckState.SKIPPED]
