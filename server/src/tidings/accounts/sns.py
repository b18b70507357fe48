"""Send text messages through Amazon SNS. Loads botocore."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tidings.accounts.model import Phone
from tidings.kernel.errors import Code, TidingsError

_TYPE = "AWS.SNS.SMS.SMSType"
_SENDER = "AWS.SNS.SMS.SenderID"
_CONFIG = Config(
    connect_timeout=3,
    read_timeout=5,
    retries={"total_max_attempts": 2, "mode": "standard"},
    max_pool_connections=16,
)


class SnsSms:
    """Sends messages through SNS, with the `publish` method of botocore's client.

    A retry may send a message twice. This is harmless: both contain the same code.
    """

    def __init__(self, publish: Callable[..., Mapping[str, Any]], sender_id: str | None = None) -> None:
        self._publish = publish
        self._attributes = {_TYPE: _text("Transactional")} | (
            {_SENDER: _text(sender_id)} if sender_id else {}
        )

    async def send(self, to: Phone, text: str, /) -> None:
        try:
            await asyncio.to_thread(
                self._publish, PhoneNumber=to, Message=text, MessageAttributes=self._attributes
            )
        except (BotoCoreError, ClientError) as error:
            raise TidingsError(
                Code.OVERLOADED,
                f"Amazon SNS refused the message: {_reason(error)}",
                hint="The process needs the permission sns:Publish, and the account an SMS spending limit that is not used up.",
            ) from None


def sns_client(region: str, endpoint: str | None = None) -> Any:  # noqa: ANN401 - botocore adds methods at run time
    """Open an SNS client. Credentials come from the default AWS credential chain."""
    session = botocore.session.get_session()
    return session.create_client("sns", region_name=region, endpoint_url=endpoint, config=_CONFIG)


def _reason(error: BotoCoreError | ClientError) -> str:
    """Return only the error code: the message of SNS may contain the phone number."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "unknown error"))
    return type(error).__name__


def _text(value: str) -> Mapping[str, str]:
    return {"DataType": "String", "StringValue": value}
