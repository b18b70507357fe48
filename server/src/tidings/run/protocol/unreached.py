"""The JSON Schema of what the topic `unreached` carries, and an example. For programs that know nothing else of us."""

from typing import Any, Final

import msgspec

from tidings.delivery.model import OfflineMessage
from tidings.kernel.ids import ChatId, MessageId, TenantId, UserId
from tidings.messages.model import EntryKind

SAMPLE: Final = OfflineMessage(
    tenant=TenantId("acme"),
    recipient=UserId("ben"),
    chat=ChatId("dMFRGGZDFMZTWQ2LKNNWG2ZDP"),
    message_id=MessageId("dMFRGGZDFMZTWQ2LKNNWG2ZDP.42"),
    sequence=42,
    sender=UserId("anna"),
    kind=EntryKind.MESSAGE,
    at="2026-11-15T02:11:21.957Z",
    badge=3,
    collapse_key="dMFRGGZDFMZTWQ2LKNNWG2ZDP",
    is_mentioned=True,
    preview="Lunch?",
)


def offline_event_document() -> dict[str, Any]:
    """Every field is always there: what a reader has to deal with is written down, not left out."""
    (_, parts) = msgspec.json.schema_components([OfflineMessage])
    schema: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(parts["OfflineMessage"]))
    kinds = msgspec.json.decode(msgspec.json.encode(parts["EntryKind"]))
    schema["properties"]["kind"] = {"enum": kinds["enum"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "required": sorted(schema["properties"]),
    }
