"""The types of the fields of frames, with their bounds.

The server checks requests: a value out of its bounds is refused. The types with `Out` in their name are for answers
and pushes. Their schema has the same bounds, and clients do not check them: a newer server may widen them or add values.
"""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

PROTOCOL: Final = 1
"""The protocol level. It rises by one with every addition; a client sends nothing above the agreed level."""

OLDEST_PROTOCOL: Final = 1
"""The lowest level that the server accepts. Older clients must update."""

MAX_FRAME_BYTES: Final = 65_536
MAX_FRAME_DEPTH: Final = 12
"""The frame, its body, and the 8 levels that `data` may have, with room to spare."""

MAX_FRAME_CONTAINERS: Final = 1_024
"""Maximum number of objects and lists in a frame. A wide frame costs as much to decode as a deep one."""

MAX_CREDENTIAL_CHARS: Final = 8_192
MAX_ID_CHARS: Final = 64
MAX_CLIENT_MESSAGE_ID_CHARS: Final = 48
MAX_TEXT_CHARS: Final = 4_096
MAX_MENTIONS: Final = 50
MAX_ATTACHMENTS: Final = 10
MAX_EMOJI_CHARS: Final = 32
MAX_TTL_SECONDS: Final = 365 * 24 * 3600
MAX_POSITIONS: Final = 1_000
"""Maximum in one frame. A client with more positions sends them in parts."""

MAX_WATERMARKS: Final = 200
MAX_SUBSCRIPTIONS: Final = 100
MAX_PAGE: Final = 200
MAX_NOTIFICATION_PAGE: Final = 50
MAX_MARKED_NOTIFICATIONS: Final = 100
MAX_REQUEST_ID: Final = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""

MAX_SEQUENCE: Final = 10**15 - 1


# In Python, `$` alone also matches before a line feed at the end.
_END: Final = r"(?!\n)"
_PART: Final = r'^[!"$-)+-.0-~]+$' + _END
"""Printable ASCII without blanks, and without the separators of keys and addresses: `#`, `*`, `/`."""

_USER: Final = r'^(?:\.{0,2}[!"$-)+,0-~-]|\.{3})[!"$-).0-~+,-]*$' + _END
"""As `_PART`, and neither `.` nor `..`. The server's `kernel.ids` has the same rule; a test compares them."""

ChatName = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARS, pattern=_PART)]
UserName = Annotated[str, Meta(min_length=1, max_length=MAX_ID_CHARS, pattern=_USER)]
DeviceName = UserName
ClientMessageId = Annotated[str, Meta(min_length=1, max_length=MAX_CLIENT_MESSAGE_ID_CHARS, pattern=_PART)]
RequestId = Annotated[int, Meta(ge=1, le=MAX_REQUEST_ID)]
ProtocolLevel = Annotated[int, Meta(ge=1, le=10_000)]
Epoch = Annotated[int, Meta(ge=0, le=MAX_SEQUENCE)]

Sequence = Annotated[int, Meta(ge=1, le=MAX_SEQUENCE)]
Position = Annotated[int, Meta(ge=0, le=MAX_SEQUENCE)]
Milliseconds = Annotated[int, Meta(ge=0)]
"""A time is milliseconds since 1970; a duration is a number of milliseconds."""

Text = Annotated[str, Meta(max_length=MAX_TEXT_CHARS)]
Emoji = Annotated[str, Meta(min_length=1, max_length=MAX_EMOJI_CHARS)]
ContentType = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[!-~]+$(?!\n)")]
TtlSeconds = Annotated[int, Meta(ge=1, le=MAX_TTL_SECONDS)]
Data = dict[str, Any]
UploadId = Annotated[str, Meta(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
Attachments = Annotated[tuple[UploadId, ...], Meta(max_length=MAX_ATTACHMENTS)]
Mentions = Annotated[tuple[UserName, ...], Meta(max_length=MAX_MENTIONS)]
Positions = Annotated[dict[ChatName, Position], Meta(max_length=MAX_POSITIONS)]
Watermarks = Annotated[dict[ChatName, Sequence], Meta(min_length=1, max_length=MAX_WATERMARKS)]

PresenceStatusName = Literal["online", "away", "offline"]


def _out(**bounds: Any) -> Meta:  # noqa: ANN401 - keywords of JSON Schema
    """Put bounds into the schema without a check when a client decodes the value."""
    return Meta(extra_json_schema=bounds)


_ID_OUT: Final = {"minLength": 1, "maxLength": MAX_ID_CHARS}
ENTRY_KINDS: Final = [
    "create",
    "message",
    "edit",
    "redaction",
    "reaction",
    "join",
    "leave",
    "role",
    "rename",
    "block",
    "mute",
    "ban",
    "rules",
    "lost",
]
ENTRY_STATES: Final = ["active", "redacted", "expired", "archived", "erased", "unreadable"]
ChatNameOut = Annotated[str, _out(pattern=_PART, **_ID_OUT)]
UserNameOut = Annotated[str, _out(pattern=_USER, **_ID_OUT)]
SequenceOut = Annotated[int, _out(minimum=1, maximum=MAX_SEQUENCE)]
PositionOut = Annotated[int, _out(minimum=0, maximum=MAX_SEQUENCE)]
EpochOut = PositionOut
ProtocolLevelOut = Annotated[int, _out(minimum=1, maximum=10_000)]
MillisecondsOut = Annotated[int, _out(minimum=0)]
EntryKindOut = Annotated[str, _out(enum=ENTRY_KINDS)]
EntryStateOut = Annotated[str, _out(enum=ENTRY_STATES)]
RowStateOut = Annotated[str, _out(enum=[*ENTRY_STATES, "ephemeral"])]
PresenceStatusOut = Annotated[str, _out(enum=["online", "away", "offline"])]
