"""Text messages on the terminal, for development. Whoever reads it can log in."""

import asyncio
import sys
from collections.abc import Mapping
from typing import Any, Protocol, TextIO, cast

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tidings.accounts.model import Phone
from tidings.kernel.errors import Code, TidingsError


class ConsoleSms:
    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    async def send(self, to: Phone, text: str, /) -> None:
        print(f"SMS to {to}: {text}", file=self._stream or sys.stderr, flush=True)


_TYPE = "AWS.SNS.SMS.SMSType"
_SENDER = "AWS.SNS.SMS.SenderID"
_CONFIG = Config(
    connect_timeout=3,
    read_timeout=5,
    retries={"total_max_attempts": 2, "mode": "standard"},
    max_pool_connections=16,
)


class SnsPublisher(Protocol):
    """As much of botocore's client of SNS as is used."""

    def publish(self, **request: Any) -> Mapping[str, Any]: ...  # noqa: ANN401 - botocore's own form


class SnsSms:
    """A retry may send a message twice: the same code, so no harm."""

    def __init__(self, client: SnsPublisher, sender_id: str | None = None) -> None:
        self._client = client
        self._attributes = {_TYPE: _text("Transactional")} | (
            {_SENDER: _text(sender_id)} if sender_id else {}
        )

    async def send(self, to: Phone, text: str, /) -> None:
        try:
            await asyncio.to_thread(
                self._client.publish, PhoneNumber=to, Message=text, MessageAttributes=self._attributes
            )
        except (BotoCoreError, ClientError) as error:
            raise TidingsError(
                Code.OVERLOADED,
                f"Amazon SNS does not take the message: {_reason(error)}",
                hint="The process needs sns:Publish, and the account a spending limit above what is used.",
            ) from None


def sns_client(region: str, endpoint: str | None = None) -> SnsPublisher:
    """Credentials come from where every AWS tool takes them."""
    session = botocore.session.get_session()
    client = session.create_client("sns", region_name=region, endpoint_url=endpoint, config=_CONFIG)
    return cast("SnsPublisher", client)  # its methods are made from its model, at run time


def _reason(error: BotoCoreError | ClientError) -> str:
    """Name the error by its code alone: the words of SNS can hold the phone number."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "unknown error"))
    return type(error).__name__


def _text(value: str) -> Mapping[str, str]:
    return {"DataType": "String", "StringValue": value}
