"""Opens the tenants' keys as the settings say: which key service wraps them, how long one is used."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from pathlib import Path

from tidings.kernel.clock import Clock
from tidings.kernel.errors import Code, TidingsError
from tidings.platform.dynamo.client import DynamoClient
from tidings.run.options import validate_settings
from tidings.run.settings import Settings
from tidings.run.settings.model import EncryptionSettings
from tidings.run.settings.production import credential_path, key_service
from tidings.tenants.keys import KeyPolicy, KeyRing
from tidings.tenants.kms_aws import open_aws_kms
from tidings.tenants.kms_file import FileKms
from tidings.tenants.ports import Kms
from tidings.tenants.store import DynamoKeyStore

_DAY_S = 86_400


@asynccontextmanager
async def open_key_ring(settings: Settings, client: DynamoClient, clock: Clock) -> AsyncIterator[KeyRing]:
    async with make_kms(settings) as kms:
        yield KeyRing(DynamoKeyStore(client), kms, clock, key_policy(settings.encryption))


def make_kms(settings: Settings) -> AbstractAsyncContextManager[Kms]:
    """Choose the key service. Also commands come here, so production refuses the key file here as well."""
    validate_settings(settings, [key_service])
    wanted = settings.encryption
    if wanted.kms == "file":
        return nullcontext(FileKms(wanted.key_file, former=wanted.former_key_file))
    if wanted.kms == "credential":
        return nullcontext(FileKms(_mounted(wanted), former=wanted.former_key_file, is_mounted=True))
    if not wanted.kms_key_id:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "encryption.kms is aws, and encryption.kms_key_id is not set.",
            hint="Name the KMS key that wraps the tenants' keys: its id, its ARN or an alias.",
        )
    former = [key.strip() for key in (wanted.kms_former_key_ids or "").split(",") if key.strip()]
    region = wanted.kms_region or settings.dynamo.region
    return open_aws_kms(wanted.kms_endpoint, region, wanted.kms_key_id, former)


def _mounted(wanted: EncryptionSettings) -> Path:
    path = credential_path(wanted)
    if path is None:
        raise TidingsError(
            Code.SETTINGS_INVALID,
            "encryption.kms is credential, and neither encryption.credential_file nor $CREDENTIALS_DIRECTORY is set.",
            hint="Set the path of the mounted secret, or add `LoadCredential=` to the systemd unit.",
        )
    return path


def key_policy(settings: EncryptionSettings) -> KeyPolicy:
    return KeyPolicy(
        is_encrypting=settings.mode == "on",
        rotate_after_s=settings.rotate_after_days * _DAY_S,
        refresh_s=settings.refresh_s,
    )
