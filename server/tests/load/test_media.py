"""The short form of `just storm-media`, and the mutants that its checker detects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from failpoints.media_mutants import MEDIA_MUTANTS
from fixtures.installation_processes import InstallationProcesses, ProcessKind
from msgspec.structs import replace

from load.media import ANY, run
from load.media_checker import FinalState, MediaRule, SentFile, VisibleMessage, check_media
from load.media_client import GONE
from tidings.kernel.ids import ChatId, TenantId, UserId
from tidings.media.model import CheckState, MediaFacts, Upload, UploadState, object_key
from tidings.media.store import uploads
from tidings.media.sweeper import MediaSweeper
from tidings.media.worker import MediaWorker
from tidings.messages.store import edits

TENANT, CHAT = TenantId("acme"), ChatId("c")
MUTATED: dict[Any, tuple[str, ...]] = {
    MediaWorker: ("_store",),
    MediaSweeper: ("_settle_orphan",),
    uploads: ("_count",),
    edits: ("_deleted",),
}
SHORT_STEPS: Sequence[tuple[ProcessKind, str]] = (
    *(("api", f"media.{step}") for step in ("multipart_started", "joined", "completed")),
    *(("media", f"media.{step}") for step in ("recorded", "object_deleted")),
    ("delivery", ANY),
)


def row(name: str, sequence: int, *, is_clean: bool = False) -> Upload:
    return Upload(
        tenant=TENANT,
        id=name,
        owner=UserId("anna"),
        chat=CHAT,
        name="a",
        type="image/jpeg",
        size=10,
        sha256="",
        state=UploadState.ATTACHED,
        created_ms=0,
        sequence=sequence,
        check=CheckState.READY,
        facts=MediaFacts(is_clean=is_clean, has_thumbnail=is_clean),
    )


def sent(name: str, sequence: int | None, *, is_gone: bool = False) -> SentFile:
    message = None if sequence is None else (str(CHAT), sequence)
    return SentFile(
        upload=name, owner="anna", chat=CHAT, size=10, sha256="", message=message, is_gone=is_gone
    )


@dataclass
class Outcome:
    """A correct run: two files of messages, one of a redacted message and one that was abandoned."""

    files: list[SentFile] = field(
        default_factory=lambda: [sent("a", 2), sent("b", 3), sent("c", 4, is_gone=True), sent("d", None)]
    )
    state: FinalState = field(
        default_factory=lambda: FinalState(
            rows=[row("a", 2), row("b", 3, is_clean=True)],
            objects=[
                object_key(TENANT, "a", "original"),
                object_key(TENANT, "b", "clean"),
                object_key(TENANT, "b", "thumbnail"),
            ],
            total_bytes=20,
            messages=[
                VisibleMessage(chat=CHAT, sequence=n, attachments=[name]) for n, name in ((2, "a"), (3, "b"))
            ],
        )
    )

    def check(self) -> dict[MediaRule, str]:
        return check_media(self.files, self.state)


def leave_object(found: Outcome) -> None:
    found.state.objects = [*found.state.objects, object_key(TENANT, "c", "original")]


def leave_original_of_clean_image(found: Outcome) -> None:
    found.state.objects = [*found.state.objects, object_key(TENANT, "b", "original")]


def lose_object(found: Outcome) -> None:
    found.state.objects = found.state.objects[1:]


def lose_thumbnail(found: Outcome) -> None:
    found.state.objects = found.state.objects[:-1]


def lose_row(found: Outcome) -> None:
    found.state.rows = found.state.rows[1:]


def attach_to_another_message(found: Outcome) -> None:
    found.state.rows = [replace(found.state.rows[0], sequence=9), found.state.rows[1]]


def lose_row_object_and_reference(found: Outcome) -> None:
    found.state.rows, found.state.objects = found.state.rows[1:], found.state.objects[1:]
    found.state.messages, found.state.total_bytes = found.state.messages[1:], 10


def change_bytes(found: Outcome) -> None:
    found.state.wrong_bytes = ["a"]


def keep_redacted(found: Outcome) -> None:
    found.state.rows = [*found.state.rows, replace(row("c", 4), state=UploadState.DELETING)]


def serve_redacted(found: Outcome) -> None:
    found.state.readable = ["https://bucket/c"]


def keep_abandoned(found: Outcome) -> None:
    found.state.rows = [*found.state.rows, replace(row("d", 5), state=UploadState.PENDING, sequence=None)]


def leave_multipart(found: Outcome) -> None:
    found.state.multiparts = [object_key(TENANT, "d", "original")]


def miscount(found: Outcome) -> None:
    found.state.total_bytes = 30


MUTANTS: dict[Callable[[Outcome], None], MediaRule] = {
    leave_object: MediaRule.ORPHAN,
    leave_original_of_clean_image: MediaRule.ORPHAN,
    lose_object: MediaRule.MISSING,
    lose_thumbnail: MediaRule.MISSING,
    lose_row: MediaRule.REFERENCE,
    attach_to_another_message: MediaRule.REFERENCE,
    lose_row_object_and_reference: MediaRule.KEPT,
    change_bytes: MediaRule.KEPT,
    keep_redacted: MediaRule.DELETED,
    serve_redacted: MediaRule.DELETED,
    keep_abandoned: MediaRule.UNUSED,
    leave_multipart: MediaRule.MULTIPART,
    miscount: MediaRule.TOTAL,
}


def test_a_correct_run_breaks_no_rule() -> None:
    assert Outcome().check() == {}


@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_mutated_run_breaks_its_rule(mutate: Callable[[Outcome], None]) -> None:
    found = Outcome()
    mutate(found)
    assert MUTANTS[mutate] in found.check()


@pytest.mark.long
@pytest.mark.deadline(300.0)
async def test_table_bucket_and_messages_agree_after_kills_and_a_sweep(
    installation: InstallationProcesses, s3: str
) -> None:
    found = await run(installation, s3, uploads=200, steps=SHORT_STEPS)
    assert found.broken == {}
    assert not found.refused.keys() - GONE
    assert sum(found.kills.values()) >= 3
    assert found.attached > 0


@pytest.mark.long
@pytest.mark.deadline(300.0)
@pytest.mark.parametrize("mutant", MEDIA_MUTANTS)
async def test_a_mutant_server_is_detected(
    installation: InstallationProcesses, s3: str, monkeypatch: pytest.MonkeyPatch, mutant: str
) -> None:
    for module, names in MUTATED.items():
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))  # The mutant also changes this process.
    steps: Sequence[tuple[ProcessKind, str]] = (("media", "media.original_deleted"), ("api", ANY))
    assert (await run(installation, s3, uploads=200, steps=steps, mutant=mutant)).broken
