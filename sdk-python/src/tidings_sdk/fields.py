"""The bounds of what is sent, as the schema tells them: what the server would refuse is refused before it is stored."""

from typing import Annotated, Any, Final

from msgspec import Meta

# `$` alone lets a line feed pass at the end, in Python
_PART: Final = r'^[!"$-)+-.0-~]+$(?!\n)'
_USER_PART: Final = r'^(?:\.{0,2}[!"$-)+,0-~-]|\.{3})[!"$-).0-~+,-]*$(?!\n)'
_MAX_SEQUENCE: Final = 10**15 - 1

Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=_PART)]
"""The id of a chat."""

UserName = Annotated[str, Meta(min_length=1, max_length=64, pattern=_USER_PART)]
"""The id of a user. Unlike the id of a chat, it is neither `.` nor `..`."""

ClientMessageId = Annotated[str, Meta(min_length=1, max_length=48, pattern=_PART)]
Sequence = Annotated[int, Meta(ge=1, le=_MAX_SEQUENCE)]
Position = Annotated[int, Meta(ge=0, le=_MAX_SEQUENCE)]
Text = Annotated[str, Meta(max_length=4_096)]
Emoji = Annotated[str, Meta(min_length=1, max_length=32)]
ContentType = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[!-~]+$(?!\n)")]
TtlSeconds = Annotated[int, Meta(ge=1, le=365 * 24 * 3600)]
Data = dict[str, Any]
Mentions = Annotated[tuple[UserName, ...], Meta(max_length=50)]
Names = Annotated[tuple[Name, ...], Meta(max_length=100)]
UserNames = Annotated[tuple[UserName, ...], Meta(max_length=100)]
PageSize = Annotated[int, Meta(ge=1, le=200)]
Watermarks = Annotated[dict[Name, Sequence], Meta(min_length=1, max_length=200)]
