"""Credentials of push providers. Each has several, the newest first, so that one can be replaced without an interruption."""

from typing import Annotated

from msgspec import Meta, Struct

from tidings.push.model import PushKind

MAX_KEYS = 3

type KeyId = Annotated[str, Meta(min_length=10, max_length=10, pattern=r"^[A-Z0-9]+$")]
type Pem = Annotated[str, Meta(min_length=1, max_length=8_192)]


class ApnsKey(Struct, frozen=True, kw_only=True):
    """A signing key of Apple's developer account, as the `.p8` file has it."""

    key_id: KeyId
    team_id: KeyId
    private_key: Pem


class ApnsConfig(Struct, frozen=True, kw_only=True, tag="apns", tag_field="kind"):
    keys: Annotated[tuple[ApnsKey, ...], Meta(min_length=1, max_length=MAX_KEYS)]


class VapidKey(Struct, frozen=True, kw_only=True):
    """A key pair of Web Push (RFC 8292). Browsers subscribe with the public one, in URL-safe base64."""

    public_key: Annotated[str, Meta(min_length=87, max_length=87)]
    private_key: Pem


class WebPushConfig(Struct, frozen=True, kw_only=True, tag="web_push", tag_field="kind"):
    """`subject`: how the push service reaches you, a `mailto:` or `https:` URL. Apple refuses others."""

    subject: Annotated[str, Meta(max_length=256, pattern=r"^(mailto:[^@\s]+@[^@\s]+|https://\S+)$")]
    keys: Annotated[tuple[VapidKey, ...], Meta(min_length=1, max_length=MAX_KEYS)]


class ServiceAccount(Struct, frozen=True, kw_only=True):
    """The fields of a Google service account that are needed. Unknown fields of the JSON file are ignored."""

    project_id: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[a-z0-9:.-]+$")]
    private_key_id: Annotated[str, Meta(min_length=1, max_length=128)]
    private_key: Pem
    client_email: Annotated[str, Meta(min_length=3, max_length=256)]
    token_uri: Annotated[str, Meta(max_length=256, pattern=r"^https?://\S+$")] = (
        "https://oauth2.googleapis.com/token"  # noqa: S105 - a URL
    )


class FcmConfig(Struct, frozen=True, kw_only=True, tag="fcm", tag_field="kind"):
    accounts: Annotated[tuple[ServiceAccount, ...], Meta(min_length=1, max_length=MAX_KEYS)]


class HttpConfig(Struct, frozen=True, kw_only=True, tag="http", tag_field="kind"):
    """Your own push service. Requests are signed with every secret (Standard Webhooks)."""

    url: Annotated[str, Meta(max_length=1024, pattern=r"^https?://\S+$")]
    secrets: Annotated[
        tuple[Annotated[str, Meta(min_length=24, max_length=128)], ...],
        Meta(min_length=1, max_length=MAX_KEYS),
    ]


type ProviderConfig = ApnsConfig | WebPushConfig | FcmConfig | HttpConfig


def provider_kind(config: ProviderConfig) -> PushKind:
    match config:
        case ApnsConfig():
            return PushKind.APNS
        case WebPushConfig():
            return PushKind.WEB_PUSH
        case FcmConfig():
            return PushKind.FCM
        case HttpConfig():
            return PushKind.HTTP


class StoredProvider(Struct, frozen=True, kw_only=True):
    """`version` is incremented with each change."""

    config: ProviderConfig
    version: int
    updated_ms: int


def rotated(former: ProviderConfig, new: ProviderConfig) -> ProviderConfig:
    """Return the new credentials followed by former ones. Credentials that both have appear once."""
    match former, new:
        case ApnsConfig(), ApnsConfig():
            return ApnsConfig(keys=_joined(new.keys, former.keys))
        case WebPushConfig(), WebPushConfig():
            return WebPushConfig(subject=new.subject, keys=_joined(new.keys, former.keys))
        case FcmConfig(), FcmConfig():
            return FcmConfig(accounts=_joined(new.accounts, former.accounts))
        case HttpConfig(), HttpConfig():
            return HttpConfig(url=new.url, secrets=_joined(new.secrets, former.secrets))
    raise TypeError("credentials of two kinds of providers")


def _joined[T](new: tuple[T, ...], former: tuple[T, ...]) -> tuple[T, ...]:
    return (*new, *(each for each in former if each not in new))[:MAX_KEYS]
