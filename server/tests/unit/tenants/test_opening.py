"""Settings select the KMS and the key policy."""

import asyncio
from base64 import b64encode
from pathlib import Path

import pytest

from tidings.app.settings import Settings, load
from tidings.app.wiring.engine_clients import key_policy, make_kms
from tidings.kernel.errors import Code, TidingsError
from tidings.tenants.kms import AwsKms, FileKms
from tidings.tenants.ports import Kms

FOR = {"tenant": "acme"}


def settings(directory: Path, **encryption: str) -> Settings:
    environ = {f"TIDINGS_ENCRYPTION_{name.upper()}": value for name, value in encryption.items()}
    return load(environ | {"TIDINGS_INSTALLATION": "development"}, directory).settings


def opened(settings: Settings) -> Kms:
    async def run() -> Kms:
        async with make_kms(settings) as kms:
            return kms

    return asyncio.run(run())


def test_without_settings_content_is_sealed_and_a_file_wraps_the_keys(tmp_path: Path) -> None:
    defaults = settings(tmp_path)
    policy = key_policy(defaults.encryption)
    assert policy.is_encrypting
    assert (policy.rotate_after_s, policy.refresh_s) == (90 * 86_400, 300)
    assert isinstance(opened(defaults), FileKms)


def test_encryption_can_be_switched_off(tmp_path: Path) -> None:
    assert not key_policy(settings(tmp_path, mode="off").encryption).is_encrypting


def test_aws_is_called_with_the_configured_keys(tmp_path: Path) -> None:
    kms = opened(
        settings(
            tmp_path,
            kms="aws",
            kms_key_id="alias/new",
            kms_former_key_ids="alias/old, alias/older",
            kms_endpoint="http://127.0.0.1:1",
        )
    )
    assert isinstance(kms, AwsKms)
    assert kms._key_ids == ("alias/new", "alias/old", "alias/older")


@pytest.mark.parametrize("key_id", [{}, {"kms_key_id": ""}])
def test_aws_without_a_key_is_a_settings_error(tmp_path: Path, key_id: dict[str, str]) -> None:
    with pytest.raises(TidingsError, match="kms_key_id") as caught:
        opened(settings(tmp_path, kms="aws", **key_id))
    assert caught.value.code is Code.SETTINGS_INVALID


def master_key(path: Path, mode: int) -> Path:
    path.write_text(b64encode(bytes(range(32))).decode() + "\n")
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440])
async def test_a_mounted_secret_contains_the_master_key(tmp_path: Path, mode: int) -> None:
    path = master_key(tmp_path / "mounted", mode)
    async with make_kms(settings(tmp_path, kms="credential", credential_file=str(path))) as kms:
        generated = await kms.generate(FOR)
        assert len(await kms.unwrap(generated.wrapped, FOR)) == 32


def test_systemd_passes_the_master_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    master_key(tmp_path / "tidings.key", 0o400)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    asyncio.run(opened(settings(tmp_path, kms="credential")).generate(FOR))


@pytest.mark.parametrize("mode", [0o444, 0o460, 0o404])
def test_a_world_readable_or_group_writable_secret_is_rejected(tmp_path: Path, mode: int) -> None:
    path = master_key(tmp_path / "mounted", mode)
    with pytest.raises(TidingsError, match=f"{mode:04o}"):
        asyncio.run(opened(settings(tmp_path, kms="credential", credential_file=str(path))).generate(FOR))


def test_a_master_key_from_a_credential_is_never_created(tmp_path: Path) -> None:
    path = tmp_path / "mounted"
    with pytest.raises(TidingsError, match="Cannot read the key file"):
        asyncio.run(opened(settings(tmp_path, kms="credential", credential_file=str(path))).generate(FOR))
    assert not path.exists()


def test_a_missing_credential_is_a_settings_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with pytest.raises(TidingsError, match="credential_file") as caught:
        opened(settings(tmp_path, kms="credential"))
    assert caught.value.code is Code.SETTINGS_INVALID
