"""An export over REST: its workers are killed at one step after the other, and the archive equals one without kills."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from e2e.killed_workers import SHORT_STEPS, bucket_settings, kill_at_each, wait_until
from failpoints.short_steps import PAGE
from fixtures.export_env import Archive, ExportEnv
from fixtures.installation_processes import InstallationProcesses
from fixtures.media_env import MediaEnv, fetch, open_bucket
from fixtures.use_cases import BEN, UseCaseEnv

from tidings.accounts.api_keys import ApiKeyService
from tidings.accounts.model import Scope
from tidings.accounts.store.keys import DynamoApiKeyStore
from tidings.exports import exporter

STEPS = (
    "exports.taken",
    "exports.parts_stored",
    "exports.step_done",
    "exports.file_added",
    "exports.part_uploaded",
    "exports.archive_stored",
    "exports.ended",
    "exports.object_deleted",
)
OF_THE_RUN = {"manifest.json", "index.html"}
"""Files of the archive that have the time of the export."""


async def api_key(use_cases: UseCaseEnv) -> dict[str, str]:
    keys = ApiKeyService(DynamoApiKeyStore(use_cases.client, use_cases.authentic), use_cases.clock)
    issued = await keys.issue(use_cases.tenant, "tests", [Scope.USERS])
    return {"Authorization": f"Bearer {issued.text.reveal()}"}


async def shown_export(client: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"/v1/users/{BEN}/export")).raise_for_status().json()
    return found


def is_run_time(name: str, line: bytes) -> bool:
    return name in OF_THE_RUN and (b"_at" in line or b"UTC" in line or b"sha256" in line)


def check_is_equal(archive: Archive, expected: Archive) -> None:
    assert archive.names == expected.names
    for name in archive.names:
        lines, others = (each.files[name].splitlines() for each in (archive, expected))
        changed = [line for line, other in zip(lines, others, strict=True) if line != other]
        assert all(is_run_time(name, line) for line in changed), (name, changed)


@pytest.mark.long
@pytest.mark.deadline(300.0)
async def test_an_archive_is_complete_although_its_workers_are_killed_at_every_step(
    installation: InstallationProcesses, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporter, "PAGE_ENTRIES", PAGE)
    settings = await bucket_settings(installation, s3)
    async with installation.use_cases() as use_cases, open_bucket(s3, installation.space) as bucket:
        exports = ExportEnv(MediaEnv(use_cases, bucket), tmp_path)
        await exports.populate()
        (api,) = installation.ready("api", **settings)
        url, headers = f"http://127.0.0.1:{api.socket_port}", await api_key(use_cases)
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            requested = (await client.post(f"/v1/users/{BEN}/export")).raise_for_status().json()
            await kill_at_each(installation, "notifications", STEPS, settings)
            installation.ready("notifications", **SHORT_STEPS, **settings)

            async def is_only_archive() -> bool:
                return [key.rpartition("/")[2] for key in await exports.objects()] == ["archive.zip"]

            await wait_until(is_only_archive)
            shown = await shown_export(client)
        assert (shown["id"], shown["state"]) == (requested["id"], "ready")
        status, body, _ = await fetch(shown["url"])
        assert (status, len(body)) == (200, shown["size"])
        path = tmp_path / "downloaded.zip"
        path.write_bytes(body)
        check_is_equal(Archive(path), await exports.export(BEN))
        assert [each async for each in bucket.open_multiparts("")] == []
