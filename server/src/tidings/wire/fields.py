"""The types of fields: ids and numbers with their bounds, which the decoder checks and the schema tells."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from tidings.kernel.ids import USER_ID
from tidings.wire import bounds

# `$` alone lets a line feed pass at the end, in Python
_END: Final = r"(?!\n)"
_PART: Final = r'^[!"$-)+-.0-~]+$' + _END
"""Printable ASCII, no blank, none of the signs that keys and addresses are made of: `#`, `*`, `/`."""

ChatName = Annotated[str, Meta(min_length=1, max_length=bounds.MAX_ID_CHARS, pattern=_PART)]
UserName = Annotated[str, Meta(min_length=1, max_length=bounds.MAX_ID_CHARS, pattern=USER_ID + _END)]
DeviceName = UserName
ClientMessageId = Annotated[
    str, Meta(min_length=1, max_length=bounds.MAX_CLIENT_MESSAGE_ID_CHARS, pattern=_PART)
]
RequestId = Annotated[int, Meta(ge=1, le=bounds.MAX_REQUEST_ID)]
ProtocolLevel = Annotated[int, Meta(ge=1, le=10_000)]
Epoch = Annotated[int, Meta(ge=0, le=bounds.MAX_SEQUENCE)]

Sequence = Annotated[int, Meta(ge=1, le=bounds.MAX_SEQUENCE)]
Position = Annotated[int, Meta(ge=0, le=bounds.MAX_SEQUENCE)]
Milliseconds = Annotated[int, Meta(ge=0)]
"""A time is milliseconds since 1970; a duration is so many of them."""

Text = Annotated[str, Meta(max_length=bounds.MAX_TEXT_CHARS)]
Emoji = Annotated[str, Meta(min_length=1, max_length=bounds.MAX_EMOJI_CHARS)]
ContentType = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[!-~]+$(?!\n)")]
TtlSeconds = Annotated[int, Meta(ge=1, le=bounds.MAX_TTL_SECONDS)]
Data = dict[str, Any]
Mentions = Annotated[tuple[UserName, ...], Meta(max_length=bounds.MAX_MENTIONS)]
Positions = Annotated[dict[ChatName, Position], Meta(max_length=bounds.MAX_POSITIONS)]
Watermarks = Annotated[dict[ChatName, Sequence], Meta(min_length=1, max_length=bounds.MAX_WATERMARKS)]

EntryKindName = Literal[
    "create", "message", "edit", "redaction", "reaction", "join", "leave", "role", "rename", "block"
]
EntryStateName = Literal["there", "redacted", "expired", "unreadable"]
RowState = Literal[EntryStateName, "ephemeral"]
PresenceStatusName = Literal["online", "away", "offline"]
