"""The deletion of a tenant in real processes: they are killed at each step, and only its certificate remains."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from contract.erasure.test_tenant_deletion import PlantedTenant, everything_of, other_tenant
from e2e.killed_workers import SHORT_STEPS, bucket_settings, clock_ahead, kill_at_each, kill_when, wait_until
from fixtures.export_env import ExportEnv
from fixtures.fork_server import TIDINGS, start_process
from fixtures.installation_processes import InstallationProcesses
from fixtures.media_env import MediaEnv, open_bucket
from fixtures.use_cases import UseCaseEnv

from tidings.erasure.model import ErasureStep
from tidings.erasure.rules import FINAL_MS

BEFORE_QUIET = ("erasure.fence", "erasure.credentials", "erasure.keys")
AFTER_SETTLED = (
    "tenant_deletion.user_deleted",
    "erasure.chats",
    "erasure.archives_deleted",
    *(f"erasure.{step}" for step in ("uploads", "inbox", "rows", "certificate")),
)
QUIET_S, SETTLED_S = 200, 650
"""How far the clocks of workers are ahead after the waits: S3 refuses requests of a clock that is 15 minutes ahead."""
FINAL_S = FINAL_MS // 1000 + 2 * SETTLED_S


class Commands:
    """`tidings` commands with the settings of an installation."""

    def __init__(self, installation: InstallationProcesses) -> None:
        self._directory, self._environment = installation.directory, installation.environment()

    def run(self, *words: str) -> tuple[int, str]:
        """Return the exit code and the output of a command."""
        process = start_process([*TIDINGS, *words], self._directory, self._environment)
        assert process.stdout
        assert process.stderr
        with process.stdout as out, process.stderr:
            printed = out.read().decode()
            return process.wait(30), printed

    def json(self, *words: str) -> Any:
        code, out = self.run(*words)
        assert code == 0, out
        return json.loads(out)


def tampered(certificate: str) -> str:
    """Return the certificate with another number of deleted rows, and the same signature."""
    header, content, signature = certificate.split(".")
    fields = json.loads(urlsafe_b64decode(content + "=="))
    fields["counts"]["messages"] += 1
    changed = urlsafe_b64encode(json.dumps(fields, separators=(",", ":")).encode()).decode().rstrip("=")
    return f"{header}.{changed}.{signature}"


def check_certificate(commands: Commands, directory: Path, certificate: str) -> dict[str, Any]:
    """Verify a certificate by the command, without a connection, and return its content."""
    key, good, bad = (directory / name for name in ("key.json", "good", "bad"))
    key.write_text(json.dumps(commands.json("certificate", "key")))
    good.write_text(certificate)
    bad.write_text(tampered(certificate))
    assert commands.run("certificate", "verify", str(bad), "--key", str(key))[0] != 0
    found: dict[str, Any] = commands.json("certificate", "verify", str(good), "--key", str(key), "--json")
    return found


def has_reached(planted: PlantedTenant, step: ErasureStep) -> Callable[[], Awaitable[bool]]:
    async def is_reached() -> bool:
        return (await planted.deletion()).step is step

    return is_reached


async def delete_with_kills(
    installation: InstallationProcesses, planted: PlantedTenant, settings: dict[str, str]
) -> None:
    """Run the deletion up to the first certificate. Workers are killed at its steps, and while they wait."""
    quiet, settled = (has_reached(planted, step) for step in (ErasureStep.QUIET, ErasureStep.SETTLED))
    await kill_at_each(installation, "notifications", BEFORE_QUIET, settings)
    await kill_when(installation, "notifications", quiet, settings)
    await kill_when(installation, "notifications", settled, settings, ahead_s=QUIET_S)
    installation.ready("media", **settings)
    await kill_at_each(installation, "notifications", AFTER_SETTLED, settings, ahead_s=SETTLED_S)
    final = has_reached(planted, ErasureStep.FINAL)
    await kill_when(installation, "notifications", final, settings, ahead_s=SETTLED_S)
    await planted.check_deleted()


async def finish_with_a_kill(installation: InstallationProcesses, planted: PlantedTenant) -> None:
    await kill_at_each(installation, "notifications", ["erasure.final"], ahead_s=FINAL_S)
    installation.ready("notifications", **SHORT_STEPS, **clock_ahead(FINAL_S + QUIET_S))
    await wait_until(has_reached(planted, ErasureStep.DONE))
    await planted.check_deleted()


@pytest.mark.long
@pytest.mark.deadline(400.0)
async def test_a_deleted_tenant_leaves_its_certificate_although_workers_are_killed_at_every_step(
    installation: InstallationProcesses, s3: str, tmp_path: Path
) -> None:
    settings, commands = await bucket_settings(installation, s3), Commands(installation)
    name, key_file = f"leaving-{installation.space.mark}", installation.directory / ".tidings" / "tidings.key"
    async with installation.use_cases() as other_cases, open_bucket(s3, installation.space) as bucket:
        cases = UseCaseEnv(other_cases.client, name, key_file)
        exports = ExportEnv(MediaEnv(cases, bucket), tmp_path)
        planted = PlantedTenant(exports, installation.tables)
        await planted.plant()
        staying = f"staying-{installation.space.mark}"
        await other_tenant(exports, staying)
        before = everything_of(planted, staying)
        objects = [key async for key in bucket.keys(f"{staying}/")]
        assert commands.json("tenant", "delete", name, "--yes", "--json")["step"] == "fence"
        await delete_with_kills(installation, planted, settings)
        signed = commands.json("tenant", "deletion", name, "--json")["certificate"]
        assert check_certificate(commands, tmp_path, signed)["state"] == "erased"
        await finish_with_a_kill(installation, planted)
        shown = commands.json("tenant", "deletion", name, "--json")
        content = check_certificate(commands, tmp_path, shown["certificate"])
        assert (content["state"], content["tenant"]) == ("final", name)
        counts = {f"deleted_{table}": count for table, count in content["counts"].items()}
        assert counts.items() <= shown.items()
        assert content["counts"]["uploads"] > 0
        assert everything_of(planted, staying) == before
        assert [key async for key in bucket.keys(f"{staying}/")] == objects
