"""From the settings to the key service and the policy."""

import asyncio
from pathlib import Path

import pytest

from tidings.kernel.errors import Code, TidingsError
from tidings.run.keys import kms_of, policy_of
from tidings.run.settings import Settings, load
from tidings.tenants.kms_aws import AwsKms
from tidings.tenants.kms_file import FileKms
from tidings.tenants.ports import Kms


def settings(directory: Path, **encryption: str) -> Settings:
    environ = {f"TIDINGS_ENCRYPTION_{name.upper()}": value for name, value in encryption.items()}
    return load(environ, directory).settings


def opened(settings: Settings) -> Kms:
    async def run() -> Kms:
        async with kms_of(settings) as kms:
            return kms

    return asyncio.run(run())


def test_without_settings_content_is_sealed_and_a_file_wraps_the_keys(tmp_path: Path) -> None:
    defaults = settings(tmp_path)
    policy = policy_of(defaults.encryption)
    assert policy.is_encrypting
    assert (policy.rotate_after_s, policy.refresh_s) == (90 * 86_400, 300)
    assert isinstance(opened(defaults), FileKms)


def test_encryption_can_be_switched_off(tmp_path: Path) -> None:
    assert not policy_of(settings(tmp_path, mode="off").encryption).is_encrypting


def test_aws_is_asked_with_the_keys_that_are_named(tmp_path: Path) -> None:
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
def test_aws_without_a_key_is_a_fault_of_the_settings(tmp_path: Path, key_id: dict[str, str]) -> None:
    with pytest.raises(TidingsError, match="kms_key_id") as caught:
        opened(settings(tmp_path, kms="aws", **key_id))
    assert caught.value.code is Code.SETTINGS_INVALID
