"""Keys of objects of exports, and how long exports are kept."""

from msgspec.structs import replace

from tidings.exports import rules
from tidings.exports.model import Export, ExportState
from tidings.jobs.model import JobKind
from tidings.kernel.ids import TenantId, UserId, ulid_ms

ACME, NOW = TenantId("acme"), 1_800_000_000_000
EXPORT = Export(
    tenant=ACME,
    user=UserId("a%b.c"),
    id=rules.new_export_id(NOW, 7, None),
    requested_ms=NOW,
    requested_by="test",
)


def test_an_export_may_run_for_less_time_than_its_objects_are_kept() -> None:
    last = NOW + rules.MAX_RUN_MS - 1
    assert rules.may_run(EXPORT, last)
    assert not rules.may_run(EXPORT, last + 1)
    assert not rules.may_run(replace(EXPORT, state=ExportState.READY), NOW)
    assert not rules.is_swept(EXPORT.id, NOW + rules.MAX_RUN_MS)
    assert not rules.is_swept(EXPORT.id, NOW + rules.KEPT_MS - 1)
    assert rules.is_swept(EXPORT.id, NOW + rules.KEPT_MS)


def test_only_a_stored_archive_can_be_downloaded_until_it_expires() -> None:
    ready = replace(EXPORT, state=ExportState.READY)
    assert rules.is_downloadable(ready, rules.expires_ms(ready) - 1)
    assert not rules.is_downloadable(ready, rules.expires_ms(ready))
    assert not rules.is_downloadable(EXPORT, NOW)
    assert not rules.is_downloadable(replace(EXPORT, state=ExportState.FAILED), NOW)


def test_a_key_names_its_user_and_its_export() -> None:
    key = rules.archive_key(EXPORT)
    assert rules.export_of_key(ACME, key) == (EXPORT.user, EXPORT.id)
    assert key.startswith(rules.user_prefix(ACME, EXPORT.user))
    assert not key.startswith(rules.user_prefix(ACME, UserId("a")))
    for other in (
        f"acme/exports/anna/{EXPORT.id}",
        "acme/exports/anna/notes/x",
        "acme/exports/x",
        "acme/exports/",
    ):
        assert rules.export_of_key(ACME, other) is None


def test_an_id_sorts_after_that_of_the_replaced_export_although_clocks_differ() -> None:
    assert rules.new_export_id(NOW - 60_000, 0, EXPORT) > EXPORT.id
    assert ulid_ms(rules.new_export_id(NOW + 60_000, 0, EXPORT)) == NOW + 60_000


def test_the_job_of_an_export_has_one_chunk_and_its_id() -> None:
    job = rules.job_of(EXPORT)
    assert (str(job.id), job.kind, job.chunks, job.user) == (EXPORT.id, JobKind.EXPORT, 1, EXPORT.user)
